/* SPDX-License-Identifier: MIT */
/*
 * startup.c - from the launch until the program may start: see startup.h
 */
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/watch/proc_usage.h"
#include "jail/watch/startup.h"

enum { READY_INIT = 1, READY_PROGRAM = 2, READY_BOTH = 3 };

int startup_late(struct err *e)
{
	return err_say(
		e, ETIMEDOUT,
		"run: the jail was not ready within %d s: is the host out of CPU or memory?",
		STARTUP_MS / 1000);
}

/* if @who was the last: both processes wait behind their walls, and the program was
 * looked at */
static int is_ready(struct startup *up, unsigned int who, struct err *e)
{
	struct jail *j = &up->jail;
	int r;

	up->ready |= who;
	if (up->ready != READY_BOTH)
		return 0;
	/* a watch that cannot see stands in for no limit */
	r = j->limited ? cgroup_verify(j->cgroup.leaf, j->plan, &j->cgroup.limits, e)
		       : proc_usage_check(j->pid, e);
	if (r < 0)
		return r;
	if (j->limited && !j->plan->template)
		cgroup_hold(&j->cgroup, j->plan->session);
	up->complete = true;
	return 0;
}

/* the program's walls, and the listener that came with its READY */
static int look(struct startup *up, struct err *e)
{
	struct jail *j = &up->jail;
	int r = posture_read(j, &up->gate, &up->posture, e);

	io_close_fd(&up->gate.fd[GATE_NETLINK]);
	if (j->plan->host_count == 0)
		io_close_fd(&up->gate.fd[GATE_PORT]);
	if (r == 0 && up->gate.fd[GATE_LOCKS] < 0 && !j->plan->template &&
	    j->plan->limit[LIMIT_FILE_LOCKS])
		r = err_say(e, EBADMSG, "gate: the list of file locks is missing");
	if (r == 0 && up->gate.fd[GATE_LISTENER] < 0 && !j->plan->template &&
	    !(j->plan->allow_missing & PART_AUDIT))
		r = err_say(e, EBADMSG, "gate: the listener for violations is missing");
	return r;
}

int startup_gate(struct startup *up, struct err *e)
{
	int r = gate_receive(up->jail.gate, &up->gate, e);

	if (r == -EAGAIN)
		return posture_early(&up->jail, &up->gate, &up->posture, e);
	if (r == 0) /* its end: a stage failed, and the control socket has the words */
		io_close_fd(&up->jail.gate);
	if (r > 0) {
		r = look(up, e);
		if (r == 0)
			r = is_ready(up, READY_PROGRAM, e);
	}
	return r < 0 ? r : 1;
}

/* Take a frame, before the gate is open: only READY and FAIL may come, of fixed size,
 * and nothing waits. @e: gets the words of FAIL, or tells that init has ended, or what it
 * sent. Return: 1 (READY), 0 (there is none), or -errno */
static int hear(int control, struct err *e)
{
	unsigned char bytes[WIRE_HEADER_BYTES + sizeof(struct wire_fail)];
	struct wire_header h;
	struct wire_fail fail;
	ssize_t n = recv(control, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return 0;
	if (n <= 0)
		return err_say(e, EPIPE, "the jail's init has ended");
	/* each is sent in one go, so that a part of one is nonsense */
	if (n < WIRE_HEADER_BYTES || wire_unpack(bytes, &h) < 0)
		return err_say(e, EBADMSG, "the jail's init sent an invalid frame");
	if (h.type == WIRE_READY && h.length == 0)
		return recv(control, bytes, WIRE_HEADER_BYTES, MSG_DONTWAIT) < 0
			       ? err_set(e, errno, "receive from the jail's init")
			       : 1;
	if (h.type == WIRE_EXIT)
		return err_say(e, EPIPE, "the program has ended");
	if (h.type != WIRE_FAIL || h.length != sizeof(fail) || (size_t)n < sizeof(bytes))
		return err_say(
			e, EBADMSG,
			"the jail's init sent an unexpected frame, of type %u with %u bytes",
			h.type, h.length);
	memcpy(&fail, bytes + WIRE_HEADER_BYTES, sizeof(fail));
	return err_say(e, fail.errnum ? err_told(fail.errnum) : EPROTO, "%.*s",
		       (int)sizeof(fail.text) - 1,
		       fail.text[0] ? fail.text : "the jail failed: reason unknown");
}

int startup_control(struct startup *up, struct err *e)
{
	int r = hear(up->jail.control, e);

	if (r <= 0)
		return r;
	if (up->ready & READY_INIT)
		return err_say(e, EBADMSG, "the jail's init is ready for a second time");
	if (!up->jail.plan->template)
		up->tmpfs = tmpfs_usage_open(up->jail.pid);
	return is_ready(up, READY_INIT, e);
}

int startup_wait(struct startup *up, int signals, int *signal, struct err *e)
{
	uint64_t until_ms = clock_now_ms() + STARTUP_MS;

	while (!up->complete) {
		struct pollfd fds[] = {
			{ .fd = up->jail.control, .events = POLLIN },
			{ .fd = up->jail.keeper->socket },
			/* init first: while both are busy, a third one delays them */
			{ .fd = up->ready == READY_INIT ? up->jail.gate : -1,
			  .events = POLLIN },
			{ .fd = signals, .events = POLLIN },
		};
		uint64_t now_ms = clock_now_ms();
		struct signalfd_siginfo info;
		int r = 0;

		if (now_ms >= until_ms)
			return startup_late(e);
		if (poll(fds, COUNT(fds), (int)(until_ms - now_ms)) < 0 && errno != EINTR)
			return err_set(e, errno, "run: poll");
		if (fds[0].revents)
			r = startup_control(up, e);
		if (r == 0 && fds[1].revents)
			r = err_set(
				e, EOWNERDEAD,
				"run: the keeper, which would remove what is left, has ended");
		if (r == 0 && fds[2].revents)
			r = startup_gate(up, e);
		if (r < 0)
			return r;
		if (fds[3].revents && read(signals, &info, sizeof(info)) > 0) {
			*signal = (int)info.ssi_signo;
			return 0;
		}
	}
	return 1;
}
