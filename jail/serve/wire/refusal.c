/* SPDX-License-Identifier: MIT */
/*
 * refusal.c - why a frame of serve's client was refused: see refusal.h
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "jail/serve/wire/refusal.h"

const char *const refusal_words[REFUSAL_KINDS] = {
	[REFUSAL_FAILED] = "failed",
	[REFUSAL_BAD_FRAME] = "bad-frame",
	[REFUSAL_OUT_OF_TURN] = "out-of-turn",
	[REFUSAL_NO_SESSION] = "no-session",
	[REFUSAL_NOT_OPEN] = "not-open",
	[REFUSAL_ENDING] = "ending",
	[REFUSAL_CLOSED] = "closed",
	[REFUSAL_STOPPED] = "stopped",
	[REFUSAL_EXISTS] = "exists",
	[REFUSAL_NO_BRANCH] = "no-branch",
	[REFUSAL_NO_STATE] = "no-state",
	[REFUSAL_NO_STEP] = "no-step",
	[REFUSAL_BUSY] = "busy",
	[REFUSAL_LIMIT] = "limit",
	[REFUSAL_FILE] = "file",
};

int refusal_say(struct refusal *why, struct err *e, enum refusal_kind kind,
		const char *fmt, ...)
{
	char text[ERR_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	why->kind = kind;
	return err_say(e, EPERM, "%s", text);
}

struct refusal refusal_of_step(int errnum)
{
	bool gone = errnum == ESRCH || errnum == EPIPE || errnum == ECONNRESET;

	if (errnum == EDQUOT)
		return (struct refusal){ .kind = REFUSAL_LIMIT, .limit = "memory" };
	return (struct refusal){ .kind = gone ? REFUSAL_NO_STATE : REFUSAL_FAILED };
}
