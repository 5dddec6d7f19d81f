/* SPDX-License-Identifier: MIT */
/*
 * help.c - the table of options for a person at a terminal: see option.h
 */
#include <string.h>

#include "jail/plan/option_row.h"

#define INDENT 26
#define COLUMNS 80

/* @used: columns that the line has already */
static void print_words(FILE *out, int used, const char *words)
{
	if (used >= INDENT)
		used = COLUMNS;
	while (*words) {
		int n = (int)strcspn(words, " ");

		if (used + 1 + n > COLUMNS)
			used = fprintf(out, "\n%*s", INDENT, "") - 1;
		else
			used += fprintf(out, "%*s", used < INDENT ? INDENT - used : 1,
					"");
		used += fprintf(out, "%.*s", n, words);
		words += n + (words[n] == ' ');
	}
	(void)fputc('\n', out);
}

static void print_row(FILE *out, const struct option_row *row)
{
	char number[VALUE_TEXT_MAX], words[512];
	int used = fprintf(out, row->bare ? "  --%s[=%s]" : "  --%s %s", row->name,
			   row->arg);

	(void)snprintf(words, sizeof(words), row->is_limit ? "%s (%s)" : "%s", row->help,
		       value_print(row->kind, row->initial, number));
	print_words(out, used, words);
}

void option_print_help(FILE *out, bool serve)
{
	const struct option_group *before = NULL;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_group *group = option_group(&option_rows[i]);

		if (group->serve && !serve)
			continue;
		if (group != before)
			(void)fprintf(out, "\n%s:\n", group->title);
		print_row(out, &option_rows[i]);
		before = group;
	}
	(void)fputs(
		"\nThe command line (an option with [=no|yes] means yes where no value is given):\n",
		out);
	print_words(out, fprintf(out, "  --policy FILE"),
		    "read options from a file, one per line, without the dashes");
	print_words(out, fprintf(out, "  --help"), "print this and end");
}

int option_help(const char *usage, bool serve, const char *exits)
{
	(void)printf("usage: stepjail %s\n", usage);
	option_print_help(stdout, serve);
	(void)printf("\nExit status:\n%s", exits);
	return 0;
}
