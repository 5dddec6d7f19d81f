/* SPDX-License-Identifier: MIT */
/*
 * test_agent_options.c - the options parser, and that the tables are sound
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/cli/options.h"
#include "agent/cmd/commands.h"
#include "tests/unit/suites.h"

struct sample {
	const char *text, *near;
	uint64_t count, time_ms, choice;
	bool flag;
	struct opt_list list, pass;
};

#define ROW(kind, field) OPT_ROW(PLAIN, kind, struct sample, field)

static const struct opt opts[] = {
	{ "text", "T", NULL, ROW(TEXT, text), "T." },
	{ "count", "N", "5", ROW(COUNT, count), "N.", .min = 1, .max = 9 },
	{ "time", "T", NULL, ROW(TIME, time_ms), "T.", .min = 100, .max = 5000 },
	{ "choice", NULL, "b", ROW(CHOICE, choice), "C.", .choices = { "a", "b" } },
	{ "flag", NULL, NULL, ROW(FLAG, flag), "F." },
	{ "list", "X", NULL, ROW(LIST, list), "L." },
	{ "memory", "S", NULL, ROW(PASS, pass), "M." },
	{ "bare", "[=no|yes]", NULL, ROW(PASS, pass), "B." },
	{ "near", "N", NULL, ROW(TEXT, near), "N.", .with = { "text", "list", "flag" } },
	{ .name = NULL },
};

static const struct command sample = {
	.name = "sample",
	.operand = "WHAT",
	.summary = "S.",
	.about = "A.",
	OPT_PARTS({ opts, 0 }),
	.opts_bytes = sizeof(struct sample),
};

static int parse(char *const *argv, struct sample *into, const char **operand,
		 struct err *e)
{
	enum opt_help help;

	memset(into, 0, sizeof(*into));
	return options_parse(&sample, argv, into, operand, &help, e);
}

START_TEST(options_fill_the_struct)
{
	static char *const argv[] = { "--text=a=b", "op",     "--time", "1.5s",
				      "--flag",     "--list", "x",      "--list=--y",
				      "--choice",   "a",      "--bare", "--memory",
				      "64M",        NULL };
	struct sample s;
	struct err e = { 0 };
	const char *operand;

	ck_assert_msg(parse(argv, &s, &operand, &e) == 0, "%s", e.text);
	ck_assert_str_eq(s.text, "a=b");
	ck_assert_str_eq(operand, "op");
	ck_assert_uint_eq(s.time_ms, 1500);
	ck_assert_uint_eq(s.count, 5);
	ck_assert_uint_eq(s.choice, 0);
	ck_assert(s.flag);
	ck_assert_uint_eq(s.list.count, 2);
	ck_assert_str_eq(s.list.items[1], "--y");
	ck_assert_uint_eq(s.pass.count, 4);
	ck_assert_str_eq(s.pass.items[0], "bare");
	ck_assert_str_eq(s.pass.items[1], "yes");
	ck_assert_str_eq(s.pass.items[2], "memory");
	ck_assert_str_eq(s.pass.items[3], "64M");
}
END_TEST

/* what an answer looks like, and what it means of a flag and of what is passed on */
static const struct {
	char *argv[4];
	bool flag;
	const char *bare;
} answers[] = {
	{ { "--flag", "op", "--bare" }, true, "yes" },
	{ { "--flag=yes", "--bare=no", "op" }, true, "no" },
	{ { "--flag=no", "--bare=auto", "op" }, false, "auto" },
	{ { "--flag", "no", "op", "--bare" }, false, "yes" },
	{ { "--bare", "no", "op" }, false, "no" },
	{ { "--bare", "--", "no" }, false, "yes" },
};

