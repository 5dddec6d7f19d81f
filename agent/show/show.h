/* SPDX-License-Identifier: MIT */
/*
 * show.h - what the user sees while the loop runs
 *
 * On a terminal in modest colour, else plain. Bytes of the model and of the jail are
 * escaped, nothing of theirs moves the cursor, and their lines carry a mark of their own,
 * so that neither can write a line that looks like the agent's. One line of the agent's
 * own is written over on a terminal: what it waits for.
 */
#pragma once

#include "agent/session/session.h"
#include "agent/show/live.h"

/* who is shown as it comes */
enum show_row { SHOW_MODEL, SHOW_OUT, SHOW_ERR, SHOW_ROWS };

#define SHOW_STREAMS 5 /* those of enum session_heard */

enum show_color { SHOW_AUTO, SHOW_ALWAYS, SHOW_NEVER };

struct show {
	int fd; /* -1 shows nothing */
	bool color;
	bool terminal; /* lines are broken at its width, each part behind its mark */
	struct stop *stop;
	int failed; /* errno of the first write that failed; EINTR for a signal */
	struct live rows[SHOW_ROWS]; /* what is coming; of one of them a row is begun */
	size_t shown[SHOW_STREAMS];  /* bytes of a step's streams that were shown */
	bool seen;                   /* all words of the last reply were shown */
	const char *waiting, *whom;  /* for what, or NULL */
	uint64_t waits_ms;           /* since when */
	bool wait_shown;             /* there is a line that says so */
	bool rewrites;               /* a terminal that can write a line over */
	bool writing;
};

/**
 * show_open() - Decide where to show and whether in colour
 * @s:		With stderr, @stop has its address from then on
 * @fd:		Where to; -1 for nowhere
 *
 * SHOW_AUTO means colour on a terminal, unless NO_COLOR is set and not empty or TERM is
 * dumb.
 */
void show_open(struct show *s, int fd, enum show_color color, struct stop *stop);

/** show_check() - 0, or -EINTR or -errno where something could not be shown */
int show_check(const struct show *s, struct err *e);

/**
 * show_wait() - Say what is waited for, and how long, where that takes a second or more
 * @what:	NULL: it has come
 * @whom:	Stays valid, as @what does
 *
 * On a terminal alone: that line is written over, and goes.
 */
void show_wait(struct show *s, const char *what, const char *whom);

enum show_kind { SHOW_LINE, SHOW_NOTE, SHOW_PLACE };

/**
 * show_tell() - A line of the agent's own, formatted; its text is escaped all the same
 *
 * A note is about waiting and other small things; a place is a note with a path of the
 * user's, in one piece, so that it can be copied.
 */
void show_tell(struct show *s, enum show_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define show_line(s, ...) show_tell(s, SHOW_LINE, __VA_ARGS__)
#define show_note(s, ...) show_tell(s, SHOW_NOTE, __VA_ARGS__)
#define show_place(s, ...) show_tell(s, SHOW_PLACE, __VA_ARGS__)

/** show_notes() - Several of them; those behind ESCAPE_MARK have it before each part */
void show_notes(struct show *s, const char *lines);

/** show_words() - What the model said beside a call; nothing where it said nothing */
void show_words(struct show *s, const char *words, size_t length);

/** show_thinking() - What the model thought, where it was not shown as it came: its
 * beginning */
void show_thinking(struct show *s, const char *words, size_t length);

/**
 * show_live() - A piece of the model's words as it comes; for a terminal, as struct
 * model_plan's @heard; @arg is a struct show
 * @words:	NULL behind the last, and where the reply broke off
 */
void show_live(void *arg, const char *words, size_t length);

/**
 * show_code() - A step's head and its code
 * @total:	0 where it is not known
 * @said:	The code stood in the model's words: not again, where they were shown
 */
void show_code(struct show *s, uint64_t number, uint64_t total, const char *code,
	       size_t length, bool said);

/** show_heard() - For struct session_plan's @heard; @arg is a struct show */
void show_heard(void *arg, uint16_t type, const void *bytes, size_t length);

/** show_step() - What the step printed and showed, as far as it was not shown as it came,
 * and its verdict */
void show_step(struct show *s, const struct step *step);

/** show_refused() - Which calls of a step were refused, if any: report_refused() */
void show_refused(struct show *s, const cJSON *violations, bool killed);

/** show_not_enforced() - A warning where this OPENED lists limits that the host
 * does not enforce */
void show_not_enforced(struct show *s, const cJSON *opened);

/**
 * show_said() - What stepjail and the jail's interpreter said beside the steps
 * @clip:	Shown and cleared
 */
void show_said(struct show *s, struct clip *clip);

/** show_said_by() - What a step gave to display(), as what it printed is shown */
void show_said_by(struct show *s, const struct clip *clip);

/** show_answer() - The final answer */
void show_answer(struct show *s, const char *answer, size_t length);
