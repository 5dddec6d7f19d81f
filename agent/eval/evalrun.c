/* SPDX-License-Identifier: MIT */
/*
 * evalrun.c - run a set of tasks, each in a fresh jail: see evalrun.h
 *
 * Theory of operation
 *   A fixed number of slots. Each is a stepjail with four pipes: stdin (the task and the
 *   secret), stdout (the verdict), stderr (errors) and the report. One poll() over all of
 *   them; a slot whose stepjail has ended is drained, judged and filled again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/clip.h"
#include "agent/base/escape.h"
#include "agent/base/nonce.h"
#include "agent/base/units.h"
#include "agent/eval/evalrun.h"
#include "agent/judge/harness.h"
#include "agent/session/launch.h"
#include "agent/session/report.h"
#include "init/io.h"

#define BACKSTOP_MS                                                                      \
	10000 /* stepjail keeps the limit; this is for a stepjail that does not */
#define STDOUT_MAX ((size_t)4096)

/* a slot's fds in poll()'s order */
enum { SLOT_PID, SLOT_IN, SLOT_OUT, SLOT_ERR, SLOT_REPORT, SLOT_FDS };

struct slot {
	bool busy;
	size_t task;
	struct child child;
	int fd[SLOT_FDS]; /* SLOT_PID is child.pidfd, not owned here */
	struct text input;
	size_t sent;
	struct text out;
	struct clip err;
	struct text report;
	char secret[NONCE_HEX];
	uint64_t started_ms;
};

static void free_slot(struct slot *s)
{
	(void)launch_end(&s->child, 0);
	for (int i = SLOT_IN; i < SLOT_FDS; i++)
		io_close_fd(&s->fd[i]);
	text_free(&s->input);
	text_free(&s->out);
	text_free(&s->report);
	s->busy = false;
}

void evalrun_args(const struct evalrun_plan *p, struct launch_args *a)
{
	launch_add_run(a, p->rootfs, p->task_ms);
	launch_add(a, "--proc");
	launch_add(a, "none"); /* no way from the solution to its judge's fds */
	launch_add_passed(a, p->pass);
	launch_add(a, "--");
	launch_add(a, "/bin/python3");
	launch_add(a, "-I");
	launch_add(a, "-c");
	launch_add(a, "%s", harness_source);
}

static int start(struct slot *s, const struct evalset *set, const struct evalrun_plan *p,
		 size_t task, struct err *e)
{
	cleanup_fd int in_read = -1, out_write = -1, err_write = -1, report_write = -1;
	int r = nonce_make(s->secret, e);

	s->busy = true;
	s->task = task;
	s->sent = 0;
	s->out.max = STDOUT_MAX;
	s->report.max = REPORT_MAX_BYTES;
	s->started_ms = units_now_ms();
	clip_clear(&s->err);
	if (r == 0)
		r = evalset_input(&set->tasks[task], p->body, s->secret, &s->input, e);
	if (r == 0)
		r = launch_pipe(&in_read, &s->fd[SLOT_IN], e);
	if (r == 0)
		r = launch_pipe(&s->fd[SLOT_OUT], &out_write, e);
	if (r == 0)
		r = launch_pipe(&s->fd[SLOT_ERR], &err_write, e);
	if (r == 0)
		r = launch_pipe(&s->fd[SLOT_REPORT], &report_write, e);
	if (r < 0)
		return r;
	/* this time it is the writing end that must not block, and the child's that must
	 */
	if (fcntl(in_read, F_SETFL, 0) < 0 ||
	    fcntl(s->fd[SLOT_IN], F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, errno, "pipe");

	const int fds[LAUNCH_FDS] = { in_read, out_write, err_write, report_write };

	r = broker_start(p->broker, fds, &s->child, e);
	s->fd[SLOT_PID] = s->child.pidfd;
	return r;
}

static void feed(struct slot *s)
{
	ssize_t n = write(s->fd[SLOT_IN], s->input.bytes + s->sent,
			  s->input.length - s->sent);

	if (n > 0)
		s->sent += (size_t)n;
	if (s->sent == s->input.length || (n < 0 && errno != EAGAIN && errno != EINTR))
		io_close_fd(&s->fd[SLOT_IN]);
}

/* one read from each pipe that has something; true while any gave bytes */
static bool drain(struct slot *s)
{
	bool more = false;

	for (int i = SLOT_OUT; i < SLOT_FDS; i++) {
		char bytes[8192];
		ssize_t n = s->fd[i] < 0 ? -1 : read(s->fd[i], bytes, sizeof(bytes));

		if (n == 0)
			io_close_fd(&s->fd[i]);
		if (n <= 0)
			continue;
		more = true;
		if (i == SLOT_OUT)
			text_add(&s->out, bytes, (size_t)n);
		else if (i == SLOT_ERR)
			clip_add(&s->err, bytes, (size_t)n);
		else
			text_add(&s->report, bytes, (size_t)n);
	}
	return more;
}

/* the last line that is not empty */
static void last_line(const struct slot *s, char *line, size_t size)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text tail = { 0 };
	cleanup_text struct text shown = { 0 };

	(void)clip_take(&s->err, &head, &tail);

	const struct text *all = tail.length ? &tail : &head;
	size_t end = all->length;

	while (end && strchr(" \r\n", all->bytes[end - 1]))
		end--;

	size_t from = end;

	while (from && all->bytes[from - 1] != '\n')
		from--;
	if (end > from)
		escape_line(&shown, all->bytes + from, end - from);
	/* cut behind the escapes, which are ASCII; what was no escape may be cut in two
	 */
	(void)snprintf(line, size, "%s", text_string(&shown));
}

