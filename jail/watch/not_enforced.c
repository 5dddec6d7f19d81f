/* SPDX-License-Identifier: MIT */
/*
 * not_enforced.c - the walls that --allow-missing left out, and the calls that are
 * refused for it: see report.h, and violation.h
 */
#include <string.h>

#include "jail/walls/seccomp/denied_without.h"
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

void denied_print(unsigned int lacks, FILE *out)
{
	const char *before = "";

	(void)fputs(",\"shut\":[", out);
	for (size_t i = 0; i < denied_without_row_count; i++) {
		/* rows of one call stand together */
		if (!(denied_without_rows[i].lack & lacks) ||
		    strcmp(denied_without_rows[i].syscall, before) == 0)
			continue;
		(void)fprintf(out, "%s\"%s\"", *before ? "," : "",
			      denied_without_rows[i].syscall);
		before = denied_without_rows[i].syscall;
	}
	(void)fputc(']', out);
}
