/* SPDX-License-Identifier: MIT */
/*
 * test_agent_faults.c - 10,000 streams with faults drawn by chance, from a fixed seed
 *
 * Good answers of servers are cut, doubled, mixed and strewn with what parsers stumble
 * on, and read in pieces of any size. What comes out must keep every promise of its
 * readers; `make asan` sees to their memory. Whatever is left of a stream, it must mean
 * the same in pieces as it does at once.
 */
#include <check.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/utf8.h"
#include "agent/model/extract.h"
#include "agent/model/response.h"
#include "agent/model/tool.h"
#include "tests/unit/suites.h"
#include "tests/unit/test_agent_samples.h"

#define STREAMS 10000
#define SEED 0x5eed5eed5eed5eedu

static uint64_t state = SEED;

/* xorshift64*: the same numbers everywhere, for ever */
static size_t draw(size_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (size_t)((state * 0x2545f4914f6cdd1du) >> 33) % (below ? below : 1);
}

/* what is put in at some place */
static const char *const litter[] = {
	"\n",
	"\r",
	"\r\n",
	"\n\n",
	"\"",
	"\\",
	"{",
	"}",
	"[",
	"]",
	",",
	":",
	"null",
	"-1",
	"1e309",
	"99999999999999999999",
	"\xff",
	"\xc3",
	"\xf0\x9f",
	"\xef\xbb\xbf",
	"\x1b[2J",
	"\\u0000",
	"\\ud83d",
	"\\udc00",
	"\\u001b",
	"\\u12",
	"\\\"",
	"data: ",
	"data",
	"event: x",
	": ping\n\n",
	"data: [DONE]\n\n",
	"```python\nprint(1)\n```\n",
	"\"index\":0,",
	"\"error\":{\"message\":\"\\u001b\"},",
	"\"id\":\"\",",
};

static void put(struct text *t, size_t at, size_t drop, const char *bytes, size_t length)
{
	struct text changed = { 0 };

	text_add(&changed, text_string(t), at);
	text_add(&changed, bytes, length);
	text_add(&changed, text_string(t) + at + drop, t->length - at - drop);
	text_free(t);
	*t = changed;
}

static void break_it(struct text *t)
{
	size_t at = draw(t->length + 1);
	size_t length = draw(t->length - at + 1);
	const struct sample *other = &samples[draw(sample_count)];
	char byte = (char)draw(256);
	char nul = '\0';

	switch (draw(8)) {
	case 0: /* cut off */
		put(t, at, t->length - at, "", 0);
		break;
	case 1: /* a piece is missing */
		put(t, at, length % 80, "", 0);
		break;
	case 2: /* a piece comes twice */
		if (length > 400)
			length = 400;
		put(t, at, 0, text_string(t) + at, length);
		break;
	case 3: { /* litter */
		const char *what = litter[draw(sizeof(litter) / sizeof(litter[0]))];

		put(t, at, 0, what, strlen(what));
		break;
	}
	case 4: /* another byte */
		put(t, at, at < t->length, &byte, 1);
		break;
	case 5:
		put(t, at, 0, &nul, 1);
		break;
	case 6: { /* a piece of another answer, maybe of the other dialect */
		size_t from = draw(strlen(other->bytes));
		size_t n = draw(strlen(other->bytes) - from + 1);

		put(t, at, draw(2) ? length : 0, other->bytes + from, n);
		break;
	}
	default: /* long */
		for (size_t i = draw(300); i > 0; i--)
			put(t, at, 0, "[{\"x\":", 6);
	}
}

/* in pieces of at most @most bytes, each in memory of its exact size */
static int read_pieces(const struct dialect *dialect, const struct text *t, size_t most,
		       struct reply *reply, struct err *e)
{
	struct response a;
	int r = 0;

	response_begin(&a, dialect, reply);
	for (size_t at = 0; r == 0 && at < t->length;) {
		size_t n = 1 + draw(most);
		char *copy;

		if (n > t->length - at)
			n = t->length - at;
		copy = malloc(n);
		memcpy(copy, t->bytes + at, n);
		r = response_feed(&a, copy, n, e);
		free(copy);
		at += n;
	}
	r = r < 0 ? r : response_end(&a, e);
	response_free(&a);
	return r;
}

