/* SPDX-License-Identifier: MIT */
/*
 * explain.c - stepjail explain: print the plan, as a policy file
 */

#include "jail/base/command.h"
#include "jail/plan/option_row.h"

void option_print_policy(const struct plan *p, FILE *out)
{
	char text[VALUE_TEXT_MAX];

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (row->is_limit)
			(void)fprintf(out, "%s %s\n", row->name,
				      value_print(row->kind, p->limit[row->limit], text));
		else
			row->print(row, p, out);
	}
}

int command_explain(char *const *argv, struct err *e)
{
	static struct plan plan;
	int r = option_parse(&plan, argv, e);

	if (r < 0)
		return r;
	if (r == 1)
		return option_help("explain [options]", true,
				   "  0 the plan is printed; 125 an option is wrong\n");
	if (plan.argv)
		return err_say(
			e, EINVAL,
			"explain: '%.64s' looks like a program, which is no part of a plan: leave it out",
			plan.argv[0]);
	option_print_policy(&plan, stdout);
	return 0;
}
