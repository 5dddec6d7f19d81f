/* SPDX-License-Identifier: MIT */
/*
 * harmless.c - calls that may fail without any effect, each with the reason
 *
 * A run that goes on as if nothing had happened after a failed call is a breach, unless a
 * row here says why that is right.
 */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "tests/fault/fault.h"

#define ANY 0
enum { WHENEVER, BEFORE, AFTER }; /* the program's exec */

static const struct {
	const char *who, *name, *detail; /* patterns of fnmatch(3) */
	int errnum;
	int when;
	const char *why;
} rows[] = {
	{ "*", "close", "*", ANY, WHENEVER, "the fd is gone all the same" },
};

const char *call_harmless(const struct call *call, int errnum)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (fnmatch(rows[i].who, call->who, 0) == 0 &&
		    fnmatch(rows[i].name, call_name(call->nr), 0) == 0 &&
		    fnmatch(rows[i].detail, call->detail, 0) == 0 &&
		    (rows[i].errnum == ANY || rows[i].errnum == errnum) &&
		    (rows[i].when == WHENEVER || (rows[i].when == AFTER) == call->late))
			return rows[i].why;
	return NULL;
}
