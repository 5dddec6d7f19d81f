/* SPDX-License-Identifier: MIT */
/*
 * lines.h - lines from whoever types them: with editing and history on a terminal, plain
 * from a pipe or a file
 */
#ifndef STEPJAIL_AGENT_LINES_H
#define STEPJAIL_AGENT_LINES_H

#include <histedit.h>
#include <stdbool.h>

#include "agent/base/stop.h"
#include "agent/base/text.h"

#define LINES_MAX_BYTES ((size_t)1 << 20) /* of one line */

struct lines {
	struct stop *stop;
	EditLine *edit; /* NULL without a terminal */
	History *history;
	char *history_path; /* NULL for none */
	int history_fd;     /* to write it, or -1 */
	const char *prompt;
	bool stopped;     /* a signal ended the line */
	struct text rest; /* plain: read, and not handed out yet */
	size_t taken;
	bool ended;
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
 * lines_read() - The next line, its newline left out
 * @prompt:	Shown on a terminal
 *
 * Return: 1, 0 at the end, -ECANCELED (Ctrl-C on a terminal: this line is void), -EINTR
 * (another signal came), -E2BIG, or -errno of read(2)
 */
int lines_read(struct lines *l, const char *prompt, struct text *line, struct err *e);

/** lines_close() - Save the history, where there is one; safe on what was zeroed */
void lines_close(struct lines *l);

#endif
