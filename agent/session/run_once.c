/* SPDX-License-Identifier: MIT */
/*
 * run_once.c - one run in a jail of its own: see run_once.h
 */
#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/json.h"
#include "agent/base/units.h"
#include "agent/session/report.h"
#include "agent/session/run_once.h"
#include "init/io.h"

#define BACKSTOP_MS 10000 /* for a stepjail that does not keep the limit */
#define DRAIN_READS 256   /* after the end: more than the pipes can hold */

/* in poll()'s order */
enum { FD_STOP, FD_PID, FD_IN, FD_OUT, FD_ERR, FD_REPORT, FDS };

struct run {
	struct run_once *o;
	struct child child;
	int fd[FDS]; /* the first two are not owned */
	const char *input;
	size_t left;
	struct text report;
};

static void end_run(struct run *r)
{
	(void)launch_end(&r->child, 0);
	for (int i = FD_IN; i < FDS; i++)
		io_close_fd(&r->fd[i]);
	text_free(&r->report);
}

static int start(struct run *r, const struct run_once_plan *p, struct err *e)
{
	cleanup_fd int in = -1, out = -1, err = -1, report = -1;
	int s = launch_pipe(true, &r->fd[FD_IN], &in, e);

	if (s == 0)
		s = launch_pipe(false, &r->fd[FD_OUT], &out, e);
	if (s == 0)
		s = launch_pipe(false, &r->fd[FD_ERR], &err, e);
	if (s == 0)
		s = launch_pipe(false, &r->fd[FD_REPORT], &report, e);
	if (s < 0)
		return s;

	const int fds[LAUNCH_FDS] = { in, out, err, report };

	s = broker_start(p->broker, p->line, fds, LAUNCH_FDS, NULL, &r->child, e);
	r->fd[FD_PID] = r->child.pidfd;
	r->fd[FD_STOP] = p->stop->fd;
	return s;
}

static void feed(struct run *r)
{
	ssize_t n = r->left ? write(r->fd[FD_IN], r->input, r->left) : 0;

	if (n > 0) {
		r->input += n;
		r->left -= (size_t)n;
	}
	/* one that reads no more has its reasons */
	if (!r->left || (n < 0 && errno != EAGAIN && errno != EINTR))
		io_close_fd(&r->fd[FD_IN]);
}

/* one read of each; true while any gave bytes */
static bool drain(struct run *r)
{
	bool more = false;

	for (int i = FD_OUT; i < FDS; i++) {
		char bytes[8192];
		ssize_t n = r->fd[i] < 0 ? -1 : read(r->fd[i], bytes, sizeof(bytes));

		if (n == 0)
			io_close_fd(&r->fd[i]);
		if (n <= 0)
			continue;
		more = true;
		if (i == FD_REPORT)
			text_add(&r->report, bytes, (size_t)n);
		else
			clip_add(i == FD_OUT ? &r->o->out : &r->o->err, bytes, (size_t)n);
	}
	return more;
}

/* 0 once stepjail has ended */
static int wait_for_end(struct run *r, const struct run_once_plan *p, struct err *e)
{
	uint64_t late_ms = units_now_ms() + p->limit_ms + BACKSTOP_MS;
	uint64_t until_ms = late_ms < p->deadline_ms ? late_ms : p->deadline_ms;

	for (;;) {
		struct pollfd polls[FDS];

		for (int i = 0; i < FDS; i++)
			polls[i] = (struct pollfd){ .fd = r->fd[i],
						    .events = i == FD_IN ? POLLOUT
									 : POLLIN };
		if (poll(polls, FDS, units_poll_ms(until_ms)) < 0 && errno != EINTR)
			return err_set(e, errno, "poll");
		if (stop_came(p->stop))
			return err_say(e, EINTR, "stopped by a signal");
		if (polls[FD_IN].revents)
			feed(r);
		(void)drain(r);
		if (polls[FD_PID].revents)
			return 0;
		if (units_left_ms(p->deadline_ms) == 0)
			return err_say(e, ETIMEDOUT, "the time of the task is over");
		if (units_left_ms(late_ms) == 0)
			return 0; /* without a report, and without an exit status */
	}
}

static int judge(struct run *r, const struct run_once_plan *p, struct err *e)
{
	struct run_once *o = r->o;
	cleanup_text struct text why = { 0 };
	int status = launch_end(&r->child, 0);

	for (int i = 0; i < DRAIN_READS && drain(r); i++)
		continue;
	o->facts = (struct verdict_facts){ .verdict = VERDICT_LAUNCHER_ERROR,
					   .limit_ms = p->limit_ms };

	cJSON *report = json_parse(text_string(&r->report), r->report.length);
	bool told = report_run(report, &o->facts);

	cJSON_Delete(report);
	o->good = told && o->facts.verdict == VERDICT_COMPLETED && WIFEXITED(status) &&
		  WEXITSTATUS(status) == 0;
	/* stepjail was killed, or says two things: nobody knows how it ended */
	if (o->facts.verdict == VERDICT_COMPLETED && !o->good)
		o->facts.verdict = VERDICT_LAUNCHER_ERROR;
	if (!told || o->facts.verdict != VERDICT_LAUNCHER_ERROR)
		return 0;
	clip_last_line(&o->err, &why);
	return err_say(e, ENOTRECOVERABLE, "it cannot be started: %s",
		       why.length ? text_string(&why) : "stepjail gave no reason");
}

int run_once(const struct run_once_plan *p, const void *input, size_t length,
	     struct run_once *o, struct err *e)
{
	uint64_t started_ms = units_now_ms();
	struct run r = { .o = o, .input = input, .left = length };

	r.child.pidfd = -1;
	r.report.max = REPORT_MAX_BYTES;
	for (int i = 0; i < FDS; i++)
		r.fd[i] = -1;
	o->good = false;
	clip_clear(&o->out);
	clip_clear(&o->err);

	int s = start(&r, p, e);

	if (s == 0)
		s = wait_for_end(&r, p, e);
	if (s == 0)
		s = judge(&r, p, e);
	end_run(&r);
	o->wall_ms = units_now_ms() - started_ms;
	return s;
}
