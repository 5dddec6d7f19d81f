/* SPDX-License-Identifier: MIT */
/*
 * test_agent_words.c - verdicts, reports and answers, in words
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/session/report.h"
#include "agent/session/verdict.h"
#include "init/io.h"
#include "tests/unit/suites.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

/* the list of DESIGN.md section 4 */
static const char *const names[] = {
	"completed",   "exception", "exited",         "signaled", "wall-timeout",
	"cpu-timeout", "memory",    "pids",           "disk",     "file-locks",
	"violation",   "cancelled", "launcher-error",
};

START_TEST(every_verdict_has_a_name_and_words)
{
	enum verdict v;
	struct text words = { 0 };

	ck_assert_int_eq(ROWS(names), VERDICT_COUNT);
	ck_assert(verdict_find(names[_i], &v));
	ck_assert_str_eq(verdict_name(v), names[_i]);
	verdict_words(&(struct verdict_facts){ .verdict = v, .limit_ms = 1000 }, &words);
	ck_assert_uint_gt(words.length, 10);
	ck_assert_ptr_null(strpbrk(words.bytes, "{}\n"));
	text_free(&words);
}
END_TEST

START_TEST(unknown_verdicts_are_none)
{
	enum verdict v;

	ck_assert(!verdict_find("", &v));
	ck_assert(!verdict_find("Completed", &v));
}
END_TEST

static const struct {
	struct verdict_facts f;
	const char *words;
} sentences[] = {
	{ { .verdict = VERDICT_COMPLETED }, "the code ran to its end." },
	{ { .verdict = VERDICT_WALL_TIMEOUT,
	    .state = STATE_ROLLED_BACK,
	    .limit_ms = 60000 },
	  "the step was killed after 60 s (wall-clock limit); it was rolled back: all "
	  "variables are as they were before this step; files that it wrote are "
	  "kept." },
	{ { .verdict = VERDICT_EXITED, .state = STATE_ROLLED_BACK, .code = 3 },
	  "the code ended its process with exit status 3; it was rolled back: all "
	  "variables are as they were before this step; files that it wrote are "
	  "kept." },
	{ { .verdict = VERDICT_EXCEPTION,
	    .state = STATE_ROLLED_BACK,
	    .shared = { true, true } },
	  "the code raised an exception; it was rolled back: all variables are as they "
	  "were before this step; files that it wrote are kept; what it wrote to shared "
	  "memory (mmap) is not undone; positions in open files are where it left "
	  "them." },
	{ { .verdict = VERDICT_COMPLETED, .state = STATE_KEPT, .shared = { true, true } },
	  "the code ran to its end." },
	{ { .verdict = VERDICT_COMPLETED, .state = STATE_UNKEPT },
	  "the code ran to its end." },
	{ { .verdict = VERDICT_EXCEPTION, .state = STATE_UNKEPT },
	  "the code raised an exception; the next step begins in a fresh sandbox." },
	{ { .verdict = VERDICT_LAUNCHER_ERROR, .reason = "no pids" },
	  "the sandbox itself failed, through no fault of the code ('no pids'); all "
	  "variables are kept." },
	{ { .verdict = VERDICT_PIDS, .soft = true },
	  "the step failed: it started more processes or threads than it may; all "
	  "variables are kept." },
	{ { .verdict = VERDICT_WALL_TIMEOUT, .soft = true, .limit_ms = 1500 },
	  "the step was interrupted after 1.5 s (wall-clock limit); all variables are "
	  "kept." },
	{ { .verdict = VERDICT_WALL_TIMEOUT,
	    .limit_ms = 2000,
	    .limit = "--step-time 2s" },
	  "the step was killed after 2 s (wall-clock limit: --step-time 2s); all "
	  "variables are kept." },
	{ { .verdict = VERDICT_MEMORY, .limit = "--memory 512M" },
	  "the step was killed: it used more memory than it may (--memory 512M); work on "
	  "less data at a time; all variables are kept." },
	{ { .verdict = VERDICT_EXCEPTION, .limit = "perhaps the limit --memory 64M" },
	  "the code raised an exception (perhaps the limit --memory 64M); all variables "
	  "are kept." },
	{ { .verdict = VERDICT_EXITED, .code = 1, .limit = "--work-size 1M" },
	  "the code ended its process with exit status 1 (--work-size 1M); all variables "
	  "are kept." },
	{ { .verdict = VERDICT_EXITED, .code = 3 },
	  "the code ended its process with exit status 3; all variables are kept." },
	{ { .verdict = VERDICT_VIOLATION, .state = STATE_LOST, .syscall = "ptrace" },
	  "the step was killed: it tried a system call that is forbidden here (ptrace); "
	  "find "
	  "another way; the whole sandbox was restarted: all variables are lost, and so "
	  "are "
	  "the files written to /work and /tmp; the files in /work/in are there again." },
};

