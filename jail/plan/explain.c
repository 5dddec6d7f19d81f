/* SPDX-License-Identifier: MIT */
/*
 * explain.c - stepjail explain: print the plan, as a policy file
 */
#include <errno.h>

#include "jail/base/command.h"
#include "jail/plan/option.h"

int command_explain(char *const *argv, struct err *e)
{
	static struct plan plan;
	int r = option_parse(&plan, argv, e);

	if (r < 0)
		return r;
	if (r == 1) {
		printf("usage: stepjail explain [options]\n\n");
		option_print_help(stdout);
		return 0;
	}
	if (plan.argv)
		return err_say(
			e, EINVAL,
			"explain: '%.64s' looks like a program, which is no part of a plan: leave it out",
			plan.argv[0]);
	option_print_policy(&plan, stdout);
	return 0;
}
