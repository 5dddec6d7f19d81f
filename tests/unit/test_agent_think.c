/* SPDX-License-Identifier: MIT */
/*
 * test_agent_think.c - a model's thinking: what of a reply it is, and what is left
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "agent/model/extract.h"
#include "agent/model/think.h"
#include "tests/unit/suites.h"

#define F "```"
#define FINAL F "python\nfinal\n" F "\n"
#define DRAFT F "python\ndraft\n" F "\n"

static const struct {
	const char *name;
	const char *reply;
	const char *left;
	const char *code; /* that would run; NULL: none */
} rows[] = {
	{ "none", "Hi.\n" FINAL, "Hi.\n" FINAL, "final\n" },
	{ "before the code", "<think>\n" DRAFT "</think>\n\n" FINAL, FINAL, "final\n" },
	{ "before an answer", "<think>\n" DRAFT "</think>\n\nIt is 42.", "It is 42.",
	  NULL },
	{ "thinking, in capitals", "<Thinking>" DRAFT "</THINKING>" FINAL, FINAL,
	  "final\n" },
	{ "reasoning", "<reasoning>\n" DRAFT "</reasoning>\n" FINAL, FINAL, "final\n" },
	{ "empty", "<think>\n\n</think>\n\nIt is 42.", "It is 42.", NULL },
	{ "between", "Hi.\n<think>x</think>\n" FINAL, "Hi.\n\n" FINAL, "final\n" },
	{ "in a line", "So <think>x</think>it is 42.", "So \nit is 42.", NULL },
	{ "twice", "<think>" DRAFT "</think>A<think>" DRAFT "</think>B", "A\nB", NULL },
	{ "twice, and code", "<think>a</think>\n" FINAL "<think>\n" DRAFT "</think>\n",
	  FINAL "\n", "final\n" },
	{ "without an end", "<think>\nHm.\n" DRAFT, "", NULL },
	{ "without an end, behind words", "Hm.\n<think>\n" DRAFT, "Hm.\n", NULL },
	{ "without an end, behind code", FINAL "<think>\n" DRAFT, FINAL, "final\n" },
	{ "ended by another name", "<think>\n" DRAFT "</thinking>\n" FINAL, "", NULL },
	{ "a closing tag alone", "Hm.\n" DRAFT "</think>\n" FINAL, FINAL, "final\n" },
	{ "one alone in a line", "Hm. " F "x" F "</think>42", "42", NULL },
	{ "one alone, twice", DRAFT "</think>\n" DRAFT "</think>\n" FINAL, FINAL,
	  "final\n" },
	{ "nested", "<think>a<think>b</think>\n" DRAFT "</think>\n" FINAL, FINAL,
	  "final\n" },
	{ "a draft without an end", "<think>\n" F "python\ndraft\n</think>\n" FINAL,
	  FINAL, "final\n" },
	{ "a draft without an end, alone", F "python\ndraft\n</think>\n" FINAL, FINAL,
	  "final\n" },
	{ "that, in tags", "<execute_python>\ndraft\n</think>\n" FINAL, FINAL,
	  "final\n" },
	{ "that, with an open string", F "python\ns = '''\n</think>\n" FINAL, FINAL,
	  "final\n" },
	{ "a tag in a draft's string",
	  "<think>\n" F "python\ns = '</think>'\ndraft\n" F "\n</think>\n" FINAL, FINAL,
	  "final\n" },
	{ "a tag in a string is code", F "python\ns = '<think>'\n" F "\n",
	  F "python\ns = '<think>'\n" F "\n", "s = '<think>'\n" },
	{ "both in a string are code",
	  F "python\ns = '''\n<think>\nx\n</think>\n'''\n" F "\n",
	  F "python\ns = '''\n<think>\nx\n</think>\n'''\n" F "\n",
	  "s = '''\n<think>\nx\n</think>\n'''\n" },
	{ "a closing one in a string alone: in doubt, so it is thinking",
	  F "python\ndraft = '''\n</think>\n'''\n" F "\n", "'''\n" F "\n", "" },
	{ "in the middle of a line of code", F "python\nx # </think>\n" F "\n",
	  F "python\nx # </think>\n" F "\n", "x # </think>\n" },
	{ "an example", F "xml\n<think>\n</think>\n</think>\n" F "\n",
	  F "xml\n<think>\n</think>\n</think>\n" F "\n", NULL },
	{ "an example behind code", FINAL F "xml\n</think>\n" F "\n",
	  FINAL F "xml\n</think>\n" F "\n", "final\n" },
	{ "a word about it", "Use `<think>` and `</think>`.\n" FINAL,
	  "Use `<think>` and `</think>`.\n" FINAL, "final\n" },
	{ "no tag", "a < b, <thinker>, < think>, <think\n",
	  "a < b, <thinker>, < think>, <think\n", NULL },
	{ "halves make no fence", "`<think>x</think>``python\nx\n" F "\n",
	  "`\n``python\nx\n" F "\n", NULL },
	{ "an end alone", "</think>", "", NULL },
	{ "CRLF", "<think>\r\n" DRAFT "</think>\r\n\r\nIt is 42.\r\n", "It is 42.\r\n",
	  NULL },
};

