/* SPDX-License-Identifier: MIT */
/*
 * err.c - the one error type: see err.h
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "init/err.h"

#define ERRNO_MAX 4095 /* of the kernel */

/* replace control bytes, which a path, an argument or a word of a jail may hold */
static void keep_line(struct err *e)
{
	for (char *at = e->text; *at; at++)
		if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
			*at = '?';
}

/* write the words and what follows them, without bytes that a terminal would act on */
static void write_line(struct err *e, const char *fmt, va_list ap, const char *colon,
		       const char *behind)
{
	int n = vsnprintf(e->text, sizeof(e->text), fmt, ap);

	if (n >= 0 && (size_t)n < sizeof(e->text))
		(void)snprintf(e->text + n, sizeof(e->text) - (size_t)n, "%s%s", colon,
			       behind);
	keep_line(e);
}

int err_set(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;

	/* no locale is ever set, so these are constant strings in musl and glibc alike */
	va_start(ap, fmt);
	write_line(e, fmt, ap, errnum ? ": " : "", errnum ? strerror(errnum) : "");
	va_end(ap);
	e->errnum = errnum ? errnum : EINVAL;
	return -e->errnum;
}

int err_say(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	write_line(e, fmt, ap, "", "");
	va_end(ap);
	e->errnum = errnum;
	return -errnum;
}

int err_told(uint32_t errnum)
{
	/* a larger number would be negative as an int, and the failure pass for a
	 * success */
	return errnum <= ERRNO_MAX ? (int)errnum : EPROTO;
}

int err_within(struct err *e, const char *fmt, ...)
{
	struct err inner = *e;
	va_list ap;

	va_start(ap, fmt);
	write_line(e, fmt, ap, "", inner.text);
	va_end(ap);
	return -e->errnum;
}
