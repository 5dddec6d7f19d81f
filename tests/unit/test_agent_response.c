/* SPDX-License-Identifier: MIT */
/*
 * test_agent_response.c - streams of servers, in every piece and with every fault
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/model/response.h"
#include "tests/unit/suites.h"
#include "tests/unit/test_agent_samples.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

/* read a stream in pieces of @piece bytes, each in memory of its exact size */
static int read_stream(const struct dialect *dialect, const char *bytes, size_t length,
		       size_t piece, struct reply *reply, struct response *a,
		       struct err *e)
{
	int r = 0;

	response_begin(a, dialect, reply);
	for (size_t at = 0; r == 0 && at < length; at += piece) {
		size_t n = length - at < piece ? length - at : piece;
		char *copy = malloc(n);

		memcpy(copy, bytes + at, n);
		r = response_feed(a, copy, n, e);
		free(copy);
	}
	r = r < 0 ? r : response_end(a, e);
	response_free(a);
	return r;
}

static void check_sample(const struct sample *s, const struct reply *reply,
			 const struct response *a)
{
	ck_assert_str_eq(text_string(&reply->text), s->text);
	ck_assert_uint_eq(reply->call_count, s->calls);
	if (s->calls) {
		ck_assert_str_eq(reply->calls[0].name, "python");
		ck_assert_str_eq(text_string(&reply->calls[0].arguments), s->arguments);
	}
	ck_assert_int_eq(reply->finish, s->finish);
	ck_assert_uint_eq(a->prompt_tokens, 11);
	ck_assert_uint_eq(a->completion_tokens, 5);
}

START_TEST(streams_are_read_in_any_pieces)
{
	const struct sample *s = &samples[_i];
	struct reply reply = { 0 };
	struct response a;
	struct err e = { 0 };
	size_t length = strlen(s->bytes);

	for (size_t piece = 1; piece <= length; piece++) {
		int r = read_stream(s->dialect, s->bytes, length, piece, &reply, &a, &e);

		ck_assert_msg(r == 0, "%s in pieces of %zu: %s", s->name, piece, e.text);
		check_sample(s, &reply, &a);
	}
	reply_free(&reply);
}
END_TEST

/* where a stream that is cut may count as whole: behind the word that it has ended */
static size_t end_of(const struct sample *s)
{
	const char *word =
		s->dialect == &openai_dialect ? "finish_reason" : "stop_reason";
	const char *at = strstr(s->bytes, word);
	const char *unix_end = strstr(at, "\n\n");
	const char *dos_end = strstr(at, "\r\n\r\n");

	return (size_t)((unix_end ? unix_end + 2 : dos_end + 4) - s->bytes);
}

START_TEST(streams_cut_at_any_byte_are_seen)
{
	const struct sample *s = &samples[_i];
	struct reply reply = { 0 };
	struct response a;
	struct err e = { 0 };
	size_t whole = end_of(s);

	for (size_t cut = 0; cut < strlen(s->bytes); cut++) {
		int r = read_stream(s->dialect, s->bytes, cut, 7, &reply, &a, &e);

		ck_assert_msg(r == (cut < whole ? -EAGAIN : 0), "%s cut at %zu: %d %s",
			      s->name, cut, r, e.text);
		if (r < 0)
			ck_assert_msg(strstr(e.text, "broke off") != NULL, "%s", e.text);
	}
	reply_free(&reply);
}
END_TEST

