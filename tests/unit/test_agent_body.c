/* SPDX-License-Identifier: MIT */
/*
 * test_agent_body.c - answers of servers that are no stream, and what they say of
 * failures
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/json.h"
#include "agent/model/response.h"
#include "tests/unit/suites.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

#define ANSWER(content)                                                                  \
	"{\"choices\":[{\"message\":{\"content\":" content                               \
	"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":11,"                \
	"\"completion_tokens\":5}}"
#define MESSAGE(content)                                                                 \
	"{\"type\":\"message\",\"content\":" content                                     \
	",\"stop_reason\":\"end_turn\",\"usage\":{\"input_tokens\":4,"                   \
	"\"cache_creation_input_tokens\":2,\"cache_read_input_tokens\":5,"               \
	"\"output_tokens\":5}}"

static const struct {
	const struct dialect *dialect;
	const char *body;
	const char *text; /* NULL where it is refused */
	const char *says; /* the error, or the first call's arguments */
} bodies[] = {
	{ &openai_dialect, ANSWER("\"hi\""), "hi", NULL },
	{ &openai_dialect, " " ANSWER("\"a\\u0000b\"") "\r\n",
	  "a\xef\xbf\xbd"
	  "b",
	  NULL },
	{ &openai_dialect, ANSWER("\"a\\\\u0000b\""), "a\\u0000b", NULL },
	{ &openai_dialect, ANSWER("\"\xff\""), "\xef\xbf\xbd", NULL },
	{ &openai_dialect, ANSWER("\"\""), "", NULL },
	{ &openai_dialect,
	  ANSWER("null,\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"python\","
		 "\"arguments\":\"{}\"}}]"),
	  "", "{}" },
	{ &openai_dialect, "", NULL, "not JSON" },
	{ &openai_dialect, "<html>", NULL, "not JSON" },
	{ &openai_dialect, ANSWER("\"hi\"") "x", NULL, "not JSON" },
	{ &openai_dialect, "{\"choices\":[", NULL, "not JSON" },
	{ &openai_dialect, "[]", NULL, "no list of choices" },
	{ &openai_dialect, "{}", NULL, "no list of choices" },
	{ &openai_dialect, "null", NULL, "no list of choices" },
	{ &openai_dialect, "\"choices\"", NULL, "no list of choices" },
	{ &openai_dialect, "{\"choices\":{}}", NULL, "no list of choices" },
	{ &openai_dialect, "{\"choices\":[]}", NULL, "no text in" },
	{ &openai_dialect, "{\"choices\":[1]}", NULL, "no text in" },
	{ &openai_dialect, "{\"choices\":[{\"message\":[]}]}", NULL,
	  "no text in choices[0].message.content" },
	{ &openai_dialect, ANSWER("null"), NULL, "which is null" },
	{ &openai_dialect, ANSWER("7"), NULL, "no text in" },
	{ &openai_dialect, ANSWER("[{\"type\":\"text\"}]"), NULL, "no text in" },
	{ &openai_dialect, "{\"choices\":[{\"message\":{}}]}", NULL, "no text in" },
	{ &openai_dialect, "{\"error\":{\"message\":\"Busy\"}}", NULL, "Busy" },
	{ &openai_dialect, "{\"error\":\"Busy\"}", NULL, "Busy" },
	{ &openai_dialect,
	  "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"No\\u001b\"}}]}",
	  NULL, "the model refused: 'No\\x1b'" },
	{ &anthropic_dialect, MESSAGE("[{\"type\":\"text\",\"text\":\"hi\"}]"), "hi",
	  NULL },
	{ &anthropic_dialect,
	  MESSAGE("[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"python\",\"input\":{"
		  "\"code\":\"1\"}},{\"type\":\"text\",\"text\":\"b\"},7,{}]"),
	  "b", "{\"code\":\"1\"}" },
	{ &anthropic_dialect, MESSAGE("[]"), "", NULL },
	{ &anthropic_dialect, MESSAGE("{}"), NULL, "no list of blocks" },
	{ &anthropic_dialect, "[]", NULL, "no list of blocks" },
	{ &anthropic_dialect, "no", NULL, "not JSON" },
};

START_TEST(bodies_are_read)
{
	size_t length = strlen(bodies[_i].body);
	char *body = malloc(length + 1); /* a NUL behind it, as in struct text */
	struct reply reply = { 0 };
	struct response a;
	struct err e = { 0 };

	memcpy(body, bodies[_i].body, length + 1);
	response_begin(&a, bodies[_i].dialect, &reply);

	int r = response_body(&a, body, length, &e);

	r = r < 0 ? r : response_end(&a, &e);
	if (bodies[_i].text) {
		ck_assert_msg(r == 0, "%s", e.text);
		ck_assert_str_eq(text_string(&reply.text), bodies[_i].text);
		ck_assert_int_eq(reply.finish, FINISH_STOP);
		ck_assert_uint_eq(a.prompt_tokens, 11);
		ck_assert_uint_eq(a.completion_tokens, 5);
		ck_assert_uint_eq(reply.call_count, bodies[_i].says ? 1 : 0);
	} else {
		ck_assert_msg(r == -EBADMSG || (r == -EAGAIN && strstr(e.text, "Busy")),
			      "%d", r);
		ck_assert_msg(strstr(e.text, bodies[_i].says) != NULL, "%s", e.text);
	}
	if (bodies[_i].text && bodies[_i].says)
		ck_assert_str_eq(text_string(&reply.calls[0].arguments), bodies[_i].says);
	response_free(&a);
	reply_free(&reply);
	free(body);
}
END_TEST

