/* SPDX-License-Identifier: MIT */
/*
 * test_agent_model.c - scripts, answers of servers, retries
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/model.h"
#include "agent/openai_json.h"
#include "agent/retry.h"
#include "agent/units.h"
#include "tests/unit/suites.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

/* a file with these bytes; removed when all tests have ended */
static const char *make_file(const char *bytes, size_t length)
{
	return unit_file(unit_folder(), "file", bytes, length);
}

/* --- scripts
 * ---------------------------------------------------------------------------- */

static int open_script(struct model *m, struct model_plan *plan, const char *text,
		       struct err *e)
{
	static char name[64]; /* lives on, as argv does: the plan points into it */

	(void)snprintf(name, sizeof(name), "scripted:%s", make_file(text, strlen(text)));

	int r = model_open(m, name, plan, e);

	return r;
}

START_TEST(script_speaks_in_turns)
{
	struct model m;
	struct model_plan plan = { 0 };
	struct reply reply = { 0 };
	struct chat chat = { 0 };
	struct err e = { 0 };

	ck_assert_msg(
		open_script(&m, &plan,
			    "# comment\n\n--- turn\nexpect: hello\nOne.\n\ntwo\n\n\n"
			    "--- turn\r\nfinish: length\nCut off\n--- turned is text\n",
			    &e) == 0,
		"%s", e.text);
	ck_assert_ptr_nonnull(
		strstr(text_string(&m.label), "no language model is asked"));
	ck_assert_int_eq(chat_add(&chat, ROLE_USER, "why, hello there", 16, &e), 0);
	ck_assert_msg(model_ask(&m, &chat, 0, &reply, &e) == 0, "%s", e.text);
	ck_assert_str_eq(text_string(&reply.text), "One.\n\ntwo\n");
	ck_assert_int_eq(reply.finish, FINISH_STOP);
	ck_assert_msg(model_ask(&m, &chat, 0, &reply, &e) == 0, "%s", e.text);
	ck_assert_str_eq(text_string(&reply.text), "Cut off\n--- turned is text\n");
	ck_assert_int_eq(reply.finish, FINISH_LENGTH);
	ck_assert_int_lt(model_ask(&m, &chat, 0, &reply, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "ends after 2 turns"));
	ck_assert_uint_eq(m.usage.requests, 3);
	text_free(&reply.text);
	chat_free(&chat);
	model_close(&m);
}
END_TEST

START_TEST(script_notices_drift)
{
	struct model m;
	struct model_plan plan = { 0 };
	struct reply reply = { 0 };
	struct chat chat = { 0 };
	struct err e = { 0 };

	ck_assert_int_eq(open_script(&m, &plan, "--- turn\nexpect: 42\nOne.\n", &e), 0);
	ck_assert_int_eq(chat_add(&chat, ROLE_USER, "Output:\n| 43\x1b\n", 14, &e), 0);
	ck_assert_int_lt(model_ask(&m, &chat, 0, &reply, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, ":2: turn 1 expects '42'"));
	ck_assert_ptr_nonnull(strstr(e.text, "43\\x1b"));
	text_free(&reply.text);
	chat_free(&chat);
	model_close(&m);
}
END_TEST

static const struct {
	const char *text;
	const char *says;
} bad_scripts[] = {
	{ "", "holds no '--- turn' line" },
	{ "# only a comment\n", "holds no '--- turn' line" },
	{ "text\n--- turn\nx\n", ":1: text before" },
	{ "# x\n   text\n", ":2: text before" },
	{ "--- turn\n\xff\n", "not UTF-8" },
};

START_TEST(script_refuses_bad_files)
{
	struct model m;
	struct model_plan plan = { 0 };
	struct err e = { 0 };

	ck_assert_int_lt(open_script(&m, &plan, bad_scripts[_i].text, &e), 0);
	ck_assert_msg(strstr(e.text, bad_scripts[_i].says) != NULL, "%s", e.text);
	model_close(&m);
}
END_TEST

START_TEST(script_refuses_a_silent_turn)
{
	struct model m;
	struct model_plan plan = { 0 };
	struct reply reply = { 0 };
	struct chat chat = { 0 };
	struct err e = { 0 };

	ck_assert_int_eq(open_script(&m, &plan, "--- turn\n\n--- turn\nx\n", &e), 0);
	ck_assert_int_lt(model_ask(&m, &chat, 0, &reply, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, ":1: this turn has no text"));
	text_free(&reply.text);
	model_close(&m);
}
END_TEST

static const struct {
	const char *name;
	const char *says;
} bad_models[] = {
	{ "nobody", "'nobody' is no model" },
	{ "script:x", "is no model" },
	{ "scripted", "give scripted:FILE" },
	{ "scripted:", "give scripted:FILE" },
	{ "scripted:/no/such/file", "/no/such/file" },
	{ "openai:gpt", "--model-name" },
	{ "openai", "give --model-name" },
	{ "", "is no model" },
};

