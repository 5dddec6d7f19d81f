/* SPDX-License-Identifier: MIT */
/*
 * lines.h - what is typed, line by line with editing and history; or a script, as it
 * comes from a pipe or a file
 */
#pragma once

#include <histedit.h>
#include <stdio.h>

#include "agent/base/stop.h"

struct lines {
	/* Tab: adds names that the word before the cursor, behind its last point, may
	 * become, each of TEXT_WORD and with a newline; or NULL */
	void (*complete)(void *arg, const char *line, size_t length, struct text *names);
	void *complete_arg;
	struct stop *stop;
	EditLine *edit; /* NULL without a terminal */
	History *history;
	FILE *history_file; /* to write it, or NULL */
	const char *prompt;
	struct text script; /* without a terminal: what was read and is not run yet */
	bool ended;         /* there is no more of it, or of what is typed */
};

/**
 * lines_open() - Read from stdin; with editing where both stdin and stdout are terminals
 * @keep:	Keep a history in a file, of mode 0600, in $XDG_STATE_HOME/stepjail or
 *		~/.local/state/stepjail
 *
 * Return: 0, or -ENOMEM
 */
int lines_open(struct lines *l, bool keep, struct stop *stop, struct err *e);

/**
 * lines_read() - The next line that is typed, its newline left out
 *
 * Return: 1, 0 at the end, which sets @ended, -ECANCELED (Ctrl-C: this line is void),
 * -EINTR (another signal came), -E2BIG or -ENOMEM
 */
int lines_read(struct lines *l, const char *prompt, struct text *line, struct err *e);

/** lines_waiting() - True when more was typed already, or comes at once: it is pasted */
bool lines_waiting(void);

/**
 * lines_more() - Wait for more of a script, and read what is there, up to @max in all
 *
 * What stdin holds goes to @script; at its end, which sets @ended, a last newline that is
 * missing is added.
 *
 * Return: 0, -EINTR (a signal came), -ENOMEM, or -errno of read(2)
 */
int lines_more(struct lines *l, size_t max, struct err *e);

/** lines_drop() - The first @length bytes of the script are done with */
void lines_drop(struct lines *l, size_t length);

/** lines_close() - Save the history, where there is one; safe on what was zeroed */
void lines_close(struct lines *l);