START_TEST(sentences_say_what_was_lost)
{
	struct text words = { 0 };

	verdict_words(&sentences[_i].f, &words);
	ck_assert_str_eq(text_string(&words), sentences[_i].words);
	text_free(&words);
}
END_TEST

static const struct {
	const char *json;
	bool good;
	enum verdict verdict;
	int code, signal;
	const char *syscall;
} reports[] = {
	{ "{\"verdict\":\"memory\",\"exit_code\":null,\"signal\":9,\"violation\":null}",
	  true, VERDICT_MEMORY, -1, 9, "" },
	{ "{\"verdict\":\"exited\",\"exit_code\":7}", true, VERDICT_EXITED, 7, 0, "" },
	{ "{\"verdict\":\"violation\",\"violation\":\"ptrace\"}", true, VERDICT_VIOLATION,
	  -1, 0, "ptrace" },
	{ "{\"verdict\":\"violation\",\"violation\":{\"syscall\":\"bpf\"}}", true,
	  VERDICT_VIOLATION, -1, 0, "" },
	{ "{\"verdict\":\"violation\",\"violation\":\"no; do as I say\"}", true,
	  VERDICT_VIOLATION, -1, 0, "" },
	{ "{\"verdict\":\"exited\",\"exit_code\":1e99,\"signal\":-1}", true,
	  VERDICT_EXITED, -1, 0, "" },
	{ "{\"verdict\":\"great\"}", false, VERDICT_COMPLETED, 0, 0, "" },
	{ "{\"verdict\":7}", false, VERDICT_COMPLETED, 0, 0, "" },
	{ "{}", false, VERDICT_COMPLETED, 0, 0, "" },
	{ "[", false, VERDICT_COMPLETED, 0, 0, "" },
	{ "", false, VERDICT_COMPLETED, 0, 0, "" },
};

START_TEST(reports_are_read)
{
	struct step *step = calloc(1, sizeof(*step));
	cJSON *root = json_parse(reports[_i].json, strlen(reports[_i].json));

	ck_assert_ptr_nonnull(step);
	if (cJSON_IsObject(root))
		(void)cJSON_AddStringToObject(root, "state", "kept");
	ck_assert(report_step(root, step) == reports[_i].good);
	cJSON_Delete(root);
	ck_assert_int_eq(step->facts.verdict, reports[_i].verdict);
	ck_assert_int_eq(step->facts.code, reports[_i].code);
	ck_assert_int_eq(step->facts.signal, reports[_i].signal);
	ck_assert_str_eq(step->facts.syscall, reports[_i].syscall);
	free(step);
}
END_TEST

static const struct {
	const char *json;
	bool good;
	enum verdict verdict;
	enum state state;
	int head; /* -1: not told */
	unsigned int strays;
	const char *reason;
} dones[] = {
	{ "{\"verdict\":\"completed\",\"state\":\"kept\",\"state_number\":4,\"strays\":"
	  "2}",
	  true, VERDICT_COMPLETED, STATE_KEPT, 4, 2, "" },
	{ "{\"verdict\":\"signaled\",\"state\":\"rolled-back\",\"signal\":11,\"state_"
	  "number\":3}",
	  true, VERDICT_SIGNALED, STATE_ROLLED_BACK, 3, 0, "" },
	{ "{\"verdict\":\"memory\",\"state\":\"lost\",\"reason\":\"a\\u001bb\\u00e9\"}",
	  true, VERDICT_MEMORY, STATE_LOST, -1, 0, "a\\x1bb??" },
	{ "{\"verdict\":\"memory\",\"state\":\"lost\",\"reason\":7,\"strays\":-1}", true,
	  VERDICT_MEMORY, STATE_LOST, -1, 0, "" },
	{ "{\"verdict\":\"memory\",\"state\":\"kept\",\"strays\":1e400}", true,
	  VERDICT_MEMORY, STATE_KEPT, -1, INT32_MAX, "" },
	{ "{\"verdict\":\"completed\"}", false, 0, 0, -1, 0, "" },
	{ "{\"verdict\":\"completed\",\"state\":\"not-kept\"}", false, 0, 0, -1, 0, "" },
	{ "{\"verdict\":\"completed\",\"state\":7}", false, 0, 0, -1, 0, "" },
	{ "{\"verdict\":\"fine\",\"state\":\"kept\"}", false, 0, 0, -1, 0, "" },
	{ "[]", false, 0, 0, -1, 0, "" },
	{ "", false, 0, 0, -1, 0, "" },
};

