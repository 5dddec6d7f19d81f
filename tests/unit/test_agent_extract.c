/* SPDX-License-Identifier: MIT */
/*
 * test_agent_extract.c - the code in a model's reply: the rules of extract.h, one by one
 */
#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/model/extract.h"
#include "agent/model/fence.h"

Suite *agent_extract_suite(void);

#define F "```"

#define CODE(code, blocks) EXTRACT_CODE, code, blocks, false, false
#define OPEN(code) EXTRACT_CODE, code, 1, true, false
#define MADE_UP(code) EXTRACT_CODE, code, 1, false, true
#define NONE(kind) kind, NULL, 0, false, false

static const struct {
	const char *name;
	const char *reply;
	enum extract_kind kind;
	const char *code;
	size_t blocks;
	bool open, imitated;
} rows[] = {
	{ "python fence", "Hi.\n" F "python\nx = 1\n" F "\nBye.", CODE("x = 1\n", 1) },
	{ "py", F "py\nx\n" F, CODE("x\n", 1) },
	{ "Python3", F "Python3\nx\n" F, CODE("x\n", 1) },
	{ "python3.11", F "python3.11\nx\n" F, CODE("x\n", 1) },
	{ "space before the word", F " python\nx\n" F, CODE("x\n", 1) },
	{ "words behind it", F "python title=\"a.py\"\nx\n" F, CODE("x\n", 1) },
	{ "in braces", F "{.python}\nx\n" F, CODE("x\n", 1) },
	{ "plain fence", F "\nx\n" F, CODE("x\n", 1) },
	{ "plain beside python is no code", F "\nplain\n" F "\n" F "python\nx\n" F,
	  CODE("x\n", 1) },
	{ "tags", "<execute_python>\nx = 1\n</execute_python>", CODE("x = 1\n", 1) },
	{ "tags on one line", "<execute_python>print(1)</execute_python>",
	  CODE("print(1)\n", 1) },
	{ "tags around a fence",
	  "<execute_python>\n" F "python\nx\n" F "\n</execute_python>", CODE("x\n", 1) },
	{ "tag in a sentence", "Use <execute_python> for code.", NONE(EXTRACT_ANSWER) },
	{ "tag in a fence", F "python\ns = '''\n<execute_python>\n'''\n" F,
	  CODE("s = '''\n<execute_python>\n'''\n", 1) },
	{ "tags without an end", "<execute_python>\nx", OPEN("x\n") },
	{ "two blocks, joined in order", F "python\na\n" F "\nthen\n" F "python\nb\n" F,
	  CODE("a\nb\n", 2) },
	{ "tag and fence, joined", "<execute_python>a</execute_python>\n" F "py\nb\n" F,
	  CODE("a\nb\n", 2) },
	{ "made-up output ends it",
	  F "python\na\n" F "\nOutput:\n" F "\n42\n" F "\n" F "python\nb\n" F,
	  MADE_UP("a\n") },
	{ "made-up output in bold", F "python\na\n" F "\n**Output:** 42\n" F "py\nb\n" F,
	  MADE_UP("a\n") },
	{ "Output: before any block is prose", "Output: is what I need.\n" F "py\na\n" F,
	  CODE("a\n", 1) },
	{ "a fence in a string does not end it",
	  F "python\ns = '''\n" F "\ninner\n" F "\n'''\nprint(s)\n" F "\nBye.",
	  CODE("s = '''\n" F "\ninner\n" F "\n'''\nprint(s)\n", 1) },
	{ "nor one with a word, between double quotes",
	  F "python\ns = \"\"\"Use:\n" F "python\nit's\n" F "\nend\"\"\"\nprint(s)\n" F
	    "\nBye.",
	  CODE("s = \"\"\"Use:\n" F "python\nit's\n" F "\nend\"\"\"\nprint(s)\n", 1) },
	{ "nor in a docstring of a plain block, nor quotes of the other kind",
	  F "\ndef f():\n    r\"\"\"'''\n    " F "\n    \"\"\"\n" F "\nBye.",
	  CODE("def f():\n    r\"\"\"'''\n    " F "\n    \"\"\"\n", 1) },
	{ "nor in the first of two blocks",
	  F "python\na = '''\n" F "\n'''\n" F "\nthen\n" F "python\nb = '''c'''\n" F,
	  CODE("a = '''\n" F "\n'''\nb = '''c'''\n", 2) },
	{ "a string without an end does, also where another block follows",
	  F "python\na = '''b\n" F "\nthen\n" F "python\nb = '''c'''\n" F,
	  CODE("a = '''b\nb = '''c'''\n", 2) },
	{ "quotes in a block of another language are none of Python's",
	  F "json\n{\"a\": \"\"\"\n" F "\n" F "python\nx = 1\n" F, CODE("x = 1\n", 1) },
	{ "tildes in a string", "~~~python\ns = '''\n~~~\n'''\n~~~",
	  CODE("s = '''\n~~~\n'''\n", 1) },
	{ "a fence in a string, in a longer one",
	  F "`python\ns = '''\n" F "\ninner\n" F "\n'''\nprint(s)\n" F "`\nBye.",
	  CODE("s = '''\n" F "\ninner\n" F "\n'''\nprint(s)\n", 1) },
	{ "fence in the middle of a line", F "python\ns = '" F "'\nx\n" F,
	  CODE("s = '" F "'\nx\n", 1) },
	{ "quotes in a comment", F "python\nx # it's '''\n" F "\nBye",
	  CODE("x # it's '''\n", 1) },
	{ "unbalanced quotes: first end it is", F "python\nx = '''oops\n" F "\nBye it's.",
	  CODE("x = '''oops\n", 1) },
	{ "longer fence holds a shorter one", F "`python\na\n" F "\nb\n" F "`",
	  CODE("a\n" F "\nb\n", 1) },
	{ "tildes", "~~~python\nx\n~~~", CODE("x\n", 1) },
	{ "backticks do not end tildes", "~~~python\nx\n" F "\ny\n~~~",
	  CODE("x\n" F "\ny\n", 1) },
	{ "end with words is no end", F "python\nx\n" F " y\nz\n" F,
	  CODE("x\n" F " y\nz\n", 1) },
	{ "no end", F "python\nx = 1\ny =", OPEN("x = 1\ny =\n") },
	{ "end on the last line of code", F "python\nprint(1)" F, CODE("print(1)\n", 1) },
	{ "CRLF", F "python\r\nx = 1\r\nif x:\r\n    y\r\n" F "\r\n",
	  CODE("x = 1\nif x:\n    y\n", 1) },
	{ "indented", "   " F "python\n   if x:\n       y\n   " F,
	  CODE("if x:\n    y\n", 1) },
	{ "in a list", "1. First:\n   " F "python\n   x\n   " F "\n2. Then",
	  CODE("x\n", 1) },
	{ "behind a bullet", "- " F "python\n  x\n  " F, CODE("x\n", 1) },
	{ "behind a number", "12) " F "python\n    if x:\n        y\n    " F,
	  CODE("if x:\n    y\n", 1) },
	{ "less indented code is kept", "    " F "python\n  x\n    " F, CODE("x\n", 1) },
	{ "bash is not run", F "bash\nls\n" F, NONE(EXTRACT_SHELL) },
	{ "bash beside python", F "bash\nls\n" F "\n" F "python\nx\n" F, CODE("x\n", 1) },
	{ "json is an answer", F "json\n{}\n" F, NONE(EXTRACT_ANSWER) },
	{ "pythonic is not python", F "pythonista\nx\n" F, NONE(EXTRACT_ANSWER) },
	{ "python fence in a json one", F "json\n{}\n" F "\n" F "python\nx\n" F,
	  CODE("x\n", 1) },
	{ "no code", "The answer is 42.", NONE(EXTRACT_ANSWER) },
	{ "code in a sentence", "Use `x = 1` or " F "x" F ".", NONE(EXTRACT_ANSWER) },
	{ "fence on one line", F "print(1)" F, NONE(EXTRACT_ANSWER) },
	{ "two backticks", "``\nx\n``", NONE(EXTRACT_ANSWER) },
	{ "nothing", "", NONE(EXTRACT_SILENCE) },
	{ "white space", " \r\n\t\n", NONE(EXTRACT_SILENCE) },
	{ "empty block", F "python\n" F, NONE(EXTRACT_EMPTY) },
	{ "blank block", F "python\n\n   \n" F, NONE(EXTRACT_EMPTY) },
	{ "empty tags", "<execute_python></execute_python>", NONE(EXTRACT_EMPTY) },
	{ "fence alone", F "python", NONE(EXTRACT_EMPTY) },
	{ "broken UTF-8 in the code", F "python\nx = '\xff'\n" F,
	  NONE(EXTRACT_NOT_TEXT) },
	{ "broken UTF-8 beside the code", "\xff\n" F "python\nx\n" F, CODE("x\n", 1) },
	{ "UTF-8 in the code", F "python\ns = '\xc3\xa9'\n" F,
	  CODE("s = '\xc3\xa9'\n", 1) },
};

