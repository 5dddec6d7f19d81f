/* SPDX-License-Identifier: MIT */
/*
 * confine_look.c - what the kernel says of a confined process: see confine.h
 */

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

void confine_print(const char *key, const struct confinement *told, FILE *out)
{
	(void)fprintf(out, "%s%s", key, told && told->known ? told->status : "null");
	if (!told || !told->known)
		return;
	(void)fputs(",\"landlock\":", out);
	posture_print_landlock(told->landlock_abi, out);
	(void)fputc('}', out);
}
