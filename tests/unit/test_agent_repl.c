/* SPDX-License-Identifier: MIT */
/*
 * test_agent_repl.c - where statements end, a jail's bytes as they come, exit statuses
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "agent/repl/repl.h"
#include "tests/unit/suites.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

/* lines at a prompt: whole with its last line, and not before */
static const char *const whole[] = {
	"x = 1",
	"",
	"   ",
	"# nothing",
	"x = (1,\n2)",
	"x = [\n\n# ] in a comment\n1\n]",
	"f({'a': 1},\n\")\",\n')')",
	"x = 1 + \\\n2",
	"s = 'a\\\nb'",
	"s = \"\"\"a\n\n'''\n\"\"\"",
	"s = '''a\\'''\n'''",
	"s = 'it''s'",
	"s = 'no end",
	"x = 1)",
	"s = r'\\'; y = 1",
	"if x:\n    y\n",
	"if x: y\n",
	"if(x): y\n",
	"for i in (1,\n2):\n  print(i)\n",
	"def f(a,\n      b):\n\treturn 1\n",
	"def f():\n    s = '''\n\n'''\n    return s\n",
	"@cache\ndef f(): pass\n",
	"class A: pass\n",
	"async def f(): pass\n",
	"match x:\n  case 1: pass\n",
	"while x: # for ever\n  pass\n",
	"try:\n  a\nfinally:\n  b\n",
	"match = 1",
	"format(1)",
	"iffy = {1: 2}",
	"x = {1:\n2}",
	"lambda: 0",
	"s = 'ends with:'",
	"x = 1 # ends with:",
	"print(x[1:])",
};

START_TEST(prompt_knows_the_end)
{
	struct statement s = { .lines = { .max = 1000 } };
	const char *at = whole[_i];

	for (;;) {
		size_t line = strcspn(at, "\n");
		bool last = !at[line];

		ck_assert_msg(statement_add(&s, at, line) == last, "%s", at);
		if (last)
			break;
		at += line + 1;
	}
	ck_assert_uint_eq(s.lines.length, strlen(whole[_i]) + 1);
	statement_free(&s);
}
END_TEST

static const struct {
	const char *script;
	int statements;
} scripts[] = {
	{ "", 0 },
	{ "\n\n# c\n", 0 },
	{ "x = 1\ny = 2", 2 },
	{ "x = 1\n\n\n# c\ny = 2\n", 2 },
	{ "def f():\n    a\n\n    b\n\n\nf()\n", 2 },
	{ "if x:\n    a\nelif y:\n    b\n\nelse:\n    c\nd", 2 },
	{ "try:\n    a\nexcept E:\n    b\nfinally:\n    c\ntry:\n    d\nfinally: e\n",
	  2 },
	{ "@a\n@b(1)\n\ndef f():\n    a\nx", 2 },
	{ "def f():\n    s = '''\nx\n'''\n    return s\n# c\n    # d\n\nf()", 2 },
	{ "x = [\n1,\n]\ny = (\n\n)\n", 2 },
	{ "for i in x:\n    a\n# at the margin\n    b\nc\n", 2 },
	{ "elsewhere = 1\nexcepted = 2\n", 2 },
	{ "if x:\n    a\nelsewhere = 1\n", 2 },
};

START_TEST(script_is_split)
{
	struct statement s = { .lines = { .max = 1000 } };
	const char *at = scripts[_i].script;
	int count = 0;

	while (*at) {
		size_t line = strcspn(at, "\n");

		if (statement_begins(&s, at, line)) {
			count += !statement_empty(&s);
			statement_clear(&s);
		}
		(void)statement_add(&s, at, line);
		at += line + (at[line] ? 1 : 0);
	}
	count += !statement_empty(&s);
	ck_assert_int_eq(count, scripts[_i].statements);
	statement_free(&s);
}
END_TEST

static const struct {
	const char *bytes;
	size_t length;
	const char *shown;
} streams[] = {
	{ "a\tb\n", 4, "a\tb\n" },
	{ "a\r\nb\rc\n", 7, "a\nb\\rc\n" },
	{ "\x1b[2J\x07", 5, "\\x1b[2J\\x07" },
	{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
	  "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "\xff\xc3(\xe2\x82", 5, "\\xff\\xc3(\\xe2\\x82" },
	{ "\xe2\x80\xae\xc2\x9b", 5, "\\u202e\\x9b" },
	{ "a\0b", 3, "a\\x00b" },
	{ "end\r", 4, "end\\r" },
	{ "\x80\x80\x80\x80\n", 5, "\\x80\\x80\\x80\\x80\n" },
};

/* in pieces of every size: what is shown does not depend on where a frame ends */
START_TEST(stream_is_harmless_in_any_pieces)
{
	for (size_t piece = 1; piece <= streams[_i].length; piece++) {
		struct stream s = { 0 };
		struct text out = { 0 };

		for (size_t at = 0; at < streams[_i].length; at += piece) {
			size_t left = streams[_i].length - at;

			stream_add(&s, streams[_i].bytes + at,
				   left < piece ? left : piece, &out);
		}
		stream_end(&s, &out);
		ck_assert_str_eq(text_string(&out), streams[_i].shown);
		ck_assert(s.mid_line == (out.bytes[out.length - 1] != '\n'));
		text_free(&out);
	}
}
END_TEST

static const struct {
	struct verdict_facts f;
	int status;
} statuses[] = {
	{ { .verdict = VERDICT_COMPLETED }, 0 },
	{ { .verdict = VERDICT_EXCEPTION }, 1 },
	{ { .verdict = VERDICT_EXITED, .code = 7 }, 7 },
	{ { .verdict = VERDICT_EXITED }, 0 },
	{ { .verdict = VERDICT_SIGNALED, .signal = 11 }, 139 },
	{ { .verdict = VERDICT_WALL_TIMEOUT, .signal = 9 }, 124 },
	{ { .verdict = VERDICT_MEMORY, .signal = 9 }, 137 },
	{ { .verdict = VERDICT_PIDS }, 1 },
	{ { .verdict = VERDICT_LAUNCHER_ERROR }, 125 },
};

START_TEST(status_is_as_of_a_run)
{
	ck_assert_int_eq(repl_status(&statuses[_i].f), statuses[_i].status);
}
END_TEST

START_TEST(help_names_every_command)
{
	static const char *const names[] = { "rollback", "branch", "switch", "drop",
					     "states",   "files",  "put",    "get",
					     "status",   "reset",  "help",   "quit" };
	struct text out = { 0 };

	repl_commands_help(&out);
	for (int i = 0; i < ROWS(names); i++)
		ck_assert_ptr_nonnull(strstr(out.bytes, names[i]));
	text_free(&out);
}
END_TEST

Suite *agent_repl_suite(void)
{
	Suite *s = suite_create("agent repl");
	TCase *c = tcase_create("repl");

	tcase_add_loop_test(c, prompt_knows_the_end, 0, ROWS(whole));
	tcase_add_loop_test(c, script_is_split, 0, ROWS(scripts));
	tcase_add_loop_test(c, stream_is_harmless_in_any_pieces, 0, ROWS(streams));
	tcase_add_loop_test(c, status_is_as_of_a_run, 0, ROWS(statuses));
	tcase_add_test(c, help_names_every_command);
	suite_add_tcase(s, c);
	return s;
}
