/* SPDX-License-Identifier: MIT */
/*
 * task.c - what all who work on one task share, and a run in a jail of its own: see
 * task.h
 */
#include <errno.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/json.h"
#include "agent/base/units.h"
#include "agent/judge/task.h"
#include "agent/session/report.h"
#include "init/io.h"

#define BACKSTOP_MS 10000 /* for a stepjail that does not keep the limit */
#define DRAIN_READS 256   /* after the end: more than the pipes can hold */

int task_record(struct task *t, const char *event, cJSON *o, struct err *e)
{
	return transcript_add(&t->transcript, &t->session, event, o, e);
}

/* in poll()'s order: our ends of the child's fds 0 to LAUNCH_REPORT_FD first */
enum { FD_IN, FD_OUT, FD_ERR, FD_REPORT, FD_STOP, FD_PID, FDS };

struct run {
	struct task *task;
	uint64_t limit_ms;
	struct child child;
	int fd[FDS];       /* the last two are not owned */
	struct span input; /* what is left of it */
	struct text report;
};

static int start(struct run *r, int line, struct err *e)
{
	int theirs[LAUNCH_FDS] = { -1, -1, -1, -1 };
	int s = 0;

	for (int i = 0; s == 0 && i < LAUNCH_FDS; i++)
		s = launch_pipe(i == FD_IN, &r->fd[i], &theirs[i], e);
	if (s == 0)
		s = broker_start(&r->task->confined.broker, line, theirs, LAUNCH_FDS,
				 NULL, &r->child, e);
	for (int i = 0; i < LAUNCH_FDS; i++)
		io_close_fd(&theirs[i]);
	r->fd[FD_PID] = r->child.pidfd;
	return s;
}

static void feed(struct run *r)
{
	ssize_t n = write(r->fd[FD_IN], r->input.at, r->input.length);

	if (n > 0)
		r->input = span_skip(r->input, (size_t)n);
	/* one that reads no more has its reasons */
	if (!r->input.length || (n < 0 && errno != EAGAIN && errno != EINTR))
		io_close_fd(&r->fd[FD_IN]);
}

/* one read of each; true while any gave bytes */
static bool drain(struct run *r)
{
	struct run_once *once = &r->task->once;
	bool more = false;

	for (int i = FD_OUT; i <= FD_REPORT; i++) {
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
			clip_add(i == FD_OUT ? &once->out : &once->err, bytes, (size_t)n);
	}
	return more;
}

/* 0 once stepjail has ended */
static int wait_for_end(struct run *r, struct err *e)
{
	uint64_t late_ms = units_now_ms() + r->limit_ms + BACKSTOP_MS;
	uint64_t deadline_ms = r->task->plan.deadline_ms;
	uint64_t until_ms = late_ms < deadline_ms ? late_ms : deadline_ms;

	for (;;) {
		struct pollfd polls[FDS];

		for (int i = 0; i < FDS; i++)
			polls[i] = (struct pollfd){ .fd = r->fd[i],
						    .events = i == FD_IN ? POLLOUT
									 : POLLIN };
		if (poll(polls, FDS, units_poll_ms(until_ms)) < 0 && errno != EINTR)
			return err_set(e, errno, "poll");
		if (stop_came(r->task->stop))
			return err_say(e, EINTR, "stopped by a signal");
		if (polls[FD_IN].revents)
			feed(r);
		(void)drain(r);
		if (polls[FD_PID].revents)
			return 0;
		if (units_left_ms(deadline_ms) == 0)
			return err_say(e, ETIMEDOUT, "the time of the task is over");
		if (units_left_ms(late_ms) == 0)
			return 0; /* without a report, and without an exit status */
	}
}

static int judge(struct run *r, struct err *e)
{
	struct run_once *o = &r->task->once;
	cleanup_text struct text why = { 0 };
	int status = launch_end(&r->child, 0);

	for (int i = 0; i < DRAIN_READS && drain(r); i++)
		continue;
	o->facts = (struct verdict_facts){ .verdict = VERDICT_LAUNCHER_ERROR,
					   .limit_ms = r->limit_ms };

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

int task_run(struct task *t, int line, uint64_t limit_ms, const struct text *input,
	     struct err *e)
{
	uint64_t started_ms = units_now_ms();
	struct run r = {
		.task = t,
		.limit_ms = limit_ms,
		.child.pidfd = -1,
		.fd = { -1, -1, -1, -1, t->stop->fd, -1 },
		.input = { text_string(input), input->length },
		.report.max = REPORT_MAX_BYTES,
	};
	int s = start(&r, line, e);

	t->once.good = false;
	clip_clear(&t->once.out);
	clip_clear(&t->once.err);
	if (s == 0)
		s = wait_for_end(&r, e);
	if (s == 0)
		s = judge(&r, e);
	(void)launch_end(&r.child, 0);
	for (int i = 0; i <= FD_REPORT; i++)
		io_close_fd(&r.fd[i]);
	text_free(&r.report);
	t->once.wall_ms = units_now_ms() - started_ms;
	return s;
}
