/* SPDX-License-Identifier: MIT */
/*
 * refusal.c - why a frame of serve's client was refused: see refusal.h
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "init/wire.h"
#include "jail/serve/refusal.h"

static const char *const kinds[REFUSAL_KINDS] = {
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

static const struct {
	uint16_t type;
	const char *word;
} frames[] = {
	{ WIRE_OPEN, "OPEN" },     { WIRE_ONCE, "ONCE" },
	{ WIRE_CODE, "CODE" },     { WIRE_RUN, "RUN" },
	{ WIRE_STDIN, "STDIN" },   { WIRE_INTERRUPT, "INTERRUPT" },
	{ WIRE_KILL, "KILL" },     { WIRE_ROLLBACK, "ROLLBACK" },
	{ WIRE_BRANCH, "BRANCH" }, { WIRE_DROP, "DROP" },
	{ WIRE_PUT, "PUT" },       { WIRE_GET, "GET" },
	{ WIRE_LIST, "LIST" },     { WIRE_DATA, "DATA" },
	{ WIRE_END, "END" },       { WIRE_STATUS, "STATUS" },
	{ WIRE_CLOSE, "CLOSE" },
};

const char *refusal_frame(uint16_t type)
{
	for (size_t i = 0; i < COUNT(frames); i++)
		if (frames[i].type == type)
			return frames[i].word;
	return NULL;
}

const char *refusal_word(enum refusal_kind kind)
{
	return kinds[kind];
}

struct refusal refusal_of_step(int errnum)
{
	bool gone = errnum == ESRCH || errnum == EPIPE || errnum == ECONNRESET;

	if (errnum == EDQUOT)
		return (struct refusal){ .kind = REFUSAL_LIMIT, .limit = "memory" };
	return (struct refusal){ .kind = gone ? REFUSAL_NO_STATE : REFUSAL_FAILED };
}