static const struct {
	const struct dialect *dialect;
	const char *bytes;
	int r;
	const char *says;
} faulty[] = {
	{ &openai_dialect, "data: {\"choices\"\n\n", -EAGAIN, "is not a JSON object" },
	{ &openai_dialect, "data: 7\n\n", -EAGAIN, "is not a JSON object" },
	{ &openai_dialect, "data: {}\n\n", -EAGAIN, "has no list of choices" },
	{ &openai_dialect, "data: {\"choices\":7}\n\n", -EAGAIN, "has no list of" },
	{ &openai_dialect, "", -EAGAIN, "broke off before it began" },
	{ &openai_dialect, "<html>\n\n", -EAGAIN, "broke off before it began" },
	{ &openai_dialect, CHUNK("\"content\":\"a\"") "retry: 1\n\n", -EAGAIN,
	  "its end is missing" },
	{ &openai_dialect, "data: {\"error\":{\"message\":\"\\u001bBusy\"}}\n\n", -EAGAIN,
	  "server failed in its answer: '\\x1bBusy'" },
	{ &openai_dialect,
	  CHUNK("\"content\":\"a\"") "data: {\"error\":{\"message\":\"Pay\",\"code\":"
				     "\"insufficient_quota\"}}\n\n",
	  -EBADMSG, "'Pay' (a quota is used up" },
	{ &openai_dialect,
	  "data: {\"error\":{\"message\":\"x\",\"code\":\"context_length_exceeded\","
	  "\"type\":\"invalid_request_error\"}}\n\n",
	  -EMSGSIZE, "server failed" },
	{ &openai_dialect,
	  CHUNK("\"refusal\":\"I will\"") CHUNK("\"refusal\":\" not\"") FINISH("stop")
		  DONE,
	  -EBADMSG, "the model refused: 'I will not'" },
	{ &openai_dialect, CHUNK("\"content\":\"Bad\"") FINISH("content_filter") DONE,
	  -EBADMSG, "the model refused (a content filter of the server): 'Bad'" },
	{ &anthropic_dialect, "data: {\"index\":0}\n\n", -EAGAIN, "has no type" },
	{ &anthropic_dialect, "data: []\n\n", -EAGAIN, "is not a JSON object" },
	{ &anthropic_dialect,
	  START EVENT("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":"
			       "\"Overloaded\"}"),
	  -EAGAIN, "Overloaded" },
	{ &anthropic_dialect,
	  EVENT("error", ",\"error\":{\"type\":\"invalid_request_error\",\"message\":"
			 "\"prompt is too long: 9 > 8\"}"),
	  -EMSGSIZE, "prompt is too long" },
	{ &anthropic_dialect,
	  EVENT("error", ",\"error\":{\"type\":\"authentication_error\",\"message\":"
			 "\"no\"}"),
	  -EBADMSG, "no" },
	{ &anthropic_dialect, START MESSAGE_DELTA("refusal") STOP, -EBADMSG,
	  "the model refused (stop_reason refusal)" },
};

START_TEST(faults_are_told)
{
	struct reply reply = { 0 };
	struct response a;
	struct err e = { 0 };
	int r = read_stream(faulty[_i].dialect, faulty[_i].bytes,
			    strlen(faulty[_i].bytes), 3, &reply, &a, &e);

	ck_assert_msg(r == faulty[_i].r, "%d: %s", r, e.text);
	ck_assert_msg(strstr(e.text, faulty[_i].says) != NULL, "%s", e.text);
	reply_free(&reply);
}
END_TEST

static const struct {
	const struct dialect *dialect;
	const char *bytes;
	const char *text;
	size_t calls;
} odd[] = {
	/* an end that says nothing is an end */
	{ &openai_dialect, DONE, "", 0 },
	{ &openai_dialect, CHUNK("\"content\":\"a\"") DONE, "a", 0 },
	/* what follows it is not looked at */
	{ &openai_dialect, FINISH("stop") DONE "data: {\n\n", "", 0 },
	/* half a surrogate pair, an escaped NUL, bytes that are no UTF-8 */
	{ &openai_dialect,
	  CHUNK("\"content\":\"\\ud83d\"") CHUNK("\"content\":\"\\ude00x\"") DONE,
	  "\xef\xbf\xbd\xef\xbf\xbdx", 0 },
	{ &openai_dialect, CHUNK("\"content\":\"a\\u0000b\\\\u0000\"") DONE,
	  "a\xef\xbf\xbd"
	  "b\\u0000",
	  0 },
	{ &openai_dialect, CHUNK("\"content\":\"\xff\"") DONE, "\xef\xbf\xbd", 0 },
	/* another answer than the first is not listened to */
	{ &openai_dialect,
	  "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"no\"}}]}\n\n" DONE,
	  "", 0 },
	{ &openai_dialect, CHUNK("\"content\":7,\"tool_calls\":{\"a\":7}") DONE, "", 0 },
	{ &openai_dialect, CHUNK("\"content\":null,\"tool_calls\":[7,null,\"x\"]") DONE,
	  "", 0 },
	{ &openai_dialect, CALL("\"index\":-1,\"id\":7") DONE, "", 1 },
	{ &openai_dialect, CALL("\"index\":1e300,\"function\":7") DONE, "", 1 },
	{ &anthropic_dialect, STOP, "", 0 },
	{ &anthropic_dialect, TEXT_DELTA("-7", "a") EVENT("new", ",\"x\":[]") STOP, "a",
	  0 },
	{ &anthropic_dialect, JSON_DELTA("3", "{}") STOP, "", 1 },
	{ &anthropic_dialect,
	  EVENT("content_block_start", ",\"content_block\":{\"type\":\"thinking\","
				       "\"thinking\":\"x\"}") STOP,
	  "", 0 },
};

