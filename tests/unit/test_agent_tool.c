/* SPDX-License-Identifier: MIT */
/*
 * test_agent_tool.c - calls of the tool, requests in both dialects, old observations
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/model/chat.h"
#include "agent/model/response.h"
#include "agent/model/tool.h"
#include "tests/unit/suites.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

static void add_call(struct reply *r, const char *name, const char *arguments)
{
	struct call *c = reply_call(r, (long)r->call_count, "");

	ck_assert_ptr_nonnull(c);
	call_name(c, name);
	text_puts(&c->arguments, arguments);
}

static const struct {
	const char *name;
	const char *arguments;
	const char *code; /* NULL where it is not run */
	const char *says;
} calls[] = {
	{ "python", "{\"code\": \"print(1)\"}", "print(1)\n", NULL },
	{ "python", "{\"code\": \"a\\r\\nb\\rc\\n\", \"x\": 1}", "a\nb\rc\n", NULL },
	{ "python", " {\"code\":\"'\\u00e9\\\\u0000'\"} ", "'\xc3\xa9\\u0000'\n", NULL },
	{ "python", "", NULL, "are no JSON object with a string" },
	{ "python", "print(1)", NULL, "are no JSON object with a string" },
	{ "python", "{\"code\": \"print(", NULL, "are no JSON object with a string" },
	{ "python", "{\"code\": \"x\"} {}", NULL, "are no JSON object with a string" },
	{ "python", "[\"print(1)\"]", NULL, "are no JSON object with a string" },
	{ "python", "\"print(1)\"", NULL, "are no JSON object with a string" },
	{ "python", "{}", NULL, "are no JSON object with a string" },
	{ "python", "{\"Code\":\"x\"}", NULL, "are no JSON object with a string" },
	{ "python", "{\"code\":[\"x\"]}", NULL, "are no JSON object with a string" },
	{ "python", "{\"code\":null}", NULL, "are no JSON object with a string" },
	{ "python", "{\"code\":\"\"}", NULL, "was empty" },
	{ "python", "{\"code\":\" \\n\\t\"}", NULL, "was empty" },
	{ "python", "{\"code\":\"a\\u0000b\"}", NULL, "NUL byte" },
	{ "python", "{\"code\":\"\xff\"}", NULL, "not UTF-8" },
	{ "python", "{\"code\":\"\\ud800\"}", NULL, "are no JSON object with a string" },
	{ "bash", "{\"code\":\"ls\"}", NULL, "There is no tool 'bash'" },
	{ "", "{\"code\":\"ls\"}", NULL, "There is no tool ''" },
	{ "Python\x1b[2J", "{\"code\":\"1\"}", NULL, "There is no tool 'Python__2J'" },
};

START_TEST(calls_are_read)
{
	struct reply reply = { 0 };
	struct extract x;
	cleanup_text struct text complaint = { 0 };

	reply_begin(&reply);
	add_call(&reply, calls[_i].name, calls[_i].arguments);
	tool_read(&reply, true, &x, &complaint);
	ck_assert_int_ne(x.kind, EXTRACT_ANSWER);
	if (calls[_i].code) {
		ck_assert_int_eq(x.kind, EXTRACT_CODE);
		ck_assert_str_eq(text_string(&complaint), "");
		ck_assert_str_eq(text_string(&x.code), calls[_i].code);
	} else {
		ck_assert_msg(strstr(text_string(&complaint), calls[_i].says) != NULL,
			      "%s", text_string(&complaint));
		ck_assert_msg(strcasestr(text_string(&complaint), "nothing was run"),
			      "%s", text_string(&complaint));
	}
	text_free(&x.code);
	reply_free(&reply);
}
END_TEST

START_TEST(several_calls_are_one_step)
{
	struct reply reply = { 0 };
	struct extract x;
	cleanup_text struct text complaint = { 0 };

	reply_begin(&reply);
	tool_read(&reply, true, &x, &complaint);
	ck_assert_int_eq(x.kind, EXTRACT_ANSWER);
	add_call(&reply, "python", "{\"code\":\"a = 1\"}");
	add_call(&reply, "python", "{\"code\":\"print(a)\\n\"}");
	tool_read(&reply, true, &x, &complaint);
	ck_assert_str_eq(text_string(&x.code), "a = 1\nprint(a)\n");
	ck_assert_uint_eq(x.blocks, 2);
	text_free(&x.code);
	/* one that cannot be run, and none is */
	add_call(&reply, "python", "{\"code\":7}");
	tool_read(&reply, true, &x, &complaint);
	ck_assert_ptr_nonnull(
		strstr(text_string(&complaint), "are no JSON object with a string"));
	text_free(&x.code);
	text_clear(&complaint);
	tool_read(&reply, false, &x, &complaint);
	ck_assert_ptr_nonnull(strstr(text_string(&complaint), "there is none here"));
	text_free(&x.code);
	reply_free(&reply);
}
END_TEST

