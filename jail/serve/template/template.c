/* SPDX-License-Identifier: MIT */
/*
 * template.c - a warm interpreter that jails are cloned from: see template.h
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/base/clock.h"
#include "jail/serve/template/template.h"
#include "jail/walls/warm.h"

static int watch(struct template *t, struct err *e)
{
	const int fds[] = { t->up.jail.control, t->up.jail.gate, t->channel };

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
	size_t mapped = 0;
	int ends[2], r;

	*t = (struct template){ .up = STARTUP_NONE, .channel = -1, .events = -1 };
	t->plan = *parts->plan;
	t->plan.template = true;
	t->plan.session = false;
	t->plan.argv = argv;
	t->parts = *parts;
	for (size_t i = 0; i < t->plan.bind_count; i++)
		mapped += parts->sources.bind[i].mapped;
	if (mapped > MOUNT_MAPPED_MAX)
		return err_say(
			e, E2BIG,
			"bind: %zu files and folders are closed to others, and a warm session takes %d of these: hand in a folder that has them, or use --cold",
			mapped, MOUNT_MAPPED_MAX);
	t->start_ms = clock_now_ms();
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "template: socket pair");
	t->channel = ends[0];
	t->up.jail.stdio[0] = ends[1];
	/* its end alone: who asks does not wait */
	if (fcntl(t->channel, F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, errno, "template: socket pair");
	for (int fd = 1; fd <= 2; fd++)
		t->up.jail.stdio[fd] = fcntl(out, F_DUPFD_CLOEXEC, 3);
	r = template_plan_send(t->channel, &t->parts, e);
	t->parts.plan = &t->plan;
	if (r == 0)
		r = launch_jail(&t->up.jail, &t->parts, e);
	/* the folder is this template's alone, and is removed with it */
	if (r == 0 && t->up.jail.limited && t->up.jail.ids.own)
		r = cgroup_give(t->up.jail.cgroup.inner, ids_program(&t->up.jail.ids), e);
	return r < 0 ? err_within(e, "template: ") : watch(t, e);
}

/* when both of its processes wait behind their walls, which were read back */
static int go_on(struct template *t, int r, struct err *e)
{
	if (r == 0 && t->up.complete && t->up.jail.gate >= 0 &&
	    gate_open(&t->up.jail.gate) < 0)
		r = err_say(e, EPIPE, "it ended at its gate");
	return r < 0 ? err_within(e, "template: ") : 0;
}

static int serve_gate(struct template *t, struct err *e)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = t->up.jail.gate };
	int r;

	/* before it is closed: a jail's child may hold a copy of it until its exec, and
	 * then the set would go on to tell of it */
	(void)epoll_ctl(t->events, EPOLL_CTL_DEL, event.data.fd, NULL);
	r = startup_gate(&t->up, e);
	if (r == 0)
		(void)epoll_ctl(t->events, EPOLL_CTL_ADD, event.data.fd, &event);
	if (r < 0)
		io_close_fd(&t->up.jail.gate);
	return go_on(t, r < 0 ? r : 0, e);
}

/* Return: 0, or -errno where it cannot be read; @a may tell of a failure */
static int take_answer(const struct template *t, struct warm_answer *a, struct err *e)
{
	int r = fd_passing_receive(t->channel, a, sizeof(*a), NULL, 0);

	if (r == -EPIPE || r == -ECONNRESET)
		return err_say(
			e, EPIPE,
			"template: it has ended; stderr may say why, and --memory is what it may use, too");
	a->text[sizeof(a->text) - 1] = '\0';
	return r < 0 ? err_set(e, -r, "template: its answer") : 0;
}

static int serve_channel(struct template *t, struct err *e)
{
	struct warm_answer a;
	int r;

	if (t->ready && !t->asked)
		return err_say(e, EPIPE, "template: it speaks unasked, or has ended");
	r = take_answer(t, &a, e);
	if (r == 0 && a.errnum)
		r = err_say(e, err_told(a.errnum), "%s", a.text);
	else if (r < 0)
		return r;
	if (!t->ready) {
		t->ready = r == 0;
		return r;
	}
	t->asked--;
	t->made(t, r < 0 ? e : NULL);
	return 0;
}

