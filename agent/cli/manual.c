/* SPDX-License-Identifier: MIT */
/*
 * manual.c - help texts and the man page out of the tables: see options.h
 *
 * Two writers, one source. The man page is roff with the man(7) macros; every text goes
 * through roff_add(), so that a table may hold any character.
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
	size_t column = indent;
	bool line_start = true;

	while (*words) {
		size_t word = strcspn(words, " \n");

		if (!line_start && column + 1 + word > HELP_WIDTH) {
			text_printf(out, "\n%*s", (int)indent, "");
			column = indent;
			line_start = true;
		}
		if (!line_start && word) {
			text_puts(out, " ");
			column++;
		}
		text_add(out, words, word);
		column += word;
		line_start = line_start && !word;
		words += word;
		if (*words == '\n') {
			text_puts(out, "\n");
			column = indent;
			line_start = true;
		}
		words += *words ? 1 : 0;
	}
	text_puts(out, "\n");
}

static void option_head(const struct opt *o, struct text *out)
{
	text_printf(out, "--%s", o->name);
	if (o->kind == OPT_CHOICE) {
		text_puts(out, " ");
		for (size_t i = 0; o->choices[i]; i++)
			text_printf(out, "%s%s", i ? "|" : "", o->choices[i]);
	} else if (o->arg) {
		text_printf(out, " %s", o->arg);
	}
}

static void help_option(const struct opt *o, struct text *out)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text words = { 0 };

	text_puts(&head, "  ");
	option_head(o, &head);
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

void options_help(const struct command *cmd, const struct exit_row *exits,
		  enum opt_help how, struct text *out)
{
	cleanup_text struct text about = { 0 };
	bool all = how == OPT_HELP_ALL || few(cmd);
	const char *rest = strstr(cmd->about, "\n\n");

	text_printf(out, "stepjail-agent %s %s%s[options]\n\n", cmd->name,
		    cmd->operand ? cmd->operand : "", cmd->operand ? " " : "");
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
	if (!all) {
		text_printf(out, "\nstepjail-agent %s --help all lists the rest.\n",
			    cmd->name);
		return;
	}
	text_printf(out, "\nHelp:\n  %-*s%s\n\n", HELP_INDENT - 2, "--help [all]",
		    "Show this text; all: with every option.");
	options_exits(exits, out);
}

void options_exits(const struct exit_row *exits, struct text *out)
{
	text_puts(out, "Exit status:\n");
	for (; exits->meaning; exits++) {
		text_printf(out, "  %-5d", exits->status);
		wrap(out, exits->meaning, 7);
	}
}

/* text for roff: backslashes, hyphens, and control characters at the start of a line */
static void roff_add(struct text *out, const char *words)
{
	bool line_start = true;

	for (; *words; words++) {
		if (line_start && (*words == '.' || *words == '\''))
			text_puts(out, "\\&");
		if (words[0] == '\n' && words[1] == '\n') {
			text_puts(out, "\n.PP\n");
			words++;
			line_start = true;
			continue;
		}
		if (*words == '\\')
			text_puts(out, "\\e");
		else if (*words == '-')
			text_puts(out, "\\-");
		else
			text_add(out, words, 1);
		line_start = *words == '\n';
	}
	text_puts(out, "\n");
}

static void man_synopsis(const struct command *cmd, struct text *out)
{
	text_printf(out, ".B stepjail\\-agent %s\n", cmd->name);
	if (cmd->operand)
		text_printf(out, ".I %s\n", cmd->operand);
	text_puts(out, ".RI [ options ]\n");
}

static void man_option(const struct opt *o, struct text *out)
{
	cleanup_text struct text head = { 0 };

	text_puts(out, ".TP\n.B ");
	option_head(o, &head);
	roff_add(out, text_string(&head));
	roff_add(out, o->help);
	if (!o->preset)
		return;
	text_puts(out, "Default: ");
	roff_add(out, o->preset);
}

static void man_command(const struct command *cmd, struct text *out)
{
	text_printf(out, ".SH COMMAND %s\n", cmd->name);
	man_synopsis(cmd, out);
	text_puts(out, ".PP\n");
	roff_add(out, cmd->about);
	for (enum opt_group g = 1; g < OPT_GROUPS; g++) {
		const struct opt *o = next_of(cmd->opts, g, true);

		if (o)
			text_printf(out, ".SS %s\n", headings[g]);
		for (; o; o = next_of(o + 1, g, true))
			man_option(o, out);
	}
}

void options_man(const struct command *const *cmds, const struct exit_row *exits,
		 struct text *out)
{
	text_puts(out,
		  ".TH STEPJAIL\\-AGENT 1\n.SH NAME\n"
		  "stepjail\\-agent \\- let a model solve a task with Python in a jail\n"
		  ".SH SYNOPSIS\n");
	for (size_t i = 0; cmds[i]; i++) {
		text_puts(out, i ? ".br\n" : "");
		man_synopsis(cmds[i], out);
	}
	text_puts(out, ".SH DESCRIPTION\n");
	for (size_t i = 0; cmds[i]; i++) {
		text_printf(out, ".TP\n.B %s\n", cmds[i]->name);
		roff_add(out, cmds[i]->summary);
	}
	for (size_t i = 0; cmds[i]; i++)
		man_command(cmds[i], out);
	text_puts(out, ".SH EXIT STATUS\n");
	for (; exits->meaning; exits++) {
		text_printf(out, ".TP\n.B %d\n", exits->status);
		roff_add(out, exits->meaning);
	}
	text_puts(out, ".SH SEE ALSO\n.BR stepjail (1)\n");
}