START_TEST(extract_follows_the_rules)
{
	struct extract x;

	extract_code(rows[_i].reply, strlen(rows[_i].reply), &x, NULL);
	ck_assert_msg(x.kind == rows[_i].kind, "%s: kind %d", rows[_i].name, (int)x.kind);
	if (rows[_i].code) {
		ck_assert_msg(strcmp(text_string(&x.code), rows[_i].code) == 0,
			      "%s: '%s'", rows[_i].name, text_string(&x.code));
		ck_assert_msg(x.blocks == rows[_i].blocks, "%s", rows[_i].name);
		ck_assert_msg(x.closed == !rows[_i].open, "%s", rows[_i].name);
		ck_assert_msg(x.imitated == rows[_i].imitated, "%s", rows[_i].name);
	}
	text_free(&x.code);
}
END_TEST

START_TEST(extract_refuses_nuls)
{
	static const char reply[] = F "python\nx = '\0'\n" F;
	struct extract x;

	extract_code(reply, sizeof(reply) - 1, &x, NULL);
	ck_assert_int_eq(x.kind, EXTRACT_NOT_TEXT);
	text_free(&x.code);
}
END_TEST

START_TEST(extract_bounds_code)
{
	struct text reply = { 0 };
	struct extract x;

	text_puts(&reply, F "python\n");
	for (size_t i = 0; i < EXTRACT_CODE_MAX / 8 + 1; i++)
		text_puts(&reply, "x = 123\n");
	text_puts(&reply, F "\n");
	extract_code(reply.bytes, reply.length, &x, NULL);
	ck_assert_int_eq(x.kind, EXTRACT_TOO_LONG);
	text_free(&x.code);
	text_free(&reply);
}
END_TEST

