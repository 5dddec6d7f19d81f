/* SPDX-License-Identifier: MIT */
/*
 * options.h - commands and their options: one table makes parser and help
 *
 * A command fills its own struct; a row says at which offset. Adding an option is adding
 * a row. Values that stepjail understands better than the agent does (--memory and the
 * like) are OPT_PASS: kept as they are and handed on in its argv.
 */
#pragma once

#include "agent/base/stop.h"

#define OPT_LIST_MAX 256
#define OPT_ROWS_MAX 100

enum opt_kind {
	OPT_FLAG,   /* bool: yes or no, and yes where it stands alone */
	OPT_TEXT,   /* const char *: anything but nothing */
	OPT_COUNT,  /* uint64_t: min to max */
	OPT_TIME,   /* uint64_t: milliseconds, min to max */
	OPT_SIZE,   /* uint64_t: bytes, min to max */
	OPT_MONEY,  /* uint64_t: dollars times 10^12, more than none; max */
	OPT_CHOICE, /* uint64_t: index into choices */
	OPT_LIST,   /* struct opt_list: may be given more than once */
	OPT_PASS,   /* struct opt_list: "name", "value", which are for stepjail */
};

/* headings of help and man page, in this order; 0 is none */
enum opt_group {
	OPT_GROUP_TASK = 1,
	OPT_GROUP_MODEL,
	OPT_GROUP_LIMITS,
	OPT_GROUP_RESULTS,
	OPT_GROUP_JUDGING,
	OPT_GROUP_JAIL,
	OPT_GROUP_REPEAT,
	OPT_GROUP_PLAIN, /* of a command that has few options */
	OPT_GROUPS
};

/* what --help asked for */
enum opt_help { OPT_HELP_NO, OPT_HELP_COMMON, OPT_HELP_ALL };

struct opt_list {
	const char *items[OPT_LIST_MAX];
	size_t count;
};

struct opt {
	const char *name; /* without the dashes */
	/* what help calls the value; NULL for flags and choices. One that begins with "["
	 * may be left out, and is yes then */
	const char *arg;
	const char *preset; /* the value where none is given; NULL for none */
	enum opt_kind kind;
	enum opt_group group;
	bool common;            /* shown without "all"; see options_help() */
	bool only_given;        /* takes no default of config.h */
	size_t offset;          /* in the struct of its part */
	const char *help;       /* one sentence */
	uint64_t min, max;      /* OPT_COUNT; OPT_TIME in ms */
	const char *choices[8]; /* OPT_CHOICE, NULL at the end */
	const char *hint;       /* OPT_CHOICE: ends the line about a value that is none */
	const char *with[4];    /* refused without one of these; NULL at the end */
};

/* middle columns of a row: group, kind, and the field of the command's struct it fills.
 * The field comes last, so that what follows in the row is the help */
#define OPT_ROW(group_, kind_, type, field)                                              \
	.group = OPT_GROUP_##group_, .kind = OPT_##kind_, .offset = offsetof(type, field)
/* the same for an option that people use every day */
#define OPT_COMMON(group_, kind_, type, field)                                           \
	.common = true, OPT_ROW(group_, kind_, type, field)

/* rows for a struct that stands at @at in the command's */
struct opt_part {
	const struct opt *rows; /* ends with a row without a name */
	size_t at;
};

/* rows whose struct is a field of the command's */
#define OPT_PART(rows_, type, field)                                                     \
	{                                                                                \
		rows_, offsetof(type, field)                                             \
	}

/* of a struct command; ends with a part without rows */
#define OPT_PARTS(...)                                                                   \
	.parts = (const struct opt_part[])                                               \
	{                                                                                \
		__VA_ARGS__,                                                             \
		{                                                                        \
			NULL, 0                                                          \
		}                                                                        \
	}

struct exit_row {
	const char *status; /* NULL behind the last row */
	const char *meaning;
};

struct command {
	const char *name;
	const char *
		operand; /* as help shows it: "TASK"; "[FILE]": may be left out; NULL for none */
	const char *summary; /* one line */
	const char *about;   /* paragraphs for help and man page, parted by "\n\n" */
	const struct opt_part *parts; /* OPT_PARTS(); NULL: no options */
	const struct exit_row *exits; /* its own; NULL where there is only success */
	size_t opts_bytes;            /* size of the struct that they fill */
	/* an exit status, or -errno with *e filled; options and operand are checked */
	int (*run)(const void *options, const char *operand, struct stop *stop,
		   struct err *e);
};

/** options_know() - These commands there are: a file of defaults may have the options of
 * each, and says nothing to the others */
void options_know(const struct command *const *all);

/**
 * options_parse() - Fill a command's struct from its arguments
 *
 * Of a command with an option --config, what is not given is taken from the user's
 * defaults (config.h), and then from the table.
 *
 * @argv:	Arguments after the command's name, NULL at the end; values point into it
 * @into:	@cmd->opts_bytes bytes, zeroed
 * @operand:	Gets the one operand, NULL where the command has none
 * @help:	What --help, "--help all" or --help=all among them asks for; then nothing
 *		else matters
 *
 * Return: 0, or -EINVAL with one line that names the option and the mistake
 */
int options_parse(const struct command *cmd, char *const *argv, void *into,
		  const char **operand, enum opt_help *help, struct err *e);

/**
 * options_row() - An option of a command, by number, as parser and help have them
 * @o:		Gets the row, its @offset that in the command's struct
 *
 * Return: false behind the last
 */
bool options_row(const struct command *cmd, size_t number, struct opt *o);

/** options_find() - The same by name; false where there is none */
bool options_find(const struct command *cmd, const char *name, struct opt *o);

/**
 * options_help() - Add a command's --help text
 *
 * Of a command with many options it has the first paragraph of what it does, its common
 * options, and where the rest is; with OPT_HELP_ALL, or where options are few, all of it.
 * Its own exit statuses are followed by @exits, which all commands have.
 */
void options_help(const struct command *cmd, const struct exit_row *exits,
		  enum opt_help how, struct text *out);

/** options_commands() - Add what each command is: two lines */
void options_commands(const struct command *const *cmds, struct text *out);

/** options_exits() - Add what each exit status means, as --help shows it */
void options_exits(const struct exit_row *exits, struct text *out);

/** options_value() - Add what help calls an option's value, as in " SIZE" or "[=no|yes]" */
void options_value(const struct opt *o, struct text *out);