/* a server's ways to tell what the model thought, each a bit of it, and its answer "a" */
static const struct {
	const struct dialect *dialect;
	const char *bytes;
	const char *reasoning;
} thoughts[] = {
	{ &openai_dialect,
	  CHUNK("\"reasoning_content\":\"Hm\"") CHUNK("\"reasoning_content\":\".\"")
		  CHUNK("\"content\":\"a\"") DONE,
	  "Hm." },
	{ &openai_dialect,
	  CHUNK("\"reasoning\":\"Hm\\ud83d\"") CHUNK("\"content\":\"a\"") DONE,
	  "Hm\xef\xbf\xbd" },
	{ &openai_dialect,
	  CHUNK("\"reasoning\":\"Hm\",\"reasoning_content\":\"Hm\"")
		  CHUNK("\"content\":\"a\",\"reasoning\":{\"x\":1}") DONE,
	  "Hm" },
	{ &anthropic_dialect,
	  START EVENT("content_block_start",
		      ",\"index\":0,\"content_block\":{\"type\":\"thinking\","
		      "\"thinking\":\"\",\"signature\":\"\"}")
		  EVENT("content_block_delta",
			",\"index\":0,\"delta\":{\"type\":\"thinking_delta\","
			"\"thinking\":\"Hm\"}")
			  EVENT("content_block_delta",
				",\"index\":0,\"delta\":{\"type\":\"signature_delta\","
				"\"signature\":\"xyz\"}") TEXT_BLOCK("1")
				  TEXT_DELTA("1", "a") STOP,
	  "Hm" },
	{ &anthropic_dialect,
	  START EVENT("content_block_start", ",\"index\":0,\"content_block\":{\"type\":"
					     "\"redacted_thinking\",\"data\":\"xyz\"}")
		  TEXT_BLOCK("1") TEXT_DELTA("1", "a") STOP,
	  "(thinking that the server does not show)\n" },
};

START_TEST(thinking_is_apart)
{
	struct reply reply = { 0 };
	struct response a;
	struct err e = { 0 };
	const char *bytes = thoughts[_i].bytes;

	ck_assert_int_eq(read_stream(thoughts[_i].dialect, bytes, strlen(bytes), 7,
				     &reply, &a, &e),
			 0);
	ck_assert_str_eq(text_string(&reply.text), "a");
	ck_assert_str_eq(text_string(&reply.reasoning), thoughts[_i].reasoning);
	reply_free(&reply);
}
END_TEST

START_TEST(odd_streams_are_read)
{
	struct reply reply = { 0 };
	struct response a;
	struct err e = { 0 };
	int r = read_stream(odd[_i].dialect, odd[_i].bytes, strlen(odd[_i].bytes), 5,
			    &reply, &a, &e);

	ck_assert_msg(r == 0, "%s", e.text);
	ck_assert_str_eq(text_string(&reply.text), odd[_i].text);
	ck_assert_uint_eq(reply.call_count, odd[_i].calls);
	reply_free(&reply);
}
END_TEST

/* --- bounds
 * ----------------------------------------------------------------------------- */

/* feed @piece so often that it would go over any bound */
static int feed_often(const char *piece, size_t times, struct err *e)
{
	struct reply reply = { 0 };
	struct response a;
	int r = 0;

	response_begin(&a, &openai_dialect, &reply);
	for (size_t i = 0; r == 0 && i < times; i++)
		r = response_feed(&a, piece, strlen(piece), e);
	response_free(&a);
	reply_free(&reply);
	return r;
}

START_TEST(streams_are_bounded)
{
	cleanup_text struct text piece = { 0 };
	struct err e = { 0 };

	for (int i = 0; i < 100000; i++)
		text_puts(&piece, "0123456789");
	ck_assert_int_eq(feed_often(text_string(&piece), 5, &e), -E2BIG);
	ck_assert_ptr_nonnull(strstr(e.text, "an event longer than 4194304 bytes"));

	cleanup_text struct text comment = { 0 };

	text_printf(&comment, ": %s\n", text_string(&piece));
	ck_assert_int_eq(feed_often(text_string(&comment), 70, &e), -E2BIG);
	ck_assert_ptr_nonnull(strstr(e.text, "a stream longer than 67108864 bytes"));

	cleanup_text struct text data = { 0 };

	text_printf(&data, "data: %s\n", text_string(&piece));
	ck_assert_int_eq(feed_often(text_string(&data), 5, &e), -E2BIG);
	ck_assert_ptr_nonnull(strstr(e.text, "an event longer than 4194304 bytes"));

	cleanup_text struct text words = { 0 };

	text_printf(&words, CHUNK("\"content\":\"%s\""), text_string(&piece));
	ck_assert_int_eq(feed_often(text_string(&words), 9, &e), -E2BIG);
	ck_assert_ptr_nonnull(strstr(e.text, "the model's reply: longer than 8388608"));

	cleanup_text struct text thought = { 0 };

	text_printf(&thought, CHUNK("\"reasoning\":\"%s\""), text_string(&piece));
	ck_assert_int_eq(feed_often(text_string(&thought), 9, &e), -E2BIG);
	ck_assert_ptr_nonnull(
		strstr(e.text, "the model's reasoning: longer than 8388608"));

	cleanup_text struct text call = { 0 };

	text_printf(&call, CALL("\"index\":0,\"function\":{\"arguments\":\"%s\"}"),
		    text_string(&piece));
	ck_assert_int_eq(feed_often(text_string(&call), 3, &e), -E2BIG);
	ck_assert_ptr_nonnull(
		strstr(e.text, "the arguments of a call: longer than 2097152"));
}
END_TEST

