/* SPDX-License-Identifier: MIT */
/*
 * session.c - a step's beginning and end, on the supervisor's side: see session.h
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "rootfs/session.h"

uint64_t session_clock_us(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static uint64_t timeval_us(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

int session_tell(struct session *s, uint16_t type, const void *bytes, size_t length,
		 struct err *e)
{
	int r = wire_send(s->fd[CLIENT], type, s->step, bytes, length);

	return r < 0 ? err_set(e, -r, "session: cannot send to the client") : 0;
}

int session_drain(struct session *s, enum watch w, struct err *e)
{
	static unsigned char bytes[WIRE_PAYLOAD_MAX];
	int left = 0;

	(void)ioctl(s->fd[w], FIONREAD, &left);
	do {
		ssize_t n = read(s->fd[w], bytes, sizeof(bytes));

		if (n == 0) /* nobody holds the other end any more */
			io_close_fd(&s->fd[w]);
		if (n <= 0)
			break;
		int r = session_tell(s, w == OUT ? WIRE_OUT : WIRE_ERR, bytes, (size_t)n,
				     e);
		if (r < 0)
			return r;
		left -= (int)n;
	} while (left > 0);
	return 0;
}

int session_drain_both(struct session *s, struct err *e)
{
	int r = session_drain(s, OUT, e);

	return r < 0 ? r : session_drain(s, ERR, e);
}

int session_finish(struct session *s, struct wire_done *done, int keep, struct err *e)
{
	done->wall_us = session_clock_us(CLOCK_MONOTONIC) - s->begun_us;
	done->strays = sweep_strays(keep);
	done->reserved = 0;

	int r = session_drain_both(s, e);

	if (r == 0)
		r = session_tell(s, WIRE_DONE, done, sizeof(*done), e);
	s->mail->length = 0;
	s->step = 0;
	s->pending = false;
	return r;
}

static int refuse_oversize(struct session *s, struct err *e)
{
	struct wire_done done = { .how = WIRE_HOW_EXCEPTION };
	char text[80];
	int n = snprintf(text, sizeof(text),
			 "ValueError: a step's source may have %u bytes at most\n",
			 STEPS_SOURCE_MAX);
	int r = session_tell(s, WIRE_TRACE, text, (size_t)n, e);

	s->oversize = false;
	return r < 0 ? r : session_finish(s, &done, s->interpreter, e);
}

int session_run(struct session *s, struct err *e)
{
	s->begun_us = session_clock_us(CLOCK_MONOTONIC);
	if (s->oversize)
		return refuse_oversize(s, e);
	s->pending = s->state == STARTING;
	if (s->pending)
		return 0;
	s->state = RUNNING;
	/* one packet into an empty queue does not block; SIGCHLD tells of a dead reader
	 */
	(void)wire_send(s->fd[CHANNEL], WIRE_RUN, s->step, NULL, 0);
	return 0;
}

int session_died(struct session *s, int wstatus, const struct rusage *used, struct err *e)
{
	bool in_step = s->state == RUNNING || s->pending;
	int r = 0;

	s->interpreter = 0;
	if (s->state == STARTING && !s->killed) {
		char text[4096];
		ssize_t n = read(s->fd[ERR], text, sizeof(text));

		if (n > 0)
			(void)io_write_all(STDERR_FILENO, text, (size_t)n);
		return err_say(e, ECHILD,
			       "session: the interpreter does not start "
			       "(wait status %#x): its messages are above",
			       wstatus);
	}
	if (in_step) {
		uint64_t cpu_us = timeval_us(used->ru_utime) + timeval_us(used->ru_stime);
		struct wire_done done = {
			.how = WIRE_HOW_DIED,
			.code = (uint32_t)wstatus,
			.cpu_us = cpu_us > s->spent_us ? cpu_us - s->spent_us : 0,
			.max_rss_bytes = (uint64_t)used->ru_maxrss * 1024,
		};

		r = session_finish(s, &done, 0, e);
	} else {
		(void)sweep_strays(0);
	}
	interpreter_end(s);
	return r < 0 ? r : interpreter_start(s, e);
}
