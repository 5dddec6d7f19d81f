/* SPDX-License-Identifier: MIT */
/*
 * startup.c - from the launch until the program may start: see startup.h
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

	(void)err_say(&e, ETIMEDOUT,
		      "run: the jail did not stand within %d s: is the host "
		      "out of CPU or memory?",
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
	if (run->jail.limited && run->confines)
		cgroup_hold(cg);
	if (run->confines && run_confine(run, &e) < 0) {
		startup_refuse(run, &e);
		return;
	}
	if (run->jail.limited)
		cgroup_usage(cg, NULL, &run->outcome.before);
	run->outcome.started = true;
	run->start_ms = clock_now_ms();
	run->sampled_ms = run->start_ms;
	if (gate_open(&run->jail.gate) < 0)
		run->ended = true;
}

void startup_gate(struct run *run)
{
	struct err e;
	uint32_t landlock = 0;
	int r = gate_receive(run->jail.gate, &run->program, &run->jail.netlink,
			     &run->outcome.refused.fd, &landlock, &e);

	if (r > 0 && posture_read(&run->jail, run->program, landlock,
				  &run->outcome.posture, &e) < 0)
		r = -1;
	io_close_fd(&run->jail.netlink);
	if (r < 0) {
		startup_refuse(run, &e);
		return;
	}
	if (r == 0) {
		/* its end: a stage failed, and the control socket has the words */
		io_close_fd(&run->jail.gate);
		return;
	}
	run->outcome.listened = run->outcome.refused.fd >= 0;
	run->outcome.refused.lacks = denied_without_lacks(
		run->jail.limited, run->jail.landlock_abi, run->jail.plan);
	if (!run->outcome.listened && !(run->jail.plan->allow_missing & PART_AUDIT)) {
		(void)err_say(&e, EBADMSG,
			      "gate: the listener for violations is missing");
		startup_refuse(run, &e);
		return;
	}
	run->ready |= READY_PROGRAM;
	if (run->ready == READY_BOTH)
		open_gate(run);
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