START_TEST(what_does_not_go_back_is_read)
{
	static const char *const jsons[] = {
		"{\"verdict\":\"memory\",\"state\":\"rolled-back\",\"not_rolled_back\":"
		"[7,\"file-offsets\",\"else\",null]}",
		"{\"verdict\":\"memory\",\"state\":\"rolled-back\",\"not_rolled_back\":"
		"\"shared-memory\"}",
	};
	struct step *step = calloc(1, sizeof(*step));

	for (int i = 0; i < 2; i++) {
		cJSON *root = json_parse(jsons[i], strlen(jsons[i]));

		ck_assert(report_step(root, step));
		cJSON_Delete(root);
		ck_assert(!step->facts.shared[SHARED_MEMORY]);
		ck_assert(step->facts.shared[SHARED_OFFSETS] == (i == 0));
	}
	free(step);
}
END_TEST

START_TEST(refused_calls_have_a_line)
{
	static const struct {
		const char *list, *line;
		bool killed;
	} rows[] = {
		{ "[{\"syscall\":\"execve\",\"count\":2,\"violation\":true}]",
		  "refused: execve x2 (--lock-code=no allows it)", false },
		{ "[{\"syscall\":\"bpf\",\"count\":1,\"violation\":true},"
		  "{\"syscall\":\"open\",\"count\":1,\"violation\":false},"
		  "{\"syscall\":\"mmap\",\"count\":3,\"violation\":true}]",
		  "refused: bpf x1, mmap x3 (stepjail run --learn says whether a policy may allow it)",
		  false },
		{ "[{\"syscall\":7,\"count\":1,\"violation\":true}]",
		  "killed: --on-violation kill: unknown x1", true },
		{ "[{\"syscall\":\"a\\u001b[m\",\"count\":1,\"violation\":true}]",
		  "refused: unknown x1 (stepjail run --learn says whether a policy may allow it)",
		  false },
		{ "[]", "", false },
		{ "7", "", false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct text line = { 0 }, json = { 0 };
		cJSON *v;

		text_printf(&json, "{\"list\":%s}", rows[i].list);
		v = json_parse(json.bytes, json.length);
		ck_assert(report_refused(v, rows[i].killed, &line) == !!*rows[i].line);
		ck_assert_str_eq(text_string(&line), rows[i].line);
		cJSON_Delete(v);
		text_free(&line);
		text_free(&json);
	}
}
END_TEST

START_TEST(a_line_of_refused_calls_is_bounded)
{
	struct text list = { 0 }, line = { 0 };
	cJSON *v;

	text_puts(&list, "{\"list\":[7");
	for (int i = 0; i < 40; i++)
		text_puts(&list, ",{\"syscall\":\"bpf\",\"count\":1,\"violation\":true}");
	text_puts(&list, "]}");
	v = json_parse(list.bytes, list.length);
	ck_assert(report_refused(v, false, &line));
	ck_assert_ptr_nonnull(strstr(text_string(&line), " and 32 more (stepjail run"));
	cJSON_Delete(v);
	text_free(&list);
	text_free(&line);
}
END_TEST

START_TEST(dones_are_read)
{
	struct step *step = calloc(1, sizeof(*step));
	cJSON *root = json_parse(dones[_i].json, strlen(dones[_i].json));

	step->facts = (struct verdict_facts){ .limit_ms = 5, .code = 9 };
	ck_assert(report_step(root, step) == dones[_i].good);
	cJSON_Delete(root);
	ck_assert_uint_eq(step->facts.limit_ms, 5);
	if (dones[_i].good) {
		ck_assert_int_eq(step->facts.verdict, dones[_i].verdict);
		ck_assert_int_eq(step->facts.state, dones[_i].state);
		ck_assert_int_eq(step->facts.code, -1);
		ck_assert_int_eq(step->facts.soft, dones[_i].state == STATE_KEPT);
		ck_assert_int_eq(step->facts.headed ? (int)step->facts.head : -1,
				 dones[_i].head);
		ck_assert_str_eq(step->facts.reason, dones[_i].reason);
		ck_assert_uint_eq(step->strays, dones[_i].strays);
	} else {
		ck_assert_int_eq(step->facts.code, 9);
	}
	free(step);
}
END_TEST

static const char *words_of(const char *json)
{
	static char words[32];
	cJSON *root = json_parse(json, strlen(json));

	report_words(root, words, sizeof(words));
	cJSON_Delete(root);
	return words;
}

START_TEST(words_of_a_refusal_are_bounded)
{
	char json[600] = "{\"error\":\"";

	ck_assert_str_eq(words_of("{\"reason\":\"init died\"}"), "init died");
	ck_assert_str_eq(words_of("{\"error\":[]}"), "");
	ck_assert_str_eq(
		words_of("{\"kind\":\"file\",\"error\":\"GET: Is a directory\"}"),
		"Is a directory");
	ck_assert_str_eq(words_of("{\"kind\":\"busy\",\"error\":\"GET: wait\"}"),
			 "GET: wait");
	memset(json + 10, '\t', 500);
	memcpy(json + 510, "\"}", 3);
	ck_assert_uint_eq(strlen(words_of(json)), 31);
}
END_TEST

static const struct {
	const char *json;
	bool says;
} refusals[] = {
	{ "{\"kind\":\"no-step\",\"frame\":\"KILL\"}", true },
	{ "{\"kind\":\"no-state\"}", false },
	{ "{\"kind\":[\"no-step\"]}", false },
	{ "{\"frame\":\"no-step\"}", false },
	{ "7", false },
	{ "{", false },
};

START_TEST(kind_of_refusal_is_seen)
{
	cJSON *root = json_parse(refusals[_i].json, strlen(refusals[_i].json));

	ck_assert(report_says(root, "kind", "no-step") == refusals[_i].says);
	cJSON_Delete(root);
}
END_TEST

static const struct {
	const char *name;
	const char *shown;
} quoted[] = {
	{ "", "''" },
	{ "a b", "'a b'" },
	{ "a': it is there\nb", "\"a': it is there\\nb\"" },
	{ "a \"b\"", "'a \"b\"'" },
	{ "a'\"b", "'a\\x27\"b'" },
	{ "<|im_start|>", "'\\x3c|im_start|>'" },
	{ "\x1b[2J\xff\xe2\x80\xae", "'\\x1b[2J\\xff\\u202e'" },
};

START_TEST(a_name_stays_in_its_quotes)
{
	cleanup_text struct text out = { 0 };
	char longer[ESCAPE_NAME_MAX + 2];

	escape_name(&out, quoted[_i].name, strlen(quoted[_i].name));
	ck_assert_str_eq(text_string(&out), quoted[_i].shown);
	(void)memset(longer, 'x', sizeof(longer));
	text_clear(&out);
	escape_name(&out, longer, sizeof(longer));
	ck_assert_uint_eq(out.length, ESCAPE_NAME_MAX + strlen("'...'"));
}
END_TEST

Suite *agent_words_suite(void)
{
	Suite *s = suite_create("agent words");
	TCase *c = tcase_create("words");

	tcase_add_loop_test(c, every_verdict_has_a_name_and_words, 0, ROWS(names));
	tcase_add_loop_test(c, a_name_stays_in_its_quotes, 0, ROWS(quoted));
	tcase_add_test(c, unknown_verdicts_are_none);
	tcase_add_loop_test(c, sentences_say_what_was_lost, 0, ROWS(sentences));
	tcase_add_loop_test(c, reports_are_read, 0, ROWS(reports));
	tcase_add_loop_test(c, dones_are_read, 0, ROWS(dones));
	tcase_add_test(c, what_does_not_go_back_is_read);
	tcase_add_test(c, a_line_of_refused_calls_is_bounded);
	tcase_add_test(c, refused_calls_have_a_line);
	tcase_add_test(c, words_of_a_refusal_are_bounded);
	tcase_add_loop_test(c, kind_of_refusal_is_seen, 0, ROWS(refusals));
	suite_add_tcase(s, c);
	return s;
}
