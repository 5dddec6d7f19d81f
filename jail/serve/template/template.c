/* SPDX-License-Identifier: MIT */
/*
 * template.c - a warm interpreter that jails are cloned from: see template.h
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/walls/gate.h"
#include "jail/base/fd_passing.h"
#include "jail/launch/posture.h"
#include "jail/base/procfs.h"
#include "jail/walls/stage.h"
#include "jail/base/clock.h"
#include "jail/serve/template/template.h"
#include "jail/walls/warm.h"
#include "jail/walls/warm_plan.h"

/* a clone takes it a millisecond; a host that is short of everything, some more */
#define ANSWER_MS 5000

/* it lies in the channel until the template comes for it */
static int send_plan(const struct template *t, struct err *e)
{
	cleanup_fd int memory = warm_plan_write(t->parts.plan, &t->parts.sources,
						t->parts.landlock_abi, e);
	int r = memory < 0 ? memory : fd_passing_send(t->channel, "", 1, &memory, 1);

	return memory >= 0 && r < 0 ? fd_passing_failed(-r, "template: send its plan", e)
				    : r;
}

static int watch(struct template *t, struct err *e)
{
	const int fds[] = { t->jail.control, t->jail.gate, t->channel };

	t->events = epoll_create1(EPOLL_CLOEXEC);
	for (size_t i = 0; i < COUNT(fds); i++)
		if (epoll_ctl(t->events, EPOLL_CTL_ADD, fds[i],
			      &(struct epoll_event){ .events = EPOLLIN,
						     .data.fd = fds[i] }) < 0)
			return err_set(e, errno, "template: epoll");
	return 0;
}

int template_start(struct template *t, const struct parts *parts, char *const *argv,
		   int out, struct err *e)
{
	int ends[2], r;

	*t = (struct template){ .jail = JAIL_NONE, .channel = -1, .events = -1 };
	t->plan = *parts->plan;
	t->plan.template = true;
	t->plan.session = false;
	t->plan.argv = argv;
	t->parts = *parts;
	t->start_ms = clock_now_ms();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "template: socket pair");
	t->channel = ends[0];
	t->jail.stdio[0] = ends[1];
	for (int fd = 1; fd <= 2; fd++)
		t->jail.stdio[fd] = fcntl(out, F_DUPFD_CLOEXEC, 3);
	r = send_plan(t, e);
	t->parts.plan = &t->plan;
	if (r == 0)
		r = launch_jail(&t->jail, &t->parts, e);
	/* the folder is this template's alone, and is removed with it */
	if (r == 0 && t->jail.limited && t->jail.ids.own)
		r = cgroup_give(t->jail.cgroup.inner, ids_program(&t->jail.ids), e);
	return r < 0 ? err_within(e, "template: ") : watch(t, e);
}

/* what init says, or a stage that failed */
static int serve_control(struct template *t, struct err *e)
{
	int r = wire_reader_fill(&t->reader, t->jail.control);
	struct wire_header h;
	struct wire_fail fail;
	const unsigned char *payload;

	if (r == 0 || r == -EINTR)
		return 0;
	if (r < 0)
		return err_say(e, EPIPE, "template: it has ended");
	payload = wire_reader_take(&t->reader, &h);
	if (h.type == WIRE_READY)
		return 0;
	if (h.type != WIRE_FAIL || h.length != sizeof(fail))
		return err_say(e, EPIPE, "template: its program has ended");
	memcpy(&fail, payload, sizeof(fail));
	fail.text[sizeof(fail.text) - 1] = '\0';
	return err_say(e, fail.errnum ? err_told(fail.errnum) : EPIPE, "template: %s",
		       fail.text);
}

/* what it has of a jail's walls, before it runs its tree */
static int look(struct template *t, pid_t program, uint32_t landlock, struct err *e)
{
	struct posture p = { 0 };
	int r = posture_read(&t->jail, program, landlock, &p, e);

	posture_end(&p);
	if (r == 0 && t->jail.limited)
		r = cgroup_verify(t->jail.cgroup.leaf, t->jail.plan,
				  &t->jail.cgroup.limits, e);
	return r < 0 ? err_within(e, "template: ") : 0;
}

static int serve_gate(struct template *t, struct err *e)
{
	uint32_t landlock;
	cleanup_fd int listener = -1;
	pid_t program;
	int r = gate_receive(t->jail.gate, &program, &t->jail.netlink, &listener,
			     &landlock, e);

	/* before it is closed: a jail's child may hold a copy of it until its exec, and then
	 * the set would go on to tell of it */
	(void)epoll_ctl(t->events, EPOLL_CTL_DEL, t->jail.gate, NULL);
	if (r > 0)
		r = look(t, program, landlock, e) < 0 ? -e->errnum : r;
	io_close_fd(&t->jail.netlink);
	if (r > 0 && gate_open(&t->jail.gate) < 0)
		r = err_say(e, EPIPE, "template: it ended at its gate");
	io_close_fd(&t->jail.gate);
	return r;
}

