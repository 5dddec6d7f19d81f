/* SPDX-License-Identifier: MIT */
/*
 * not_enforced.c - the walls that --allow-missing left out: see report.h
 */
#include "jail/watch/report.h"

static const char *const without_audit[] = {
	"record of violations: not kept; refused calls fail with EPERM",
	"--on-violation kill: refused calls fail with EPERM, and the jail goes on",
};

void report_not_enforced(const struct jail *jail, bool listened, FILE *out)
{
	bool cgroup = jail->limited || !jail->missing.errnum;
	size_t audits = jail->plan && jail->plan->on_violation == VIOLATION_KILL ? 2 : 1;
	size_t missing = 0;

	(void)fputs(",\"not_enforced\":[", out);
	if (jail->plan)
		missing = cgroup_limits_missing(
			jail->plan, cgroup ? &jail->cgroup.limits : NULL, out);
	for (size_t i = 0; !listened && i < audits; i++)
		json_after(missing++ ? "," : "", without_audit[i], out);
	(void)fputc(']', out);
}
