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

#include "agent/base/units.h"
#include "agent/model/model.h"
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
	chat_add(&chat, ROLE_USER, "why, hello there", 16);
	ck_assert_msg(model_ask(&m, &chat, 0, &reply, &e) == 0, "%s", e.text);
	ck_assert_str_eq(text_string(&reply.text), "One.\n\ntwo\n");
	ck_assert_int_eq(reply.finish, FINISH_STOP);
	ck_assert_msg(model_ask(&m, &chat, 0, &reply, &e) == 0, "%s", e.text);
	ck_assert_str_eq(text_string(&reply.text), "Cut off\n--- turned is text\n");
	ck_assert_int_eq(reply.finish, FINISH_LENGTH);
	ck_assert_int_lt(model_ask(&m, &chat, 0, &reply, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "ends before turn 3"));
	ck_assert_uint_eq(m.usage.requests, 3);
	reply_free(&reply);
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
	chat_add(&chat, ROLE_USER, "Output:\n| 43\x1b\n", 14);
	ck_assert_int_lt(model_ask(&m, &chat, 0, &reply, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, ":2: turn 1 expects '42'"));
	ck_assert_ptr_nonnull(strstr(e.text, "43\\x1b"));
	reply_free(&reply);
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
	reply_free(&reply);
	model_close(&m);
}
END_TEST

static const struct {
	const char *name;
	const char *says;
	const char *base_url;
} bad_models[] = {
	{ "nobody", "'nobody' is no model", NULL },
	{ "script:x", "is no model", NULL },
	{ "scripted", "give scripted:FILE", NULL },
	{ "scripted:", "give scripted:FILE", NULL },
	{ "scripted:/no/such/file", "/no/such/file", NULL },
	{ "scripted:/no/such/file", "--base-url: is for a model on a server",
	  "http://127.0.0.1:1" },
	{ "openai:gpt", "--model-name", NULL },
	{ "openai", "give --model-name", NULL },
	{ "anthropic", "--model anthropic: which model? give --model-name", NULL },
	{ "ollama", "give --model-name", NULL },
	{ "llamacpp", "give --model-name", NULL },
	{ "vllm", "give --model-name", NULL },
	{ "", "is no model", NULL },
};

START_TEST(model_refuses_by_name)
{
	struct model m;
	struct model_plan plan = { .base_url = bad_models[_i].base_url };
	struct err e = { 0 };

	ck_assert_int_lt(model_open(&m, bad_models[_i].name, &plan, &e), 0);
	ck_assert_msg(strstr(e.text, bad_models[_i].says) != NULL, "%s", e.text);
	model_close(&m);
}
END_TEST

/* --- retries
 * ---------------------------------------------------------------------------- */

static const struct {
	struct retry_facts f;
	enum retry_answer answer;
	uint64_t least_ms, most_ms;
} retries[] = {
	{ { 1, 4, 60000, 429, false, 0, 0, 500 }, RETRY_YES, 250, 500 },
	{ { 1, 4, 60000, 0, false, 0, 12345, 500 }, RETRY_YES, 250, 500 },
	{ { 2, 4, 60000, 500, false, 0, 12345, 500 }, RETRY_YES, 500, 1000 },
	{ { 4, 4, 60000, 503, false, 0, UINT64_MAX, 500 }, RETRY_YES, 2000, 4000 },
	{ { 20, 20, 60000, 599, false, 0, 7, 500 }, RETRY_YES, 10000, 20000 },
	{ { 1, 4, 60000, 429, false, 7000, 999, 500 }, RETRY_YES, 7000, 7700 },
	{ { 1, 4, 60000, 503, false, 7000, 0, 500 }, RETRY_YES, 7000, 7700 },
	{ { 1, 4, 5000, 429, false, 7000, 0, 500 }, RETRY_NO_TIME, 7000, 7700 },
	{ { 1, 4, 100, 500, false, 0, 0, 500 }, RETRY_NO_TIME, 250, 500 },
	{ { 5, 4, 60000, 429, false, 0, 0, 500 }, RETRY_WORN_OUT, 0, 0 },
	{ { 1, 0, 60000, 500, false, 0, 0, 500 }, RETRY_WORN_OUT, 0, 0 },
	{ { 1, 4, 60000, 429, true, 1000, 0, 500 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 400, false, 0, 0, 500 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 401, false, 1000, 0, 500 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 404, false, 0, 0, 500 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 408, false, 0, 0, 500 }, RETRY_YES, 250, 500 },
	{ { 1, 4, 60000, 500, false, 0, 1, 1 }, RETRY_YES, 0, 1 },
	{ { 999, 1000, 60000, 500, false, 0, 12345, 1 }, RETRY_YES, 20, 40 },
	{ { 1, 4, 60000, 302, false, 0, 0, 500 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 200, false, 0, 0, 500 }, RETRY_NEVER, 0, 0 },
	{ { 1, 4, 60000, 600, false, 0, 0, 500 }, RETRY_NEVER, 0, 0 },
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
	tcase_add_loop_test(c, retries_are_decided, 0, ROWS(retries));
	suite_add_tcase(s, c);
	return s;
}
