/* SPDX-License-Identifier: MIT */
/*
 * mkmanual.c - build-time tool: manual.mdoc and the tables become the manual page
 *
 * usage: mkmanual < manual.mdoc > stepjail.1
 *
 * A line "@options" or "@verdicts" of the page stands for all rows of that table, in mdoc(7).
 * The list of the last group of options goes on in the page.
 */
#include <string.h>

#include "jail/plan/option_row.h"
#include "jail/watch/outcome.h"

static void print_options(void)
{
	char number[VALUE_TEXT_MAX];

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		const struct option_group *group = option_group(row);

		if (strcmp(group->first, row->name) == 0)
			printf("%s.Ss %s\n.Bl -tag -width Ds\n", i ? ".El\n" : "",
			       group->title);
		printf(row->bare ? ".It Fl Fl %s Ns Op = Ns Ar %s\n%s.\n"
				 : ".It Fl Fl %s Ar %s\n%s.\n",
		       row->name, row->arg, row->help);
		if (row->repeatable)
			printf("May be given more than once.\n");
		if (row->is_limit)
			printf("Default: %s.\n",
			       value_print(row->kind, row->initial, number));
	}
}

static void print_verdicts(void)
{
	for (size_t i = 0; i < VERDICT_COUNT; i++)
		printf("%s%s\n", verdict_names[i], i + 1 < VERDICT_COUNT ? "," : ".");
}

int main(void)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin))
		if (strcmp(line, "@options\n") == 0)
			print_options();
		else if (strcmp(line, "@verdicts\n") == 0)
			print_verdicts();
		else
			printf("%s", line);
	return ferror(stdin) || fflush(stdout) != 0;
}