START_TEST(model_refuses_by_name)
{
	struct model m;
	struct model_plan plan = { .base_url = "http://127.0.0.1:1" };
	struct err e = { 0 };

	ck_assert_int_lt(model_open(&m, bad_models[_i].name, &plan, &e), 0);
	ck_assert_msg(strstr(e.text, bad_models[_i].says) != NULL, "%s", e.text);
	model_close(&m);
}
END_TEST

/* --- answers of servers
 * ----------------------------------------------------------------- */

#define ANSWER(content)                                                                  \
	"{\"choices\":[{\"message\":{\"content\":" content                               \
	"},\"finish_reason\":\"stop\"}]}"

static const struct {
	const char *body;
	const char *text; /* NULL where it is refused */
	const char *says;
} answers[] = {
	{ ANSWER("\"hi\""), "hi", NULL },
	{ " " ANSWER("\"a\\u0000b\"") "\r\n",
	  "a\xef\xbf\xbd"
	  "b",
	  NULL },
	{ ANSWER("\"a\\\\u0000b\""), "a\\u0000b", NULL },
	{ ANSWER("\"\xff\""), "\xef\xbf\xbd", NULL },
	{ ANSWER("\"\""), "", NULL },
	{ "", NULL, "not JSON" },
	{ "<html>", NULL, "not JSON" },
	{ ANSWER("\"hi\"") "x", NULL, "not JSON" },
	{ "{\"choices\":[", NULL, "not JSON" },
	{ "[]", NULL, "no list of choices" },
	{ "{}", NULL, "no list of choices" },
	{ "null", NULL, "no list of choices" },
	{ "\"choices\"", NULL, "no list of choices" },
	{ "{\"choices\":{}}", NULL, "no list of choices" },
	{ "{\"choices\":[]}", NULL, "empty list of choices" },
	{ "{\"choices\":[1]}", NULL, "no choices[0].message" },
	{ "{\"choices\":[{\"message\":[]}]}", NULL, "no choices[0].message" },
	{ ANSWER("null"), NULL, "no content (null)" },
	{ ANSWER("7"), NULL, "no text in" },
	{ ANSWER("[{\"type\":\"text\"}]"), NULL, "no text in" },
	{ "{\"choices\":[{\"message\":{}}]}", NULL, "no text in" },
	{ "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"No\\u001b\"}}]}",
	  NULL, "the model refused: No\\x1b" },
};

START_TEST(answers_are_read)
{
	char *body = strdup(answers[_i].body);
	struct reply reply = { .finish = FINISH_OTHER };
	struct usage usage = { 0 };
	struct err e = { 0 };
	int r = openai_json_reply(body, strlen(body), &reply, &usage, &e);

	if (answers[_i].text) {
		ck_assert_msg(r == 0, "%s", e.text);
		ck_assert_str_eq(text_string(&reply.text), answers[_i].text);
		ck_assert_int_eq(reply.finish, FINISH_STOP);
	} else {
		ck_assert_int_eq(r, -EBADMSG);
		ck_assert_msg(strstr(e.text, answers[_i].says) != NULL, "%s", e.text);
	}
	text_free(&reply.text);
	free(body);
}
END_TEST

START_TEST(answer_with_a_nul_is_no_json)
{
	char body[] = ANSWER("\"a\0b\"");
	struct reply reply = { 0 };
	struct usage usage = { 0 };
	struct err e = { 0 };

	ck_assert_int_lt(openai_json_reply(body, sizeof(body) - 1, &reply, &usage, &e),
			 0);
}
END_TEST

START_TEST(deep_json_is_refused)
{
	size_t depth = 2000000;
	char *body = malloc(depth);
	struct reply reply = { 0 };
	struct usage usage = { 0 };
	struct err e = { 0 };

	memset(body, '[', depth);
	ck_assert_int_lt(openai_json_reply(body, depth, &reply, &usage, &e), 0);
	free(body);
}
END_TEST

static const struct {
	const char *usage;
	uint64_t prompt, completion;
} counts[] = {
	{ "{\"prompt_tokens\":10,\"completion_tokens\":3}", 10, 3 },
	{ "{\"prompt_tokens\":-1,\"completion_tokens\":1e300}", 0, 0 },
	{ "{\"prompt_tokens\":\"10\"}", 0, 0 },
	{ "null", 0, 0 },
	{ "[1,2]", 0, 0 },
};

START_TEST(tokens_are_counted)
{
	struct text body = { 0 };
	struct reply reply = { 0 };
	struct usage usage = { 0 };
	struct err e = { 0 };

	text_printf(&body,
		    "{\"choices\":[{\"message\":{\"content\":\"x\"},"
		    "\"finish_reason\":\"length\"}],\"usage\":%s}",
		    counts[_i].usage);
	ck_assert_int_eq(openai_json_reply(body.bytes, body.length, &reply, &usage, &e),
			 0);
	ck_assert_int_eq(reply.finish, FINISH_LENGTH);
	ck_assert_uint_eq(usage.prompt_tokens, counts[_i].prompt);
	ck_assert_uint_eq(usage.completion_tokens, counts[_i].completion);
	text_free(&reply.text);
	text_free(&body);
}
END_TEST