START_TEST(calls_are_bounded)
{
	struct reply reply = { 0 };
	unsigned int serial = 0;
	char id[300];

	reply_begin(&reply);
	memset(id, 'x', sizeof(id) - 1);
	id[sizeof(id) - 1] = '\0';
	for (int i = 0; i < 20; i++) {
		struct call *c = reply_call(&reply, i,
					    i == 1   ? id
					    : i == 2 ? "a b"
						     : "a");

		ck_assert(i < REPLY_CALLS_MAX ? c != NULL : c == NULL);
		if (c)
			call_name(c, id);
	}
	ck_assert(reply.calls_dropped);
	ck_assert_uint_eq(reply.call_count, REPLY_CALLS_MAX);
	reply_end(&reply, &serial);
	ck_assert_str_eq(reply.calls[0].id, "a");
	ck_assert_str_eq(reply.calls[1].id, "stepjail_1"); /* was too long */
	ck_assert_str_eq(reply.calls[2].id, "stepjail_2"); /* was no word */
	ck_assert_str_eq(reply.calls[3].id, "stepjail_3"); /* was there already */
	ck_assert_uint_eq(strlen(reply.calls[0].name), CALL_NAME_MAX);
	call_name(&reply.calls[0], "a b\x1b[2J");
	ck_assert_str_eq(reply.calls[0].name, "a_b__2J");
	reply_free(&reply);
}
END_TEST

/* --- tokens
 * ----------------------------------------------------------------------------- */

static const struct {
	const char *usage;
	uint64_t prompt, completion;
} counts[] = {
	{ "{\"prompt_tokens\":10,\"completion_tokens\":3}", 10, 3 },
	{ "{\"prompt_tokens\":0,\"completion_tokens\":1e12}", 0, 1000000000000 },
	{ "{\"prompt_tokens\":-1,\"completion_tokens\":1e300}", 0, 0 },
	{ "{\"prompt_tokens\":\"10\"}", 0, 0 },
	{ "null", 0, 0 },
	{ "[1,2]", 0, 0 },
};

START_TEST(tokens_are_counted)
{
	cleanup_text struct text stream = { 0 };
	struct reply reply = { 0 };
	struct response a;
	struct err e = { 0 };

	/* twice: the last count holds, and is not a sum */
	text_printf(&stream, "data: {\"choices\":[],\"usage\":%s}\n\n", counts[_i].usage);
	text_printf(&stream, "data: {\"choices\":[],\"usage\":%s}\n\n" DONE,
		    counts[_i].usage);
	ck_assert_int_eq(read_stream(&openai_dialect, stream.bytes, stream.length, 9,
				     &reply, &a, &e),
			 0);
	ck_assert_uint_eq(a.prompt_tokens, counts[_i].prompt);
	ck_assert_uint_eq(a.completion_tokens, counts[_i].completion);
	reply_free(&reply);
}
END_TEST

Suite *agent_response_suite(void)
{
	Suite *s = suite_create("agent response");
	TCase *c = tcase_create("answer");

	tcase_set_timeout(c, 60);
	tcase_add_loop_test(c, streams_are_read_in_any_pieces, 0, (int)sample_count);
	tcase_add_loop_test(c, streams_cut_at_any_byte_are_seen, 0, (int)sample_count);
	tcase_add_loop_test(c, faults_are_told, 0, ROWS(faulty));
	tcase_add_loop_test(c, odd_streams_are_read, 0, ROWS(odd));
	tcase_add_loop_test(c, thinking_is_apart, 0, ROWS(thoughts));
	tcase_add_test(c, streams_are_bounded);
	tcase_add_test(c, calls_are_bounded);
	tcase_add_loop_test(c, tokens_are_counted, 0, ROWS(counts));
	suite_add_tcase(s, c);
	return s;
}
