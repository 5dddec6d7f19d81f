/* SPDX-License-Identifier: MIT */
/*
 * err.c - the one error type: see err.h
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "init/err.h"

/* one line of a terminal, whatever a path, an argument or the other side of a wall holds */
static void keep_line(struct err *e)
{
	for (char *at = e->text; *at; at++)
		if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
			*at = '?';
}

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
	keep_line(e);
	e->errnum = errnum ? errnum : EINVAL;
	return -e->errnum;
}

int err_say(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	keep_line(e);
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
	keep_line(e);
	return -e->errnum;
}