int template_serve(struct template *t, struct err *e)
{
	struct epoll_event event;
	int r = 0;

	while (r >= 0 && epoll_wait(t->events, &event, 1, 0) == 1)
		r = event.data.fd == t->channel ? serve_channel(t, e)
		    : event.data.fd == t->up.jail.gate
			    ? serve_gate(t, e)
			    : go_on(t, startup_control(&t->up, e), e);
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
		.host_uid = j->ids.own ? j->ids.host_uid : t->up.jail.ids.program_id,
		.host_gid = j->ids.own ? j->ids.host_gid : t->up.jail.ids.program_id,
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
	for (size_t i = 0; i < j->plan->bind_count; i++)
		if (c->sources->bind[i].mapped)
			fds[count++] = c->sources->bind[i].tree;
	r = fd_passing_send(t->channel, &q, sizeof(q), fds, count);
	return r < 0 ? fd_passing_failed(-r, "template: open fewer at once", e) : 0;
}

int template_ask(struct template *t, struct jail *j, struct parts *parts, struct err *e)
{
	struct child c;
	int r = launch_prepare(j, parts, &t->up.jail, &c, e);

	if (r == 0 && !t->ready)
		r = err_say(e, EPIPE, "template: it is not ready");
	/* CLONE_INTO_CGROUP asks for the right to write to cgroup.procs of the leaf, and
	 * of the folder that has both leaves in it: see template_start() */
	if (r == 0 && j->limited && j->ids.own)
		r = cgroup_give(j->cgroup.leaf, ids_program(&t->up.jail.ids), e);
	if (r == 0)
		r = request(t, j, &c, e);
	launch_close_child(j, &c);
	if (r < 0)
		return r;
	t->clones++;
	t->asked++;
	return 0;
}

/* who has sent STARTED: 1, 0 (nobody yet), or -errno */
static int hear_clone(int control, pid_t *pid)
{
	unsigned char head[WIRE_HEADER_BYTES];
	struct ucred who = { 0 };
	struct wire_header h;
	int r = fd_passing_receive_by(control, head, sizeof(head), MSG_DONTWAIT, NULL, 0,
				      &who);

	if (r < 0)
		return r == -EAGAIN ? 0 : r;
	*pid = who.pid;
	return wire_unpack(head, &h) == 0 && h.type == WIRE_STARTED && who.pid > 0
		       ? 1
		       : -EBADMSG;
}

/* Is it PID 1 of a namespace of its own, and a child of the template, which is one of the
 * template's program (rootfs/interpreter/template.c)? 0, or -errno */
static int check_clone(const struct template *t, pid_t pid)
{
	char text[4096];
	ssize_t n = procfs_read(pid, "status", text, sizeof(text));
	const char *parent = n <= 0 ? NULL : procfs_find(text, "PPid:\t");
	const char *inside = n <= 0 ? NULL : procfs_find(text, "NSpid:");

	if (!parent || !inside)
		return n < 0 ? (int)n : -ESRCH;
	inside += strcspn(inside, "\n");
	return procfs_status((pid_t)strtol(parent, NULL, 10), "PPid:") ==
				       (uint64_t)t->up.gate.program &&
			       inside[-1] == '1' && inside[-2] == '\t'
		       ? 0
		       : -EPERM;
}

int template_meet(const struct template *t, struct jail *j, struct err *e)
{
	struct pollfd peer = { .fd = j->control, .events = POLLRDHUP };
	pid_t pid = 0;
	int r = hear_clone(j->control, &pid);

	if (r == 0)
		return 0;
	if (r > 0) {
		j->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		r = j->pidfd < 0 ? -errno : check_clone(t, pid);
	}
	/* the template holds no copy of its end by now: if the clone had ended, and its
	 * number was another's, nobody would hold one */
	if (r == 0 && poll(&peer, 1, 0) != 0)
		r = -ESRCH;
	if (r == 0) {
		j->pid = pid;
		return 1;
	}
	io_close_fd(&j->pidfd);
	return err_set(e, -r, "template: look for its clone");
}

bool template_is_old(const struct template *t, uint64_t clones, uint64_t age_ms)
{
	return t->clones >= clones || clock_now_ms() - t->start_ms >= age_ms;
}

void template_close(struct template *t)
{
	io_close_fd(&t->channel);
	io_close_fd(&t->events);
	gate_close(&t->up.gate);
	posture_end(&t->up.posture);
	t->ready = false;
	for (int fd = 0; fd <= 2; fd++)
		io_close_fd(&t->up.jail.stdio[fd]);
}
