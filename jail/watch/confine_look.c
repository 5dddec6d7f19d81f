/* SPDX-License-Identifier: MIT */
/*
 * confine_look.c - what the kernel says of a confined process: see confine.h
 */
#include <errno.h>

#include "jail/launch/posture.h"
#include "jail/watch/confine.h"

int confine_compare(const char *text, const struct status_plan *p,
		    struct confinement *told, struct err *e)
{
	FILE *out = fmemopen(told->status, sizeof(told->status), "w");
	int r;

	if (!out)
		return err_set(e, errno, "confine: allocate");
	r = posture_compare(text, p, out, e);
	(void)fclose(out);
	return r < 0 ? err_within(e, "confine: ") : 0;
}

void confine_print(const struct confinement *told, FILE *out)
{
	if (!told || !told->known) {
		(void)fputs("null", out);
		return;
	}
	(void)fprintf(out, "%s,\"landlock\":", told->status);
	posture_print_landlock(told->landlock_abi, out);
	(void)fputc('}', out);
}