START_TEST(options_take_yes_and_no)
{
	struct sample s;
	struct err e = { 0 };
	const char *operand;
	char *argv[5] = { NULL };

	memcpy(argv, answers[_i].argv, sizeof(answers[_i].argv));
	ck_assert_msg(parse(argv, &s, &operand, &e) == 0, "%s", e.text);
	ck_assert_int_eq(s.flag, answers[_i].flag);
	ck_assert_str_eq(s.pass.items[1], answers[_i].bare);
	ck_assert_str_eq(operand, strcmp(argv[1], "--") == 0 ? "no" : "op");
}
END_TEST

/* in any order, and with any one of them */
START_TEST(options_have_company)
{
	static char *const argvs[][4] = { { "--near=x", "--flag", "op" },
					  { "--list=y", "--near=x", "op" },
					  { "--near=x", "op", "--text=z" } };
	struct sample s;
	struct err e = { 0 };
	const char *operand;

	ck_assert_msg(parse(argvs[_i], &s, &operand, &e) == 0, "%s", e.text);
	ck_assert_str_eq(s.near, "x");
}
END_TEST

START_TEST(options_end_at_two_dashes)
{
	static char *const argv[] = { "--flag", "--", "--help", NULL };
	struct sample s;
	struct err e = { 0 };
	const char *operand;

	ck_assert_int_eq(parse(argv, &s, &operand, &e), 0);
	ck_assert_str_eq(operand, "--help");
}
END_TEST

static const struct {
	char *argv[5];
	enum opt_help help;
} helps[] = {
	{ { "--junk", "-h" }, OPT_HELP_COMMON },
	{ { "x", "--help", "--junk", "y" }, OPT_HELP_COMMON },
	{ { "--help", "--", "y" }, OPT_HELP_COMMON },
	{ { "--help", "all" }, OPT_HELP_ALL },
	{ { "-h", "all" }, OPT_HELP_ALL },
	{ { "x", "--junk", "--help", "all" }, OPT_HELP_ALL },
	{ { "--help", "al" }, OPT_HELP_COMMON },
};

START_TEST(options_help_wins)
{
	struct sample s = { 0 };
	struct err e = { 0 };
	const char *operand;
	enum opt_help help;

	ck_assert_int_eq(options_parse(&sample, helps[_i].argv, &s, &operand, &help, &e),
			 0);
	ck_assert_int_eq(help, helps[_i].help);
}
END_TEST

static const struct {
	char *argv[4];
	const char *says; /* a part of the error line */
} refused[] = {
	{ { "x", "--junk" }, "--junk: no such option" },
	{ { "x", "-f" }, "-f: no such option" },
	{ { "x", "--fla" }, "--fla: no such option" },
	{ { "x", "--flag=1" }, "--flag: '1' is not one of --flag[=no|yes]" },
	{ { "x", "--flag", "auto" }, "--flag: 'auto' is not one of --flag" },
	{ { "x", "--flag=" }, "--flag: needs a value: --flag[=no|yes]" },
	{ { "x", "--choice" }, "--choice: needs a value: --choice a|b" },
	{ { "x", "--flag", "--flag" }, "--flag: given twice" },
	{ { "x", "--text=a", "--text=b" }, "--text: given twice" },
	{ { "x", "--text" }, "--text: needs a value" },
	{ { "x", "--text=" }, "--text: needs a value" },
	{ { "x", "--text", "" }, "--text: needs a value" },
	{ { "x", "--text", "--flag" }, "looks like an option" },
	{ { "x", "--count=0" }, "--count: '0' is not between 1 and 9" },
	{ { "x", "--count=10" }, "not between" },
	{ { "x", "--count=99999999999999999999999" }, "not between" },
	{ { "x", "--count=-1" }, "--count: '-1' is not a whole number" },
	{ { "x", "--count=3x" }, "not a whole number" },
	{ { "x", "--time=3x" }, "--time: '3x' is not a time" },
	{ { "x", "--time=99h" }, "--time: '99h' is not between 100 ms and 5 s" },
	{ { "x", "--choice=c" }, "--choice: 'c' is not one of --choice a|b" },
	{ { "x", "--memory=1", "--memory=1" }, "--memory: given twice" },
	{ { "x", "--near=n" },
	  "--near: has no effect without --text or --list or --flag" },
	{ { "x", "--help=all" }, "--help=all: no such option" },
	{ { "x", "y" }, "'y' is one operand too many" },
	{ { "--flag" }, "the WHAT is missing" },
	{ { "" }, "the WHAT is missing" },
};