static const struct {
	const char *body;
	bool quota;
	const char *words;
} errors[] = {
	{ "{\"error\":{\"message\":\"Slow\\u001b[2J\",\"code\":\"rate_limit\"}}", false,
	  "Slow\\x1b[2J" },
	{ "{\"error\":{\"message\":\"Pay\",\"code\":\"insufficient_quota\"}}", true,
	  "Pay" },
	{ "{\"error\":{\"message\":\"Pay\",\"type\":\"insufficient_quota\",\"code\":null}"
	  "}",
	  true, "Pay" },
	{ "{\"error\":\"words\"}", false, "words" },
	{ "{\"error\":{\"message\":7,\"code\":[]}}", false, "" },
	{ "<html>", false, "" },
	{ "", false, "" },
};

START_TEST(errors_are_read)
{
	struct text words = { 0 };

	ck_assert(openai_json_error(errors[_i].body, strlen(errors[_i].body), &words) ==
		  errors[_i].quota);
	ck_assert_str_eq(text_string(&words), errors[_i].words);
	text_free(&words);
}
END_TEST

START_TEST(requests_are_json)
{
	struct chat chat = { 0 };
	struct text body = { 0 };
	struct err e = { 0 };

	ck_assert_int_eq(chat_add(&chat, ROLE_SYSTEM, "rules", 5, &e), 0);
	ck_assert_int_eq(chat_add(&chat, ROLE_USER, "a\"\xff\n", 4, &e), 0);
	ck_assert_int_eq(openai_json_request("m", &chat, &body, &e), 0);
	ck_assert_str_eq(text_string(&body),
			 "{\"messages\":[{\"role\":\"system\",\"content\":\"rules\"},"
			 "{\"role\":\"user\",\"content\":\"a\\\"\xef\xbf\xbd\\n\"}],"
			 "\"model\":\"m\",\"stream\":false}");
	text_free(&body);
	chat_free(&chat);
}
END_TEST

/* --- retries
 * ---------------------------------------------------------------------------- */

static const struct {
	struct retry_facts f;
	enum retry_answer answer;
	uint64_t least_ms, most_ms;
} retries[] = {
	{ { 1, 4, 60000, 429, false, 0, 0 }, RETRY_YES, 250, 500 },
	{ { 1, 4, 60000, 0, false, 0, 12345 }, RETRY_YES, 250, 500 },
	{ { 2, 4, 60000, 500, false, 0, 12345 }, RETRY_YES, 500, 1000 },
	{ { 4, 4, 60000, 503, false, 0, UINT64_MAX }, RETRY_YES, 2000, 4000 },
	{ { 20, 20, 60000, 599, false, 0, 7 }, RETRY_YES, 10000, 20000 },
	{ { 1, 4, 60000, 429, false, 7000, 999 }, RETRY_YES, 7000, 7700 },
	{ { 1, 4, 60000, 503, false, 7000, 0 }, RETRY_YES, 7000, 7700 },
	{ { 1, 4, 5000, 429, false, 7000, 0 }, RETRY_NO_TIME, 7000, 7700 },
	{ { 1, 4, 100, 500, false, 0, 0 }, RETRY_NO_TIME, 250, 500 },
	{ { 5, 4, 60000, 429, false, 0, 0 }, RETRY_WORN_OUT, 0, 0 },
	{ { 1, 0, 60000, 500, false, 0, 0 }, RETRY_WORN_OUT, 0, 0 },
	{ { 1, 4, 60000, 429, true, 1000, 0 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 400, false, 0, 0 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 401, false, 1000, 0 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 404, false, 0, 0 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 302, false, 0, 0 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 200, false, 0, 0 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 600, false, 0, 0 }, RETRY_NEVER, 0, 0 },
};

START_TEST(retries_are_decided)
{
	uint64_t wait_ms;

	ck_assert_int_eq(retry_decide(&retries[_i].f, &wait_ms), retries[_i].answer);
	ck_assert_uint_ge(wait_ms, retries[_i].least_ms);
	ck_assert_uint_le(wait_ms, retries[_i].most_ms);
}
END_TEST

Suite *agent_model_suite(void)
{
	Suite *s = suite_create("agent model");
	TCase *c = tcase_create("model");

	tcase_add_test(c, script_speaks_in_turns);
	tcase_add_test(c, script_notices_drift);
	tcase_add_loop_test(c, script_refuses_bad_files, 0, ROWS(bad_scripts));
	tcase_add_test(c, script_refuses_a_silent_turn);
	tcase_add_loop_test(c, model_refuses_by_name, 0, ROWS(bad_models));
	tcase_add_loop_test(c, answers_are_read, 0, ROWS(answers));
	tcase_add_test(c, answer_with_a_nul_is_no_json);
	tcase_add_test(c, deep_json_is_refused);
	tcase_add_loop_test(c, tokens_are_counted, 0, ROWS(counts));
	tcase_add_loop_test(c, errors_are_read, 0, ROWS(errors));
	tcase_add_test(c, requests_are_json);
	tcase_add_loop_test(c, retries_are_decided, 0, ROWS(retries));
	suite_add_tcase(s, c);
	return s;
}