static int read_body(char *body, size_t length, struct err *e)
{
	struct reply reply = { 0 };
	struct response a;

	response_begin(&a, &openai_dialect, &reply);

	int r = response_body(&a, body, length, e);

	response_free(&a);
	reply_free(&reply);
	return r;
}

START_TEST(body_with_a_nul_is_no_json)
{
	char body[] = ANSWER("\"a\0b\"");
	struct err e = { 0 };

	ck_assert_int_eq(read_body(body, sizeof(body) - 1, &e), -EBADMSG);
}
END_TEST

START_TEST(deep_json_is_refused)
{
	size_t depth = JSON_VALUES_MAX;
	char *body = malloc(depth);
	struct err e = { 0 };

	memset(body, '[', depth);
	ck_assert_int_eq(read_body(body, depth, &e), -EBADMSG);
	free(body);
}
END_TEST

static const struct {
	const char *body;
	enum fault fault;
	const char *words;
} errors[] = {
	{ "{\"error\":{\"message\":\"Slow\\u001b[2J\",\"code\":\"rate_limit\"}}",
	  FAULT_UNKNOWN, ": 'Slow\\x1b[2J'" },
	{ "{\"error\":{\"message\":\"Pay\",\"code\":\"insufficient_quota\"}}",
	  FAULT_QUOTA, ": 'Pay' (a quota is used up, and waiting does not help)" },
	{ "{\"error\":{\"message\":\"Pay\",\"type\":\"insufficient_quota\",\"code\":null}"
	  "}",
	  FAULT_QUOTA, ": 'Pay' (a quota is used up, and waiting does not help)" },
	{ "{\"error\":\"words\"}", FAULT_UNKNOWN, ": 'words'" },
	{ "{\"message\":\"words\"}", FAULT_UNKNOWN, ": 'words'" },
	{ "{\"error\":{\"message\":7,\"code\":[]}}", FAULT_UNKNOWN, "" },
	{ "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":"
	  "\"x\"}"
	  "}",
	  FAULT_UNKNOWN, ": 'x'" },
	{ "{\"error\":{\"message\":\"This model's Maximum context length is 8\","
	  "\"code\":400}}",
	  FAULT_LENGTH, ": \"This model's Maximum context length is 8\"" },
	{ "<html>", FAULT_UNKNOWN, "" },
	{ "", FAULT_UNKNOWN, "" },
};

START_TEST(errors_are_read)
{
	cleanup_text struct text words = { 0 };
	cJSON *root = json_parse(errors[_i].body, strlen(errors[_i].body));

	ck_assert_int_eq(response_fault(root, &words), errors[_i].fault);
	ck_assert_str_eq(text_string(&words), errors[_i].words);
	cJSON_Delete(root);
}
END_TEST

/* a megabyte of numbers would take a hundred */
START_TEST(crowds_are_refused)
{
	struct text body = { 0 };
	struct reply reply = { 0 };
	struct response a;
	struct err e = { 0 };

	text_puts(&body, "{\"choices\":[{\"message\":{\"content\":\"");
	for (size_t i = 0; i < JSON_VALUES_MAX; i++)
		text_puts(&body, ",\\\"[{"); /* in a text they are letters */
	text_puts(&body, "\"}}]}");
	response_begin(&a, &openai_dialect, &reply);
	ck_assert_int_eq(response_body(&a, body.bytes, body.length, &e), 0);
	ck_assert_uint_eq(reply.text.length, 4 * JSON_VALUES_MAX);
	response_free(&a);
	text_clear(&body);
	text_puts(&body, "{\"choices\":[0");
	for (size_t i = 0; i + 4 < JSON_VALUES_MAX; i++)
		text_puts(&body, ",0");
	text_puts(&body, "]}");
	ck_assert(!json_crowded(body.bytes, body.length));
	body.length -= 2;
	text_puts(&body, ",0,0,0]}");
	ck_assert(json_crowded(body.bytes, body.length));
	ck_assert_ptr_null(json_parse(body.bytes, body.length));
	response_begin(&a, &openai_dialect, &reply);
	ck_assert_int_eq(response_body(&a, body.bytes, body.length, &e), -E2BIG);
	ck_assert_ptr_nonnull(strstr(e.text, "more than 100000 values"));
	response_free(&a);
	text_free(&body);
	reply_free(&reply);
}
END_TEST

Suite *agent_body_suite(void)
{
	Suite *s = suite_create("agent body");
	TCase *c = tcase_create("body");

	tcase_add_loop_test(c, bodies_are_read, 0, ROWS(bodies));
	tcase_add_test(c, body_with_a_nul_is_no_json);
	tcase_add_test(c, deep_json_is_refused);
	tcase_add_loop_test(c, errors_are_read, 0, ROWS(errors));
	tcase_add_test(c, crowds_are_refused);
	suite_add_tcase(s, c);
	return s;
}