static const struct {
	const char *arguments, *other; /* of a call of python beside it, or NULL */
	enum extract_kind kind;
	const char *text, *says;
} answers[] = {
	{ "{\"text\": \"print(1)\\r\\n\"}", NULL, EXTRACT_ANSWER, "print(1)\r\n", "" },
	{ "{\"text\": \" \"}", NULL, EXTRACT_SILENCE, " ", "Your reply was empty" },
	{ "{\"code\": \"1\"}", NULL, EXTRACT_CODE, "", "with a string \"text\"" },
	{ "{\"text\": \"a\\u0000\"}", NULL, EXTRACT_CODE, "", "NUL byte" },
	{ "{\"text\": \"1\"}", "{\"code\": \"1\"}", EXTRACT_CODE, "",
	  "Call answer alone" },
};

START_TEST(a_call_may_be_the_answer)
{
	struct reply reply = { 0 };
	struct extract x;
	cleanup_text struct text complaint = { 0 };

	reply_begin(&reply);
	if (answers[_i].other)
		add_call(&reply, "python", answers[_i].other);
	add_call(&reply, "answer", answers[_i].arguments);
	tool_read(&reply, true, &x, &complaint);
	ck_assert_int_eq(x.kind, answers[_i].kind);
	ck_assert_str_eq(text_string(&x.code), answers[_i].text);
	ck_assert_msg(strstr(text_string(&complaint), answers[_i].says) != NULL, "%s",
		      text_string(&complaint));
	ck_assert(!*answers[_i].says == !complaint.length);
	text_free(&x.code);
	reply_free(&reply);
}
END_TEST

START_TEST(too_much_code_is_refused)
{
	struct reply reply = { 0 };
	struct extract x;
	cleanup_text struct text complaint = { 0 };
	cleanup_text struct text arguments = { 0 };

	text_puts(&arguments, "{\"code\":\"");
	for (int i = 0; i < 27000; i++)
		text_puts(&arguments, "0123456789");
	text_puts(&arguments, "\"}");
	reply_begin(&reply);
	add_call(&reply, "python", text_string(&arguments));
	tool_read(&reply, true, &x, &complaint);
	ck_assert_ptr_nonnull(strstr(text_string(&complaint), "longer than 256 KiB"));
	text_free(&x.code);
	text_clear(&complaint);
	for (int i = 0; i < REPLY_CALLS_MAX; i++)
		(void)reply_call(&reply, 100 + i, "");
	tool_read(&reply, true, &x, &complaint);
	ck_assert_ptr_nonnull(
		strstr(text_string(&complaint), "more than 16 calls at once"));
	text_free(&x.code);
	reply_free(&reply);
}
END_TEST

/* --- requests
 * --------------------------------------------------------------------------- */

static void add(struct chat *chat, enum role role, const char *text)
{
	chat_add(chat, role, text, strlen(text));
}

/* rules, a task, an answer beside two calls, one of them unreadable, what became of
 * them */
static void make_chat(struct chat *chat)
{
	struct reply reply = { 0 };
	unsigned int serial = 0;

	add(chat, ROLE_SYSTEM, "rules");
	add(chat, ROLE_USER, "a\"\xff\n");
	reply_begin(&reply);
	text_puts(&reply.text, "See.");
	add_call(&reply, "python", "{\"code\": \"1\"}");
	add_call(&reply, "", "{\"");
	reply_end(&reply, &serial);
	chat_add_reply(chat, &reply);
	chat_add_observation(chat, "It ran.", 7);
	reply_begin(&reply);
	chat_add_reply(chat, &reply);
	chat_add_observation(chat, "Empty.", 6);
	reply_free(&reply);
}

#define PYTHON                                                                           \
	"\"name\":\"python\",\"description\":\"Run Python code in the sandbox, as one "  \
	"step, and be told what it printed and how it ended.\""
#define ANSWER                                                                           \
	"\"name\":\"answer\",\"description\":\"Give the final answer, which ends the "   \
	"task. It may be code, which is not run. Call this alone.\""
#define TAKES(name, what)                                                                \
	"{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"string\","        \
	"\"description\":\"" what "\"}},\"required\":[\"" name                           \
	"\"],\"additionalProperties\":false}"