/* what a hostile model would send to keep the agent busy: all of it linear */
static const char *const floods[] = {
	F "python\n'''\n" F "\n",
	F "python\n\"\"\"\n" F "\n'''\n",
	F "python\n''' \"\"\"\n" F "\n",
	F "python\n''' \"\"\" ''' \"\"\"\n" F "\n" F "\n",
	F "python\n",
	"<execute_python>\n",
	"<execute_python>" F "\n",
	F "\n",
	"~~~\n" F "\n",
	"`",
	"\n",
	"- ",
	"</execute_python>\n<execute_python>'''",
};

/* this process's own, whatever else the machine does */
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
		cleanup_text struct text reply = { 0 };
		struct extract x;

		text_puts(&reply, F "python\n'''\n" F "\n");
		while (reply.length < bytes)
			text_puts(&reply, piece);

		uint64_t start = cpu_ns();

		extract_code(reply.bytes, reply.length, &x, NULL);

		uint64_t took = cpu_ns() - start;

		least = took < least ? took : least;
		text_free(&x.code);
	}
	return least;
}

/*
 * Eight times the bytes are eight times the work, and of squares 64 times. Under ASan,
 * whose memmem(3) looks at all of the rest each time, there is no telling.
 */
START_TEST(extract_takes_linear_time)
{
	uint64_t little = flood_ns(floods[_i], 250000);
	uint64_t much = flood_ns(floods[_i], 2000000);

#ifdef __SANITIZE_ADDRESS__
	little = much;
#endif
	ck_assert_msg(much < 24 * little, "flood %d: %" PRIu64 " and %" PRIu64 " ns", _i,
		      little, much);
}
END_TEST

START_TEST(every_complaint_has_words)
{
	for (int k = 0; k < EXTRACT_KINDS; k++) {
		bool usable = k == EXTRACT_ANSWER || k == EXTRACT_CODE;

		ck_assert((extract_complaint((enum extract_kind)k) == NULL) == usable);
	}
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

Suite *agent_extract_suite(void)
{
	Suite *s = suite_create("agent extract");
	TCase *c = tcase_create("extract");

	tcase_set_timeout(c, 60);
	tcase_add_loop_test(c, extract_follows_the_rules, 0, ROWS(rows));
	tcase_add_test(c, extract_refuses_nuls);
	tcase_add_test(c, extract_bounds_code);
	tcase_add_loop_test(c, extract_takes_linear_time, 0, ROWS(floods));
	tcase_add_test(c, every_complaint_has_words);
	suite_add_tcase(s, c);
	return s;
}
