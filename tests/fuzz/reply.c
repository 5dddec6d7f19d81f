/* SPDX-License-Identifier: MIT */
/*
 * reply.c - any bytes as a model server's answer, a stream or none, in either dialect,
 * and as a reply with code
 */
#include "agent/base/json.h"
#include "agent/base/utf8.h"
#include "agent/model/extract.h"
#include "agent/model/response.h"
#include "agent/model/think.h"
#include "agent/model/tool.h"
#include "tests/fuzz/fuzz.h"

static void check_code(const char *bytes, size_t length)
{
	struct extract x;

	extract_code(bytes, length, &x, NULL);
	HOLDS((int)x.kind >= 0 && x.kind < EXTRACT_KINDS);
	if (x.kind == EXTRACT_CODE) {
		HOLDS(x.code.length && x.code.length <= EXTRACT_CODE_MAX && x.blocks);
		HOLDS(x.code.bytes[x.code.length - 1] == '\n');
		HOLDS(!memchr(x.code.bytes, '\0', x.code.length));
	}
	HOLDS((x.kind == EXTRACT_CODE || x.kind == EXTRACT_ANSWER) ==
	      !extract_complaint(x.kind));
	text_free(&x.code);
}

/* no byte is made up, and thinking once out is out */
static void check_thinking(struct reply *reply)
{
	size_t length = reply->text.length + reply->reasoning.length;
	size_t left;
	struct err e;

	HOLDS(think_split(reply, &e) == 0);
	left = reply->text.length;
	HOLDS(left <= length);
	HOLDS(utf8_valid(text_string(&reply->text), left));
	HOLDS(think_split(reply, &e) == 0 && reply->text.length <= left);
}

static void check_reply(struct reply *reply)
{
	struct extract x;
	struct text complaint = { 0 };
	unsigned int serial = 0;

	reply_end(reply, &serial);
	tool_read(reply, true, &x, &complaint);
	HOLDS(complaint.length || !reply->call_count || x.code.length);
	for (size_t i = 0; i < complaint.length; i++)
		HOLDS(!iscntrl((unsigned char)complaint.bytes[i]));
	for (size_t i = 0; i < reply->call_count; i++) {
		struct text back = { 0 };
		cJSON *root;

		tool_arguments(&reply->calls[i], &back);
		root = json_parse(text_string(&back), back.length);
		HOLDS(cJSON_IsObject(root));
		cJSON_Delete(root);
		text_free(&back);
	}
	text_free(&x.code);
	text_free(&complaint);
	check_thinking(reply);
	check_code(text_string(&reply->text), reply->text.length);
}

static void check_body(const struct dialect *dialect, const uint8_t *bytes, size_t size)
{
	struct reply reply = { 0 };
	struct response a;
	struct err e;
	char *body = malloc(size + 1);
	int r;

	HOLDS(body);
	(void)memcpy(body, bytes, size);
	body[size] = '\0';
	response_begin(&a, dialect, &reply);
	r = response_body(&a, body, size, &e);
	r = r < 0 ? r : response_end(&a, &e);
	if (r < 0)
		fuzz_error(&e, r);
	else
		check_reply(&reply);
	response_free(&a);
	reply_free(&reply);
	free(body);
}

static int read_stream(const struct dialect *dialect, const uint8_t *bytes, size_t size,
		       size_t piece, struct reply *reply, struct err *e)
{
	struct response a;
	int r = 0;

	response_begin(&a, dialect, reply);
	for (size_t at = 0; r == 0 && at < size; at += piece)
		r = response_feed(&a, (const char *)bytes + at,
				  size - at < piece ? size - at : piece, e);
	r = r < 0 ? r : response_end(&a, e);
	response_free(&a);
	return r;
}

/* at once and byte by byte it must be the same */
static void check_stream(const struct dialect *dialect, const uint8_t *bytes, size_t size)
{
	struct reply whole = { 0 }, pieces = { 0 };
	struct err e, e_pieces;
	int r = read_stream(dialect, bytes, size, size + 1, &whole, &e);

	HOLDS(read_stream(dialect, bytes, size, 1, &pieces, &e_pieces) == r);
	if (r < 0) {
		fuzz_error(&e, r);
		HOLDS(strcmp(e.text, e_pieces.text) == 0);
	} else {
		HOLDS(strcmp(text_string(&whole.text), text_string(&pieces.text)) == 0);
		HOLDS(whole.call_count == pieces.call_count);
		check_reply(&whole);
	}
	reply_free(&whole);
	reply_free(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct text words = { 0 };
	cJSON *root = json_parse((const char *)bytes, size);

	check_code((const char *)bytes, size);
	(void)response_fault(root, &words);
	cJSON_Delete(root);
	for (size_t i = 0; i < words.length; i++)
		HOLDS(words.bytes[i] == '\t' || !iscntrl((unsigned char)words.bytes[i]));
	text_free(&words);
	check_body(&openai_dialect, bytes, size);
	check_body(&anthropic_dialect, bytes, size);
	check_stream(&openai_dialect, bytes, size);
	check_stream(&anthropic_dialect, bytes, size);
	return 0;
}
