/* SPDX-License-Identifier: MIT */
/*
 * manual.c - help texts out of the tables: see options.h. The man page is made of them.
 */

#include "agent/cli/options.h"

#define HELP_WIDTH 78
#define HELP_INDENT 24
#define HELP_FEW 16 /* options that need no shorter help */

static const char *const headings[OPT_GROUPS] = {
	[OPT_GROUP_TASK] = "The task",           [OPT_GROUP_MODEL] = "The model",
	[OPT_GROUP_LIMITS] = "Limits",           [OPT_GROUP_RESULTS] = "Results",
	[OPT_GROUP_JUDGING] = "Judging",         [OPT_GROUP_JAIL] = "The jail",
	[OPT_GROUP_REPEAT] = "Runs that repeat", [OPT_GROUP_PLAIN] = "Options",
};

static const struct exit_row done[] = { { "0", "Done." }, { NULL, NULL } };

#define HELP_LINES "  An option with [=no|yes] means yes where no value is given.\n"
#define CONFIG_LINES                                                                     \
	"  What is not given is taken from variables, as STEPJAIL_ROOTFS for --rootfs,\n  then from $XDG_CONFIG_HOME/stepjail/agent.conf: see --config.\n"

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

void options_value(const struct opt *o, struct text *out)
{
	for (size_t i = 0; o->kind == OPT_CHOICE && o->choices[i]; i++)
		text_printf(out, "%s%s", i ? "|" : " ", o->choices[i]);
	if (o->kind == OPT_FLAG)
		text_puts(out, "[=no|yes]");
	else if (o->arg)
		text_printf(out, "%s%s", o->arg[0] == '[' ? "" : " ", o->arg);
}

static void help_option(const struct opt *o, struct text *out)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text words = { 0 };

	text_printf(&head, "  --%s", o->name);
	options_value(o, &head);
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
		const char *heading = headings[g];
		struct opt o;

		for (size_t i = 0; options_row(cmd, i, &o); i++) {
			if (o.group != g || !(all || o.common))
				continue;
			if (heading)
				text_printf(out, "\n%s:\n", heading);
			heading = NULL;
			help_option(&o, out);
		}
	}
}

void options_help(const struct command *cmd, const struct exit_row *exits,
		  enum opt_help how, struct text *out)
{
	struct opt o;
	bool all = how == OPT_HELP_ALL || !options_row(cmd, HELP_FEW, &o);

	synopsis(cmd, out);
	text_puts(out, "\n");
	help(cmd, all, out);
	text_puts(out, "\nHelp:\n" HELP_LINES);
	if (options_find(cmd, "config", &o))
		text_puts(out, CONFIG_LINES);
	if (!all)
		text_printf(out, "  stepjail-agent %s --help all has every option.\n",
			    cmd->name);
	text_puts(out, "\nExit status:\n");
	options_exits(cmd->exits ? cmd->exits : done, out);
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
	for (; exits->status; exits++) {
		text_printf(out, "  %-7s", exits->status);
		wrap(out, exits->meaning, 9);
	}
}