static int judge(struct slot *s, struct eval_result *result, struct err *e)
{
	struct verdict_facts facts = { .verdict = VERDICT_LAUNCHER_ERROR };
	int status = launch_end(&s->child, 0);
	size_t secret = strlen(s->secret);

	for (int i = 0; i < 64 && drain(s); i++)
		continue;
	(void)report_read(text_string(&s->report), s->report.length, &facts);
	*result = (struct eval_result){
		.verdict = facts.verdict,
		.wall_ms = units_now_ms() - s->started_ms,
		.passed = WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
			  s->out.length == secret + 1 &&
			  memcmp(s->out.bytes, s->secret, secret) == 0,
	};
	if (!result->passed)
		last_line(s, result->error, sizeof(result->error));
	if (facts.verdict == VERDICT_LAUNCHER_ERROR)
		return err_say(e, ENOTRECOVERABLE, "the jail did not start: %s",
			       result->error[0] ? result->error
						: "stepjail gave no reason");
	return 0;
}

struct pool {
	const struct evalset *set;
	const struct evalrun_plan *plan;
	struct eval_result *results;
	struct slot *slots;
	struct pollfd *polls; /* SLOT_FDS for each slot, then the stop */
	size_t next;          /* task that is started next */
	size_t running;
};

static int fill(struct pool *p, struct err *e)
{
	for (size_t i = 0; i < p->plan->jobs && p->next < p->set->count; i++) {
		if (p->slots[i].busy)
			continue;

		int r = start(&p->slots[i], p->set, p->plan, p->next, e);

		if (r < 0)
			return r;
		p->next++;
		p->running++;
	}
	return 0;
}

static void prepare_poll(struct pool *p)
{
	struct pollfd *at = p->polls;

	for (size_t i = 0; i < p->plan->jobs; i++)
		for (int k = 0; k < SLOT_FDS; k++, at++)
			*at = (struct pollfd){
				.fd = p->slots[i].busy ? p->slots[i].fd[k] : -1,
				.events = k == SLOT_IN ? POLLOUT : POLLIN,
			};
	*at = (struct pollfd){ .fd = p->plan->stop->fd, .events = POLLIN };
}

static int serve(struct pool *p, size_t i, struct err *e)
{
	struct slot *s = &p->slots[i];
	const struct pollfd *polls = &p->polls[i * SLOT_FDS];
	bool late = units_now_ms() > s->started_ms + p->plan->task_ms + BACKSTOP_MS;

	if (!s->busy)
		return 0;
	if (polls[SLOT_IN].revents)
		feed(s);
	(void)drain(s);
	if (!polls[SLOT_PID].revents && !late)
		return 0;

	struct eval_result *result = &p->results[s->task];
	int r = judge(s, result, e);

	if (r == 0)
		r = p->plan->ended(p->plan->ended_arg, s->task, result, e);
	free_slot(s);
	p->running--;
	return r;
}

static int run_pool(struct pool *p, struct err *e)
{
	int r = fill(p, e);

	while (r == 0 && p->running) {
		prepare_poll(p);
		if (poll(p->polls, p->plan->jobs * SLOT_FDS + 1, 1000) < 0 &&
		    errno != EINTR)
			return err_set(e, errno, "poll");
		if (stop_came(p->plan->stop))
			return err_say(e, EINTR, "stopped by a signal");
		for (size_t i = 0; r == 0 && i < p->plan->jobs; i++)
			r = serve(p, i, e);
		if (r == 0)
			r = fill(p, e);
	}
	return r;
}

int evalrun(const struct evalset *set, const struct evalrun_plan *plan,
	    struct eval_result *results, struct err *e)
{
	struct pool p = { .set = set, .plan = plan, .results = results };
	int r;

	p.slots = calloc(plan->jobs, sizeof(*p.slots));
	p.polls = calloc(plan->jobs * SLOT_FDS + 1, sizeof(*p.polls));
	if (!p.slots || !p.polls) {
		free(p.slots);
		free(p.polls);
		return err_set(e, ENOMEM, "eval");
	}
	for (size_t i = 0; i < plan->jobs; i++) {
		p.slots[i].child.pidfd = -1;
		for (int k = 0; k < SLOT_FDS; k++)
			p.slots[i].fd[k] = -1;
	}
	r = run_pool(&p, e);
	for (size_t i = 0; i < plan->jobs; i++)
		free_slot(&p.slots[i]);
	free(p.slots);
	free(p.polls);
	return r;
}
