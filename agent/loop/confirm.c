/* SPDX-License-Identifier: MIT */
/*
 * confirm.c - a person is asked before each step: see loop.h
 */
#include <fcntl.h>
#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/base/utf8.h"
#include "agent/loop/loop.h"

#define REASON_BYTES 4096 /* a terminal's line has no more */
#define QUESTION "run this step? y: yes; n REASON: no, and tell the model why; stop: "

int confirm_open(struct loop *l, uint64_t color, struct err *e)
{
	int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return err_set(
			e, errno,
			"--confirm: there is no terminal to ask at: leave it out; /dev/tty");
	show_open(&l->asker, fd, (enum show_color)color, l->task->stop);
	/* no other terminal is told: it is the controlling one, as /dev/tty is */
	l->asks_apart = tcgetsid(l->task->show.fd) < 0;
	return 0;
}

/* a line that is typed, without its newline; an end of file is "stop" */
static int read_line(struct loop *l, struct text *line, struct err *e)
{
	char byte = 0;

	text_clear(line);
	while (byte != '\n') {
		int r = stop_wait(l->task->stop, l->asker.fd, POLLIN, UINT64_MAX);
		ssize_t n = r < 0 ? r : read(l->asker.fd, &byte, 1);

		if (r == -EINTR)
			return err_say(e, EINTR, "stopped by a signal");
		if (n <= 0) {
			text_clear(line);
			text_puts(line, "stop");
			return 0;
		}
		if (byte != '\n' && line->length < REASON_BYTES)
			text_add(line, &byte, 1);
	}
	return 0;
}

/* what the line says: "run", "skip", "stop"; NULL: ask again */
static const char *choice_of(const char *line, const char **reason)
{
	size_t word = strcspn(line, " \t");

	*reason = line + word + strspn(line + word, " \t");
	if ((word == 1 && *line == 'n') || (word == 2 && strncmp(line, "no", word) == 0))
		return "skip";
	return strcmp(line, "y") == 0 || strcmp(line, "yes") == 0 ? "run"
	       : strcmp(line, "stop") == 0                        ? "stop"
								  : NULL;
}

enum outcome confirm_step(struct loop *l, uint64_t number, struct err *e)
{
	cleanup_text struct text line = { 0 };
	uint64_t asked_ms = units_now_ms();
	const char *choice = NULL, *reason = "";
	int r = 0;

	/* progress goes elsewhere: whoever is asked has not seen it */
	if (l->asks_apart)
		show_code(&l->asker, number, 0, text_string(&l->found.code),
			  l->found.code.length, false);
	while (r == 0 && !choice) {
		/* what was typed before the code was shown is no answer to it */
		(void)tcflush(l->asker.fd, TCIFLUSH);
		r = -stop_write(l->task->stop, l->asker.fd, QUESTION, strlen(QUESTION));
		r = r ? err_set(e, r, "--confirm: the terminal") : read_line(l, &line, e);
		choice = choice_of(text_string(&line), &reason);
	}
	if (r < 0)
		return loop_broken(r);
	/* a person's time is none of the task's */
	asked_ms = units_now_ms() - asked_ms;
	l->task->budget.started_ms += asked_ms;
	l->task->plan.deadline_ms += asked_ms;

	cJSON *o = cJSON_CreateObject();

	json_add(o, "step", number);
	json_add(o, "choice", choice);
	if (*reason)
		json_add(o, "reason", json_mended(reason, strlen(reason)));
	r = task_record(l->task, "confirm", o, e);
	if (r < 0)
		return loop_broken(r);
	if (strcmp(choice, "stop") == 0) {
		(void)err_say(e, ECANCELED, "ended at --confirm, before step %u",
			      (unsigned int)number);
		return OUTCOME_REFUSED;
	}
	if (strcmp(choice, "skip") == 0) {
		text_puts(
			&l->complaint,
			"A person who looked at your code did not let it run. Nothing was run. ");
		text_puts(&l->complaint,
			  *reason ? "Their reason: " : "They gave no reason.");
		utf8_mend(&l->complaint, reason, strlen(reason));
	}
	return LOOP_GO_ON;
}