static void check_error(int r, const struct err *e)
{
	ck_assert(r == -EAGAIN || r == -EBADMSG || r == -EMSGSIZE || r == -E2BIG);
	ck_assert_int_eq(e->errnum, -r);
	ck_assert_uint_gt(strlen(e->text), 10);
	for (const char *at = e->text; *at; at++)
		ck_assert_msg(*at == '\t' || !iscntrl((unsigned char)*at), "%s", e->text);
}

static void check_code(struct extract *x)
{
	if (x->kind == EXTRACT_CODE && x->code.length) {
		ck_assert_uint_le(x->code.length, EXTRACT_CODE_MAX);
		ck_assert_ptr_null(memchr(x->code.bytes, '\0', x->code.length));
	}
	text_free(&x->code);
}

/* what was understood must fit to be run, shown, and sent back in both dialects */
static void check_reply(struct reply *reply)
{
	static const struct dialect *const dialects[] = { &openai_dialect,
							  &anthropic_dialect };
	struct chat chat = { 0 };
	struct extract x;
	struct err e = { 0 };
	cleanup_text struct text complaint = { 0 };
	unsigned int serial = 0;

	ck_assert(utf8_valid(text_string(&reply->text), reply->text.length));
	ck_assert_ptr_null(memchr(text_string(&reply->text), '\0', reply->text.length));
	ck_assert_uint_le(reply->call_count, REPLY_CALLS_MAX);
	reply_end(reply, &serial);
	tool_read(reply, true, &x, &complaint);
	ck_assert(utf8_valid(text_string(&complaint), complaint.length));
	if (!complaint.length && reply->call_count)
		ck_assert(utf8_valid(text_string(&x.code), x.code.length));
	check_code(&x);
	extract_code(text_string(&reply->text), reply->text.length, &x, NULL);
	check_code(&x);

	chat_add(&chat, ROLE_USER, "task", 4);
	chat_add_reply(&chat, reply);
	chat_add_observation(&chat, "seen", 4);
	for (size_t i = 0; i < 2; i++) {
		const struct model_plan plan = { .model_name = "m" };
		const struct model m = { .plan = &plan, .base_url = (char[]){ "x" } };
		cleanup_text struct text body = { 0 };
		cJSON *root;

		ck_assert_int_eq(response_ask(dialects[i], &m, &chat, &body, &e), 0);
		ck_assert(utf8_valid(text_string(&body), body.length));
		root = cJSON_ParseWithLength(text_string(&body), body.length);
		ck_assert_msg(root != NULL, "%s", text_string(&body));
		cJSON_Delete(root);
	}
	chat_free(&chat);
}

START_TEST(streams_with_faults_keep_every_promise)
{
	struct reply reply = { 0 }, at_once = { 0 };
	size_t good = 0, called = 0, bad = 0;

	for (int i = 0; i < STREAMS; i++) {
		const struct sample *s = &samples[draw(sample_count)];
		cleanup_text struct text t = { 0 };
		struct err e = { 0 }, e_at_once = { 0 };
		int r, r_at_once;

		text_puts(&t, s->bytes);
		for (size_t faults = 1 + draw(2); faults > 0; faults--)
			break_it(&t);
		r = read_pieces(s->dialect, &t, 1 + draw(60), &reply, &e);
		r_at_once =
			read_pieces(s->dialect, &t, SIZE_MAX / 2, &at_once, &e_at_once);
		ck_assert_msg(r == r_at_once, "stream %d: %d %s, at once %d %s", i, r,
			      e.text, r_at_once, e_at_once.text);
		if (r < 0) {
			check_error(r, &e);
			ck_assert_str_eq(e.text, e_at_once.text);
			bad++;
			continue;
		}
		ck_assert_str_eq(text_string(&reply.text), text_string(&at_once.text));
		ck_assert_uint_eq(reply.call_count, at_once.call_count);
		ck_assert_int_eq(reply.finish, at_once.finish);
		good++;
		called += reply.call_count > 0;
		check_reply(&reply);
	}
	reply_free(&reply);
	reply_free(&at_once);
	/* or the faults are too many, or too few, to mean anything */
	ck_assert_msg(good > STREAMS / 10 && bad > STREAMS / 10 && called > STREAMS / 20,
		      "good %zu, with calls %zu, bad %zu", good, called, bad);
}
END_TEST

Suite *agent_faults_suite(void)
{
	Suite *s = suite_create("agent faults");
	TCase *c = tcase_create("faults");

	tcase_set_timeout(c, 300);
	tcase_add_test(c, streams_with_faults_keep_every_promise);
	suite_add_tcase(s, c);
	return s;
}
