/* SPDX-License-Identifier: MIT */
/*
 * reply.c - any bytes as a model server's answer, and its text as a reply with code
 */
#include "agent/extract.h"
#include "agent/openai_json.h"
#include "tests/fuzz/fuzz.h"

static void check_code(const char *bytes, size_t length)
{
	struct extract x;
	struct err e;

	HOLDS(extract_code(bytes, length, &x, &e) == 0);
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

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct reply reply = { .finish = FINISH_OTHER };
	struct text words = { 0 };
	struct usage usage = { 0 };
	struct err e;
	char *body = malloc(size + 1);
	int r;

	HOLDS(body);
	(void)memcpy(body, bytes, size);
	body[size] = '\0';
	check_code(body, size);
	(void)openai_json_error(body, size, &words);
	for (size_t i = 0; i < words.length; i++)
		HOLDS(words.bytes[i] == '\t' || !iscntrl((unsigned char)words.bytes[i]));
	r = openai_json_reply(body, size, &reply, &usage, &e);
	if (r < 0)
		fuzz_error(&e, r);
	else
		check_code(text_string(&reply.text), reply.text.length);
	text_free(&reply.text);
	text_free(&words);
	free(body);
	return 0;
}
