/* SPDX-License-Identifier: MIT */
/*
 * err.h - the one error type
 *
 * An error is written once, where it happens, and passed up untouched. Only main() prints
 * it. Functions return 0 or more on success and -errno on failure, and fill the caller's
 * struct err as their last argument. An error quotes paths, arguments and words of a
 * jail; their control bytes, but for tabs, become '?': an error is one line and moves no
 * cursor.
 */
#pragma once

#include <errno.h>
#include <stdint.h>

#include "init/count.h"

#define ERR_TEXT_MAX 512

struct err {
	int errnum;              /* a positive errno, 0 when nothing failed */
	char text[ERR_TEXT_MAX]; /* one line, no control bytes, says what to mend */
};

/**
 * err_set() - Write an error, errno's own words behind it
 * @e:		Filled; the text is cut, never overrun
 * @errnum:	Positive errno; 0 leaves errno's words out
 * @fmt:	printf format of what was being done, and to what
 *
 * Safe between clone and exec: formats into @e alone, allocates nothing.
 *
 * Return: -errnum, or -EINVAL for an errnum of 0, so that callers can return it
 */
int err_set(struct err *e, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * err_say() - Write an error whose text says it all (no errno words)
 * @e:		Filled
 * @errnum:	Positive errno that describes its kind
 * @fmt:	printf format of the whole line
 *
 * Return: -errnum
 */
int err_say(struct err *e, int errnum, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/**
 * err_within() - Put words before a written error
 * @e:		Written by err_set() or err_say(); keeps its errnum
 * @fmt:	printf format of what stands before the text; ": " is not added
 *
 * Return: -e->errnum
 */
int err_within(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/** err_told() - Return: an errno that a jail sent, or EPROTO if the number is none */
int err_told(uint32_t errnum);