START_TEST(options_refuse_by_name)
{
	struct sample s;
	struct err e = { 0 };
	const char *operand;

	ck_assert_int_lt(parse(refused[_i].argv, &s, &operand, &e), 0);
	ck_assert_msg(strstr(e.text, refused[_i].says) != NULL, "row %d: %s", _i, e.text);
	ck_assert_ptr_null(strchr(e.text, '\n'));
}
END_TEST

START_TEST(options_bound_lists)
{
	char *argv[2 * OPT_LIST_MAX + 4];
	struct sample s;
	struct err e = { 0 };
	const char *operand;
	size_t n = 0;

	for (int i = 0; i <= OPT_LIST_MAX; i++)
		argv[n++] = "--list=x";
	argv[n] = NULL;
	ck_assert_int_eq(parse(argv, &s, &operand, &e), -E2BIG);
}
END_TEST

static const struct command *const commands[] = { &command_solve, &command_replay,
						  &command_repl };

/* all of a command's, in one table */
static const struct opt *rows_of(const struct command *cmd)
{
	static struct opt rows[OPT_ROWS_MAX + 1];
	size_t count = 0;

	while (options_row(cmd, count, &rows[count]))
		ck_assert_uint_lt(++count, OPT_ROWS_MAX);
	rows[count] = (struct opt){ .name = NULL };
	return rows;
}

START_TEST(tables_are_sound)
{
	const struct command *cmd = commands[_i];
	const struct opt *all = rows_of(cmd);

	ck_assert(cmd->name && cmd->summary && cmd->about && cmd->run);
	for (const struct opt *o = all; o->name; o++) {
		ck_assert_msg(o->help && o->help[0] &&
				      o->help[strlen(o->help) - 1] != ' ',
			      "%s", o->name);
		ck_assert_msg((o->arg != NULL) ==
				      (o->kind != OPT_FLAG && o->kind != OPT_CHOICE),
			      "%s", o->name);
		ck_assert_msg(o->offset < cmd->opts_bytes, "%s", o->name);
		ck_assert_msg(o->group > 0 && o->group < OPT_GROUPS, "%s", o->name);
		ck_assert_msg((o->kind != OPT_COUNT && o->kind != OPT_TIME) ||
				      o->min < o->max,
			      "%s", o->name);
		for (int i = 0; o->with[i]; i++) {
			const struct opt *other = all;

			while (other->name && strcmp(other->name, o->with[i]) != 0)
				other++;
			ck_assert_msg(other->name && i < (int)COUNT(o->with) - 1, "%s",
				      o->name);
			/* given without a word, it would be no company */
			ck_assert_msg(!other->preset, "%s", o->name);
		}
		for (const struct opt *p = all; p < o; p++) {
			ck_assert_str_ne(p->name, o->name);
			/* only passed options share a place */
			ck_assert_msg(p->offset != o->offset || o->kind == OPT_PASS, "%s",
				      o->name);
		}
	}
}
END_TEST

/* every preset is a value that its own row takes */
START_TEST(presets_parse)
{
	char *argv[] = { commands[_i]->operand ? "operand" : NULL, NULL };
	void *into = calloc(1, commands[_i]->opts_bytes);
	struct err e = { 0 };
	const char *operand;
	enum opt_help help;

	ck_assert_msg(options_parse(commands[_i], argv, into, &operand, &help, &e) == 0,
		      "%s", e.text);
	free(into);
}
END_TEST

static const struct exit_row exits[] = { { "125", "bad" }, { NULL, NULL } };

