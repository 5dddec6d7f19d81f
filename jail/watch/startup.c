/* SPDX-License-Identifier: MIT */
/*
 * startup.c - from the launch until the program may start: see startup.h
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/walls/gate.h"
#include "jail/walls/seccomp/denied_without.h"
#include "jail/base/clock.h"
#include "jail/watch/run_confine.h"
#include "jail/watch/startup.h"

enum { READY_INIT = 1, READY_PROGRAM = 2, READY_BOTH = 3 };

/* the launcher's own reason for not opening the gate, or for not going on */
void startup_refuse(struct run *run, const struct err *e)
{
	struct outcome *o = &run->outcome;

	o->have_fail = true;
	o->fail.errnum = (uint32_t)e->errnum;
	(void)snprintf(o->fail.text, sizeof(o->fail.text), "%s", e->text);
	run->ended = true;
}

void startup_late(struct run *run)
{
	struct err e;

	(void)err_say(
		&e, ETIMEDOUT,
		"run: the jail did not stand within %d s: is the host out of CPU or memory?",
		STARTUP_MS / 1000);
	startup_refuse(run, &e);
}

/* both processes stand behind their walls, and the program was looked at */
static void open_gate(struct run *run)
{
	struct cgroup *cg = &run->jail.cgroup;
	struct err e;

	if (run->jail.limited &&
	    cgroup_verify(cg->leaf, run->jail.plan, &cg->limits, &e) < 0) {
		startup_refuse(run, &e);
		return;
	}
	/* a watch that cannot see stands in for no limit */
	if (!run->jail.limited && proc_usage_check(run->jail.pid, &e) < 0) {
		startup_refuse(run, &e);
		return;
	}
	run->room = tmpfs_usage_open(run->jail.pid);
	if (run->jail.limited)
		cgroup_hold(cg);
	if (run->confines && run_confine(run, &e) < 0) {
		startup_refuse(run, &e);
		return;
	}
	if (run->jail.limited && run->confines)
		cgroup_usage(cg, NULL, &run->outcome.before);
	run->outcome.started = true;
	run->start_ms = clock_now_ms();
	run->sampled_ms = run->start_ms;
	if (gate_open(&run->jail.gate) < 0)
		run->ended = true;
}

/* what waits there, and its walls; 1, 0 (end of file), -EAGAIN, or -errno */
static int look_at_gate(struct run *run, struct err *e)
{
	int r = gate_receive(run->jail.gate, &run->gate, e);

	if (r <= 0)
		return r;
	run->program = run->gate.program;
	run->jail.netlink = io_steal_fd(&run->gate.netlink);
	run->outcome.refused.fd = io_steal_fd(&run->gate.listener);
	run->outcome.listened = run->outcome.refused.fd >= 0;
	run->outcome.refused.lacks = denied_without_lacks(
		run->jail.limited, run->jail.landlock_abi, run->jail.plan);
	r = posture_read(&run->jail, run->program, run->gate.landlock,
			 &run->outcome.posture, e);
	io_close_fd(&run->jail.netlink);
	if (r == 0 && !run->outcome.listened &&
	    !(run->jail.plan->allow_missing & PART_AUDIT))
		r = err_say(e, EBADMSG, "gate: the listener for violations is missing");
	/* an -EAGAIN of the read-back must not pass for a gate where nothing waits yet */
	return r < 0 ? -EPERM : 1;
}

bool startup_gate(struct run *run)
{
	struct err e;
	int r = look_at_gate(run, &e);

	if (r == -EAGAIN)
		return false;
	if (r < 0) {
		startup_refuse(run, &e);
		return true;
	}
	if (r == 0) {
		/* its end: a stage failed, and the control socket has the words */
		io_close_fd(&run->jail.gate);
		return true;
	}
	run->ready |= READY_PROGRAM;
	if (run->ready == READY_BOTH)
		open_gate(run);
	return true;
}

int startup_hear(int control, struct wire_header *h, struct wire_fail *fail)
{
	unsigned char bytes[WIRE_HEADER_BYTES + sizeof(*fail)];
	ssize_t n = recv(control, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
	size_t length;
	int r;

	if (n <= 0)
		return n == 0 ? -ENODATA : errno == EAGAIN ? 0 : -errno;
	/* each is sent in one go, so that a part of one is nonsense */
	r = n < WIRE_HEADER_BYTES ? -EBADMSG : wire_unpack(bytes, h);
	if (r < 0)
		return r;
	length = WIRE_HEADER_BYTES + (h->type == WIRE_FAIL ? sizeof(*fail) : 0);
	if ((size_t)n < length)
		return -EBADMSG;
	memcpy(fail, bytes + WIRE_HEADER_BYTES, length - WIRE_HEADER_BYTES);
	return recv(control, bytes, length, MSG_DONTWAIT) == (ssize_t)length ? 1
									     : -EBADMSG;
}

bool startup_frame(struct run *run, const struct wire_header *h,
		   const unsigned char *payload)
{
	struct outcome *o = &run->outcome;
	struct err e;

	if (h->type == WIRE_READY && h->length == 0 && !(run->ready & READY_INIT)) {
		run->ready |= READY_INIT;
		if (posture_early(&run->jail, &o->posture, &e) < 0)
			startup_refuse(run, &e);
		else if (run->ready == READY_BOTH)
			open_gate(run);
		return true;
	}
	if (h->type != WIRE_FAIL || h->length != sizeof(o->fail))
		return false;
	memcpy(&o->fail, payload, sizeof(o->fail));
	o->fail.text[sizeof(o->fail.text) - 1] = '\0';
	o->have_fail = true;
	run->ended = true;
	return true;
}
