/* SPDX-License-Identifier: MIT */
/*
 * manual.c - help texts and the man page out of the tables: see options.h
 *
 * The man page is made of the help texts, as they are: roff with a few man(7) macros.
 * Every text goes through roff_add(), so that a table may hold any character.
 */
#include <string.h>

#include "agent/cli/options.h"

#define HELP_WIDTH 78
#define HELP_INDENT 24
#define HELP_FEW 12 /* options that need no shorter help */

static const char *const headings[OPT_GROUPS] = {
	[OPT_GROUP_TASK] = "The task",           [OPT_GROUP_MODEL] = "The model",
	[OPT_GROUP_LIMITS] = "Limits",           [OPT_GROUP_RESULTS] = "Results",
	[OPT_GROUP_JUDGING] = "Judging",         [OPT_GROUP_JAIL] = "The jail",
	[OPT_GROUP_REPEAT] = "Runs that repeat", [OPT_GROUP_PLAIN] = "Options",
};

/* the next row of a group from @o on; NULL for none */
static const struct opt *next_of(const struct opt *o, enum opt_group group, bool all)
{
	for (; o->name; o++)
		if (o->group == group && (all || o->common))
			return o;
	return NULL;
}

/* words into lines of HELP_WIDTH, the second and later ones indented */
static void wrap(struct text *out, const char *words, size_t indent)
{
	size_t column = indent; /* beyond it where something stands in the line */

	while (*words) {
		size_t word = strcspn(words, " \n");

		if (column > indent && column + 1 + word > HELP_WIDTH) {
			text_printf(out, "\n%*s", (int)indent, "");
			column = indent;
		}
		if (column > indent && word) {
			text_puts(out, " ");
			column++;
		}
		text_add(out, words, word);
		column += word;
		words += word;
		if (*words == '\n') {
			text_puts(out, "\n");
			column = indent;
		}
		words += *words ? 1 : 0;
	}
	text_puts(out, "\n");
}

static void help_option(const struct opt *o, struct text *out)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text words = { 0 };

	text_printf(&head, "  --%s", o->name);
	for (size_t i = 0; o->kind == OPT_CHOICE && o->choices[i]; i++)
		text_printf(&head, "%s%s", i ? "|" : " ", o->choices[i]);
	if (o->arg)
		text_printf(&head, " %s", o->arg);
	text_add(out, text_string(&head), head.length);
	text_puts(&words, o->help);
	if (o->preset)
		text_printf(&words, " [%s]", o->preset);
	if (head.length + 2 > HELP_INDENT)
		text_printf(out, "\n%*s", HELP_INDENT, "");
	else
		text_printf(out, "%*s", HELP_INDENT - (int)head.length, "");
	wrap(out, text_string(&words), HELP_INDENT);
}

static bool few(const struct command *cmd)
{
	size_t rows = 0;

	while (cmd->opts[rows].name)
		rows++;
	return rows <= HELP_FEW;
}

static void synopsis(const struct command *cmd, struct text *out)
{
	text_printf(out, "stepjail-agent %s %s%s[options]\n", cmd->name,
		    cmd->operand ? cmd->operand : "", cmd->operand ? " " : "");
}

/* with its first paragraph and common options, or with all */
static void help(const struct command *cmd, bool all, struct text *out)
{
	cleanup_text struct text about = { 0 };
	const char *rest = strstr(cmd->about, "\n\n");

	text_add(&about, cmd->about,
		 all || !rest ? strlen(cmd->about) : (size_t)(rest - cmd->about));
	wrap(out, text_string(&about), 0);
	for (enum opt_group g = 1; g < OPT_GROUPS; g++) {
		const struct opt *o = next_of(cmd->opts, g, all);

		if (o)
			text_printf(out, "\n%s:\n", headings[g]);
		for (; o; o = next_of(o + 1, g, all))
			help_option(o, out);
	}
}

void options_help(const struct command *cmd, const struct exit_row *exits,
		  enum opt_help how, struct text *out)
{
	bool all = how == OPT_HELP_ALL || few(cmd);

	synopsis(cmd, out);
	text_puts(out, "\n");
	help(cmd, all, out);
	if (!all) {
		text_printf(out, "\nstepjail-agent %s --help all lists the rest.\n",
			    cmd->name);
		return;
	}
	text_printf(out, "\nHelp:\n  %-*s%s\n\n", HELP_INDENT - 2, "--help [all]",
		    "Show this text; all: with every option.");
	text_puts(out, "Exit status:\n");
	options_exits(exits, out);
}

void options_commands(const struct command *const *cmds, struct text *out)
{
	for (; *cmds; cmds++) {
		text_puts(out, "  ");
		synopsis(*cmds, out);
		text_printf(out, "      %s\n", (*cmds)->summary);
	}
}

void options_exits(const struct exit_row *exits, struct text *out)
{
	for (; exits->meaning; exits++) {
		text_printf(out, "  %-5d", exits->status);
		wrap(out, exits->meaning, 7);
	}
}

/* lines as they are; for roff, backslashes, hyphens, a line's first dot are escaped */
static void roff_add(struct text *out, const struct text *lines)
{
	text_puts(out, ".nf\n.in 0\n");
	for (const char *at = text_string(lines); *at; at++) {
		bool begins = at == lines->bytes || at[-1] == '\n';

		if (begins && (*at == '.' || *at == '\''))
			text_puts(out, "\\&");
		if (*at == '\\')
			text_puts(out, "\\e");
		else if (*at == '-')
			text_puts(out, "\\-");
		else
			text_add(out, at, 1);
	}
	text_puts(out, ".fi\n");
}

void options_man(const struct command *const *cmds, const struct exit_row *exits,
		 struct text *out)
{
	cleanup_text struct text lines = { 0 };

	options_commands(cmds, &lines);
	text_puts(out,
		  ".TH STEPJAIL\\-AGENT 1\n.SH NAME\n"
		  "stepjail\\-agent \\- let a model solve a task with Python in a jail\n"
		  ".SH SYNOPSIS\n");
	roff_add(out, &lines);
	for (size_t i = 0; cmds[i]; i++) {
		text_clear(&lines);
		help(cmds[i], true, &lines);
		text_printf(out, ".SH COMMAND %s\n", cmds[i]->name);
		roff_add(out, &lines);
	}
	text_clear(&lines);
	options_exits(exits, &lines);
	text_puts(out, ".SH EXIT STATUS\n");
	roff_add(out, &lines);
	text_puts(out, ".SH SEE ALSO\n.BR stepjail (1)\n");
}