#define CODE TAKES("code", "The code to run.")
#define TEXT TAKES("text", "The answer as the user is to have it.")
#define CHAT_TOOL                                                                        \
	"\"tools\":[{\"type\":\"function\",\"function\":{" PYTHON                        \
	",\"parameters\":" CODE "}},{\"type\":\"function\",\"function\":{" ANSWER        \
	",\"parameters\":" TEXT "}}]"
#define MESSAGES_TOOL                                                                    \
	"\"tools\":[{" PYTHON ",\"input_schema\":" CODE "},{" ANSWER                     \
	",\"input_schema\":" TEXT "}]"

static const char chat_request[] =
	"{\"messages\":[{\"role\":\"system\",\"content\":\"rules\"},"
	"{\"role\":\"user\",\"content\":\"a\\\"\xef\xbf\xbd\\n\"},"
	"{\"role\":\"assistant\",\"content\":\"See.\",\"tool_calls\":["
	"{\"id\":\"stepjail_1\",\"type\":\"function\",\"function\":{\"name\":\"python\","
	"\"arguments\":\"{\\\"code\\\":\\\"1\\\"}\"}},"
	"{\"id\":\"stepjail_2\",\"type\":\"function\",\"function\":{\"name\":\"unnamed\","
	"\"arguments\":\"{\\\"unreadable\\\":\\\"{\\\\\\\"\\\"}\"}}]},"
	"{\"role\":\"tool\",\"content\":\"It ran.\",\"tool_call_id\":\"stepjail_1\"},"
	"{\"role\":\"tool\",\"content\":\"It was run together with the first call, as "
	"one "
	"step: see the result of that.\",\"tool_call_id\":\"stepjail_2\"},"
	"{\"role\":\"assistant\",\"content\":\"\"},"
	"{\"role\":\"user\",\"content\":\"Empty.\"}],"
	"\"model\":\"m\",\"stream\":true,\"stream_options\":{\"include_usage\":true},"
	"\"max_tokens\":7," CHAT_TOOL "}";

