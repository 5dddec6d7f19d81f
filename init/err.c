/* SPDX-License-Identifier: MIT */
/*
 * err.c - the one error type: see err.h
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "init/err.h"

int err_set(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);

	/* no locale is ever set, so these are constant strings in musl and glibc alike */
	if (errnum && n >= 0 && (size_t)n < sizeof(e->text))
		(void)snprintf(e->text + n, sizeof(e->text) - (size_t)n, ": %s",
			       strerror(errnum));
	e->errnum = errnum ? errnum : EINVAL;
	return -e->errnum;
}

int err_say(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	e->errnum = errnum;
	return -errnum;
}

int err_within(struct err *e, const char *fmt, ...)
{
	struct err inner = *e;
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof(e->text))
		(void)snprintf(e->text + n, sizeof(e->text) - (size_t)n, "%s",
			       inner.text);
	return -e->errnum;
}