/* whether help has a line for an option, not a word of it in another's */
static bool helps_with(const struct text *help, const char *name)
{
	cleanup_text struct text line = { 0 };

	text_printf(&line, "\n  --%s", name);
	for (const char *at = help->bytes; (at = strstr(at, line.bytes));
	     at += line.length)
		if (strchr(" [\n", at[line.length]))
			return true;
	return false;
}

/* no line over the width, and none that ends in a blank */
static void check_lines(const char *at)
{
	while (*at) {
		size_t n = strcspn(at, "\n");

		ck_assert_msg(n <= 79 && (n == 0 || at[n - 1] != ' '), "%.*s", (int)n,
			      at);
		at += n + (at[n] ? 1 : 0);
	}
}

/* its own exit statuses, then those of all */
static void check_end(const struct text *help, const struct command *cmd)
{
	const char *at = strstr(help->bytes, "\n\nExit status:\n  0    ");
	cleanup_text struct text own = { 0 };

	ck_assert_ptr_nonnull(at);
	text_puts(&own, "\n\nExit status:\n");
	options_exits(cmd->exits, &own);
	options_exits(exits, &own);
	ck_assert_str_eq(at, own.bytes);
}

START_TEST(help_names_every_option)
{
	struct text help = { 0 };

	options_help(commands[_i], exits, OPT_HELP_ALL, &help);
	for (const struct opt *o = rows_of(commands[_i]); o->name; o++)
		ck_assert_msg(helps_with(&help, o->name), "%s", o->name);
	ck_assert(strstr(help.bytes, "\n\nThe task:\n  --file PATH ") != NULL);
	check_end(&help, commands[_i]);
	check_lines(help.bytes);
	text_free(&help);
}
END_TEST

/* where there are many; what few there are is shown always */
START_TEST(help_has_the_common_options)
{
	const struct command *cmd = commands[_i];
	struct text help = { 0 }, all = { 0 };
	bool few = cmd == &command_replay;
	size_t common = 0;

	options_help(cmd, exits, OPT_HELP_COMMON, &help);
	options_help(cmd, exits, OPT_HELP_ALL, &all);
	for (const struct opt *o = rows_of(cmd); o->name; o++) {
		common += o->common;
		ck_assert_msg(helps_with(&help, o->name) == (few || o->common), "%s",
			      o->name);
	}
	check_lines(help.bytes);
	if (few) {
		ck_assert_str_eq(help.bytes, all.bytes);
	} else {
		struct text last = { 0 };

		text_printf(&last, "\n  stepjail-agent %s --help all has every option.\n",
			    cmd->name);
		ck_assert_ptr_nonnull(strstr(help.bytes, last.bytes));
		ck_assert_ptr_null(strstr(all.bytes, last.bytes));
		check_end(&help, cmd);
		ck_assert(common >= 5 && common <= 20);
		ck_assert_uint_lt(help.length, all.length / 2);
		text_free(&last);
	}
	text_free(&help);
	text_free(&all);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof(table[0])))

Suite *agent_options_suite(void)
{
	Suite *s = suite_create("agent options");
	TCase *c = tcase_create("options");

	tcase_add_test(c, options_fill_the_struct);
	tcase_add_test(c, options_end_at_two_dashes);
	tcase_add_loop_test(c, options_help_wins, 0, ROWS(helps));
	tcase_add_loop_test(c, options_refuse_by_name, 0, ROWS(refused));
	tcase_add_test(c, options_bound_lists);
	tcase_add_loop_test(c, options_have_company, 0, 3);
	tcase_add_loop_test(c, options_take_yes_and_no, 0, ROWS(answers));
	tcase_add_loop_test(c, tables_are_sound, 0, ROWS(commands));
	tcase_add_loop_test(c, presets_parse, 0, ROWS(commands));
	tcase_add_loop_test(c, help_names_every_option, 0, ROWS(commands));
	tcase_add_loop_test(c, help_has_the_common_options, 0, ROWS(commands));
	suite_add_tcase(s, c);
	return s;
}