static const char messages_request[] =
	"{\"model\":\"m\",\"max_tokens\":7,\"stream\":true," MESSAGES_TOOL ","
	"\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
	"\"a\\\"\xef\xbf\xbd\\n\"}]},"
	"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"See.\"},"
	"{\"type\":\"tool_use\",\"id\":\"stepjail_1\",\"name\":\"python\",\"input\":"
	"{\"code\":\"1\"}},"
	"{\"type\":\"tool_use\",\"id\":\"stepjail_2\",\"name\":\"unnamed\",\"input\":"
	"{\"unreadable\":\"{\\\"\"}}]},"
	"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":"
	"\"stepjail_1\",\"content\":[{\"type\":\"text\",\"text\":\"It ran.\"}]},"
	"{\"type\":\"tool_result\",\"tool_use_id\":\"stepjail_2\",\"content\":["
	"{\"type\":\"text\",\"text\":\"It was run "
	"together with the first call, as one step: see the result of that.\"}]}]},"
	"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"(an empty "
	"reply)\"}]},"
	"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Empty.\"}]}],"
	"\"system\":\"rules\"}";

START_TEST(requests_are_json)
{
	const struct dialect *dialect = _i ? &anthropic_dialect : &openai_dialect;
	const char *wanted = _i ? messages_request : chat_request;
	struct chat chat = { 0 };
	cleanup_text struct text body = { 0 };
	struct err e = { 0 };
	const struct model_plan plan = { .model_name = "m", .tools = true };
	const struct model m = { .plan = &plan,
				 .base_url = (char[]){ "x" },
				 .reply_tokens = 7 };

	make_chat(&chat);
	ck_assert_int_eq(response_ask(dialect, &m, &chat, &body, &e), 0);

	/* "system" may stand anywhere in an object: where it does is no promise */
	cJSON *got = cJSON_Parse(text_string(&body));
	cJSON *want = cJSON_Parse(wanted);

	ck_assert_ptr_nonnull(want);
	ck_assert_msg(cJSON_Compare(got, want, true), "%s", text_string(&body));
	cJSON_Delete(got);
	cJSON_Delete(want);
	chat_free(&chat);
}
END_TEST

START_TEST(requests_without_options_say_nothing_of_them)
{
	struct chat chat = { 0 };
	const struct model_plan plan = { .model_name = "m" };
	struct model m = { .plan = &plan, .base_url = (char[]){ "x" } };
	cleanup_text struct text body = { 0 };
	struct err e = { 0 };

	add(&chat, ROLE_USER, "x");
	ck_assert_int_eq(response_ask(&openai_dialect, &m, &chat, &body, &e), 0);
	ck_assert_str_eq(text_string(&body),
			 "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],"
			 "\"model\":\"m\",\"stream\":true,\"stream_options\":{"
			 "\"include_usage\":true}}");
	text_clear(&body);
	m.base_url = (char[]){ "https://api.openai.com/v1" };
	m.reply_tokens = 9;
	ck_assert_int_eq(response_ask(&openai_dialect, &m, &chat, &body, &e), 0);
	ck_assert_ptr_nonnull(strstr(text_string(&body), "\"max_completion_tokens\":9"));
	text_clear(&body);
	m.reply_tokens = 0;
	ck_assert_int_eq(response_ask(&anthropic_dialect, &m, &chat, &body, &e), 0);
	ck_assert_ptr_nonnull(strstr(text_string(&body), "\"max_tokens\":8192"));
	chat_free(&chat);
}
END_TEST

/* --- old observations
 * ------------------------------------------------------------------- */

static void observe(struct chat *chat, int number, size_t bytes)
{
	cleanup_text struct text text = { 0 };

	add(chat, ROLE_ASSISTANT, "code");
	text_printf(&text, "Step %d: done.\n", number);
	for (size_t i = 0; i < bytes; i++)
		text_puts(&text, "x");
	chat_add_observation(chat, text_string(&text), text.length);
}

START_TEST(the_oldest_observations_go_first)
{
	struct chat chat = { 0 };
	struct gauge g = { 0 };
	struct compacted done;
	uint64_t before;

	add(&chat, ROLE_SYSTEM, "rules");
	for (int i = 1; i <= 4; i++)
		observe(&chat, i, i == 2 ? 10 : 3000);
	before = chat_bytes(&chat);
	ck_assert_uint_eq(compact_tokens(before, &g), before / 3 + 1);

	/* it fits */
	done = compact_chat(&chat, before, &g);
	ck_assert_uint_eq(done.observations, 0);
	/* the first is enough */
	done = compact_chat(&chat, before / 3 - 900, &g);
	ck_assert_uint_eq(done.observations, 1);
	ck_assert_str_eq(chat.list[2].text,
			 "Step 1: done.\n(The rest of this observation, 3001 bytes, is "
			 "left out to save room.)\n");
	ck_assert_uint_eq(chat_bytes(&chat), before - done.bytes);
	ck_assert_uint_eq(done.tokens, compact_tokens(chat_bytes(&chat), &g));
	/* never the last, nor what would not become shorter */
	done = compact_chat(&chat, 1, &g);
	ck_assert_uint_eq(done.observations, 1);
	ck_assert_str_eq(chat.list[4].text, "Step 2: done.\nxxxxxxxxxx");
	ck_assert_uint_gt(strlen(chat.list[8].text), 3000);
	done = compact_chat(&chat, 1, &g);
	ck_assert_uint_eq(done.observations, 0);
	ck_assert_str_eq(chat.list[0].text, "rules");
	ck_assert_str_eq(chat.list[1].text, "code");
	chat_free(&chat);
}
END_TEST

START_TEST(tokens_are_judged_by_the_last_request)
{
	ck_assert_uint_eq(compact_tokens(300, &(struct gauge){ 0 }), 101);
	ck_assert_uint_eq(compact_tokens(300, &(struct gauge){ 400, 100 }), 76);
	ck_assert_uint_eq(compact_tokens(300, &(struct gauge){ 100, 200 }), 601);
	ck_assert_uint_eq(compact_tokens(1ULL << 43, &(struct gauge){ 1, 1ULL << 43 }),
			  1000000000000000000);
}
END_TEST

Suite *agent_tool_suite(void)
{
	Suite *s = suite_create("agent tool");
	TCase *c = tcase_create("tool");

	tcase_add_loop_test(c, calls_are_read, 0, ROWS(calls));
	tcase_add_test(c, several_calls_are_one_step);
	tcase_add_loop_test(c, a_call_may_be_the_answer, 0, ROWS(answers));
	tcase_add_test(c, too_much_code_is_refused);
	tcase_add_loop_test(c, requests_are_json, 0, 2);
	tcase_add_test(c, requests_without_options_say_nothing_of_them);
	tcase_add_test(c, the_oldest_observations_go_first);
	tcase_add_test(c, tokens_are_judged_by_the_last_request);
	suite_add_tcase(s, c);
	return s;
}
