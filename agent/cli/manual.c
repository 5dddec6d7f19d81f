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

static const struct exit_row done[] = { { "0", "Done." }, { NULL, NULL } };

#define HELP_LINES "  An option with [=no|yes] means yes where no value is given.\n"

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

static bool few(const struct command *cmd)
{
	struct opt o;

	return !options_row(cmd, HELP_FEW, &o);
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

static void add_exits(const struct command *cmd, const struct exit_row *exits,
		      struct text *out)
{
	text_puts(out, "\nExit status:\n");
	options_exits(cmd->exits ? cmd->exits : done, out);
	options_exits(exits, out);
}

void options_help(const struct command *cmd, const struct exit_row *exits,
		  enum opt_help how, struct text *out)
{
	bool all = how == OPT_HELP_ALL || few(cmd);

	synopsis(cmd, out);
	text_puts(out, "\n");
	help(cmd, all, out);
	text_puts(out, "\nHelp:\n" HELP_LINES);
	if (!all)
		text_printf(out, "  stepjail-agent %s --help all has every option.\n",
			    cmd->name);
	add_exits(cmd, exits, out);
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

/* lines as they are; for roff, backslashes, hyphens, a line's first dot are escaped */
static void add_section(struct text *out, const char *title, const char *lines)
{
	text_printf(out, ".SH %s\n.nf\n.in 0\n", title);
	for (const char *at = lines; *at; at++) {
		bool begins = at == lines || at[-1] == '\n';

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

/* what stands behind the commands */
static const struct {
	const char *title, *lines;
} sections[] = {
	{ "EXIT STATUS",
	  "Each COMMAND section above ends with the exit statuses of that command.\n" },
	{ "EXAMPLES",
	  "Ask a model on a server about a file:\n  export ANTHROPIC_API_KEY=...\n  stepjail-agent solve 'Which month had the most rain?' \\\n      --file weather.csv --model anthropic --model-name NAME\n\nThe same with pandas, and with pictures copied to the folder results:\n  stepjail-agent solve 'Plot the rain of each month.' --rootfs data \\\n      --file weather.csv --out results --model anthropic --model-name NAME\n\nLet cases decide whether the answer is right, with a model on this host:\n  stepjail-agent solve 'Write roman.py.' --tests roman.jsonl \\\n      --model ollama --model-name NAME\n\nWork at a prompt; run a script, each statement a step:\n  stepjail-agent repl\n  stepjail-agent repl < script.py\n\nSee what ran, and run it again:\n  stepjail-agent transcripts list\n  stepjail-agent transcripts show NAME\n  stepjail-agent replay NAME\n" },
	{ "FILES",
	  "$XDG_STATE_HOME/stepjail/transcripts, ~/.local/state/stepjail/transcripts\n  Transcripts of solve and repl, where --transcript names no other file.\n  FILE.shown beside a transcript FILE holds what its steps have shown.\n$XDG_STATE_HOME/stepjail/history, ~/.local/state/stepjail/history\n  Lines that were typed in repl.\n/etc/stepjail/defaults, ~/.config/stepjail/defaults\n  Options for all jails, those of the agent included: see stepjail(1).\n" },
	{ "ENVIRONMENT",
	  "STEPJAIL_API_KEY, OPENAI_API_KEY, ANTHROPIC_API_KEY\n  The API key: the first for any server, the others for openai and anthropic.\nhttps_proxy, http_proxy, all_proxy, no_proxy\n  Proxies on the way to the model's server, as for curl(1).\nXDG_STATE_HOME, HOME\n  Where transcripts and the history of lines are.\nTMPDIR\n  Where the bytes of a --file that is a pipe are kept, in a file without a name.\nPATH\n  Where stepjail is looked for, if it is not beside stepjail-agent.\nNO_COLOR, TERM\n  There is no colour where NO_COLOR is set, or TERM is dumb.\nNo variable is passed on to a jail.\n" },
};

void options_man(const struct command *const *cmds, const struct exit_row *exits,
		 struct text *out)
{
	cleanup_text struct text lines = { 0 };

	options_commands(cmds, &lines);
	text_puts(&lines, HELP_LINES);
	text_puts(
		out,
		".TH STEPJAIL\\-AGENT 1\n.SH NAME\n"
		"stepjail\\-agent \\- let a model solve a task with Python in a jail\n");
	add_section(out, "SYNOPSIS", text_string(&lines));
	for (size_t i = 0; cmds[i]; i++) {
		cleanup_text struct text title = { 0 };

		text_clear(&lines);
		help(cmds[i], true, &lines);
		add_exits(cmds[i], exits, &lines);
		text_printf(&title, "COMMAND %s", cmds[i]->name);
		add_section(out, text_string(&title), text_string(&lines));
	}
	for (size_t i = 0; i < COUNT(sections); i++)
		add_section(out, sections[i].title, sections[i].lines);
	text_puts(out, ".SH SEE ALSO\n.BR stepjail (1)\n");
}