START_TEST(thinking_is_taken_out)
{
	struct reply reply = { 0 };
	struct extract x;
	struct err e = { 0 };

	reply_begin(&reply);
	text_puts(&reply.reasoning, "before\n");
	text_puts(&reply.text, rows[_i].reply);
	ck_assert_int_eq(think_split(&reply, &e), 0);
	ck_assert_msg(strcmp(text_string(&reply.text), rows[_i].left) == 0, "%s: '%s'",
		      rows[_i].name, text_string(&reply.text));
	ck_assert_int_eq(strncmp(text_string(&reply.reasoning), "before\n", 7), 0);
	ck_assert(!strstr(rows[_i].reply, DRAFT) ==
		  !strstr(text_string(&reply.reasoning), DRAFT));
	extract_code(text_string(&reply.text), reply.text.length, &x, NULL);
	if (rows[_i].code)
		ck_assert_str_eq(text_string(&x.code), rows[_i].code);
	else
		ck_assert_msg(x.kind != EXTRACT_CODE, "%s: %s", rows[_i].name,
			      text_string(&x.code));
	text_free(&x.code);
	reply_free(&reply);
}
END_TEST

/* NULs and half characters stay what they are */
START_TEST(bytes_are_kept)
{
	static const char said[] = "a\0<think>\xff\0</think>\0\xe2\x82";
	struct reply reply = { 0 };
	struct err e = { 0 };

	reply_begin(&reply);
	text_add(&reply.text, said, sizeof(said) - 1);
	ck_assert_int_eq(think_split(&reply, &e), 0);
	ck_assert_uint_eq(reply.text.length, 6);
	ck_assert_mem_eq(reply.text.bytes, "a\0\n\0\xe2\x82", 6);
	ck_assert_uint_eq(reply.reasoning.length, 3);
	ck_assert_mem_eq(reply.reasoning.bytes, "\xff\0\n", 3);
	reply_free(&reply);
}
END_TEST

START_TEST(thinking_is_bounded)
{
	struct reply reply = { 0 };
	struct err e = { 0 };

	reply_begin(&reply);
	text_puts(&reply.text, "<think>");
	while (reply.text.length < REPLY_TEXT_MAX / 2)
		text_puts(&reply.text, "0123456789012345678901234567890123456789");
	text_add(&reply.reasoning, reply.text.bytes, reply.text.length);
	text_add(&reply.reasoning, reply.text.bytes, 1000);
	ck_assert_int_eq(think_split(&reply, &e), -E2BIG);
	ck_assert_ptr_nonnull(strstr(e.text, "the model's reasoning: longer than"));
	reply_free(&reply);
}
END_TEST

/* what a hostile model would send to keep the agent busy: all of it linear */
static const char *const floods[] = {
	"<think></think>",
	"<think></think>\n",
	"</think>",
	"</think>\n",
	"<think>",
	"`<think>`",
	"`<think>`</think>",
	F "python\n</think>\n",
	F "python\n'''\n</think>\n" F "\n",
	F "\n</think>\n",
	"<execute_python></think>\n",
	"<execute_python>\n</think>\n",
	"<execute_python>",
	"<think></think>" F "x",
	"<think></think>~~~x",
	"<",
	"</",
	"<thinking><think></think>",
};

static uint64_t cpu_ns(void)
{
	struct timespec now;

	ck_assert_int_eq(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* the processor time of a flood of so many bytes, the least of three */
static uint64_t flood_ns(const char *piece, size_t bytes)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		struct reply reply = { 0 };
		struct err e;

		reply_begin(&reply);
		while (reply.text.length < bytes)
			text_puts(&reply.text, piece);

		uint64_t start = cpu_ns();

		ck_assert_int_eq(think_split(&reply, &e), 0);

		uint64_t took = cpu_ns() - start;

		least = took < least ? took : least;
		reply_free(&reply);
	}
	return least;
}

/* eight times the bytes are eight times the work, and of squares 64 times */
START_TEST(thinking_takes_linear_time)
{
	uint64_t little = flood_ns(floods[_i], 250000);
	uint64_t much = flood_ns(floods[_i], 2000000);

#ifdef __SANITIZE_ADDRESS__
	little = much; /* its memmem(3) looks at all of the rest each time */
#endif
	ck_assert_msg(much < 24 * little, "flood %d: %" PRIu64 " and %" PRIu64 " ns", _i,
		      little, much);
}
END_TEST

Suite *agent_think_suite(void)
{
	Suite *s = suite_create("agent think");
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 60);
	tcase_add_loop_test(c, thinking_is_taken_out, 0, (int)COUNT(rows));
	tcase_add_test(c, bytes_are_kept);
	tcase_add_test(c, thinking_is_bounded);
	tcase_add_loop_test(c, thinking_takes_linear_time, 0, (int)COUNT(floods));
	suite_add_tcase(s, c);
	return s;
}