static int take_answer(const struct template *t, int *pidfd, struct err *e)
{
	struct warm_answer a;
	int r = fd_passing_receive(t->channel, &a, sizeof(a), pidfd, 1);

	if (r == -EPIPE || r == -ECONNRESET)
		return err_say(e, EPIPE,
			       "template: it has ended; stderr may say why, and "
			       "--memory is what it may use, too");
	if (r < 0)
		return err_set(e, -r, "template: its answer");
	a.text[sizeof(a.text) - 1] = '\0';
	return a.errnum ? err_say(e, err_told(a.errnum), "%s", a.text) : r;
}

static int serve_channel(struct template *t, struct err *e)
{
	cleanup_fd int pidfd = -1;
	int r = t->ready ? err_say(e, EPIPE, "template: it speaks unasked, or has ended")
			 : take_answer(t, &pidfd, e);

	t->ready = r >= 0;
	return r;
}

int template_serve(struct template *t, struct err *e)
{
	struct epoll_event event;
	int r = 0;

	while (r >= 0 && epoll_wait(t->events, &event, 1, 0) == 1)
		r = event.data.fd == t->channel     ? serve_channel(t, e)
		    : event.data.fd == t->jail.gate ? serve_gate(t, e)
						    : serve_control(t, e);
	if (r < 0)
		t->ready = false;
	return r < 0 ? r : t->ready;
}

static int request(const struct template *t, const struct jail *j, const struct child *c,
		   struct err *e)
{
	/* as the template's own namespace has them: pairs of the range by their numbers,
	 * and the one id of an ordinary user by what it is mapped to there */
	struct warm_request q = {
		.own = j->ids.own,
		.limited = j->limited,
		.session = j->plan->session,
		.host_uid = j->ids.own ? j->ids.host_uid : t->jail.ids.program_id,
		.host_gid = j->ids.own ? j->ids.host_gid : t->jail.ids.program_id,
		.init_id = j->ids.init_id,
		.program_id = j->ids.program_id,
	};
	int fds[WARM_FDS_MAX] = {
		[WARM_CONTROL] = c->control, [WARM_GATE] = c->gate,
		[WARM_INIT] = c->init_fd,    [WARM_STDIN] = c->stdio[0],
		[WARM_STDOUT] = c->stdio[1], [WARM_STDERR] = c->stdio[2],
	};
	size_t count = WARM_FDS_MIN;
	int r;

	for (int fd = 0; fd <= 2; fd++)
		if (fds[WARM_STDIN + fd] < 0)
			fds[WARM_STDIN + fd] = fd;
	if (j->ids.own)
		fds[count++] = j->ids.slot_fd;
	if (j->limited)
		fds[count++] = j->cgroup.leaf;
	r = fd_passing_send(t->channel, &q, sizeof(q), fds, count);
	return r < 0 ? fd_passing_failed(-r, "template: send a request", e) : 0;
}

/* the number that the kernel has for it here, where /proc is this PID namespace's */
static int find_pid(struct jail *j, struct err *e)
{
	char file[48], text[1024];
	const char *at = NULL;
	ssize_t n;

	(void)snprintf(file, sizeof(file), "fdinfo/%d", j->pidfd);
	n = procfs_read(getpid(), file, text, sizeof(text));
	if (n > 0)
		at = procfs_find(text, "Pid:");
	j->pid = at ? (pid_t)strtol(at, NULL, 10) : 0;
	if (j->pid > 0)
		return 0;
	j->pid = 0;
	return err_set(e, n < 0 ? (int)-n : ESRCH, "template: the clone's pid");
}

static int ask(struct template *t, struct jail *j, const struct child *c, struct err *e)
{
	struct pollfd answer = { .fd = t->channel, .events = POLLIN };
	int r = request(t, j, c, e);

	if (r < 0)
		return r;
	/* all signals are blocked: nothing interrupts it */
	if (poll(&answer, 1, ANSWER_MS) == 1)
		return take_answer(t, &j->pidfd, e);
	t->ready = false;
	return err_say(e, ETIMEDOUT, "template: no answer within %d s", ANSWER_MS / 1000);
}

int template_clone(struct template *t, struct jail *j, const struct child *c,
		   struct err *e)
{
	int r = t->ready ? 0 : err_say(e, EPIPE, "template: it is not ready");

	/* CLONE_INTO_CGROUP asks for the right to write to cgroup.procs of the leaf, and of
	 * the folder that has both leaves in it: see template_start() */
	if (r == 0 && j->limited && j->ids.own)
		r = cgroup_give(j->cgroup.leaf, ids_program(&t->jail.ids), e);
	if (r == 0)
		r = ask(t, j, c, e);
	if (r < 0)
		return r;
	t->clones++;
	return find_pid(j, e);
}

bool template_is_old(const struct template *t, unsigned int clones, uint64_t age_ms)
{
	return (clones && t->clones >= clones) ||
	       (age_ms && clock_now_ms() - t->start_ms >= age_ms);
}

void template_end(struct template *t)
{
	io_close_fd(&t->channel);
	io_close_fd(&t->events);
	t->ready = false;
	for (int fd = 0; fd <= 2; fd++)
		io_close_fd(&t->jail.stdio[fd]);
	launch_end(&t->jail);
}
