/* SPDX-License-Identifier: MIT */
/*
 * ending.c - a jail ends, and its launcher waits for nothing meanwhile: see ending.h
 *
 * The pidfd of PID 1 tells that the kernel has ended every process of a jail. A leaf may
 * count one of them for a moment longer, and can then not be removed yet: that is tried
 * again, for as long as cgroup_end() would.
 */

#include "init/io.h"
#include "jail/launch/ending.h"

/* 2 s in all */
#define TRIES 400
#define AGAIN_MS 5

static void finish(struct bell *b)
{
	struct ending *en = b->owner;
	struct cgroup *cg = &en->jail->cgroup;
	bool gone = launch_gone(en->jail);
	bool made = cg->leaf >= 0 || cg->inner >= 0;
	struct err e;
	int r = gone && made ? cgroup_remove(cg->base, cg->name) : 0;

	if (!gone || (r == -EBUSY && ++en->tries < TRIES)) {
		event_loop_set(en->loop, b, clock_now_ms() + AGAIN_MS);
		return;
	}
	if (r < 0)
		(void)err_set(&e, -r, "cgroup: remove the leaf %s", cg->name);
	launch_end(en->jail);
	en->gone(en, r < 0 ? &e : NULL);
}

static void serve_pidfd(struct port *p)
{
	struct ending *en = p->owner;

	if (!launch_gone(en->jail))
		return;
	(void)event_loop_listen(en->loop, p, 0);
	finish(&en->again);
}

void ending_begin(struct ending *en, struct event_loop *loop, struct jail *j,
		  void (*gone)(struct ending *en, const struct err *e))
{
	*en = (struct ending){
		.loop = loop,
		.jail = j,
		.pidfd = PORT(j->pidfd, serve_pidfd, en),
		.again = { .ring = finish, .owner = en },
		.gone = gone,
	};
	launch_kill(j);
	/* where no signal can be sent, init ends at this end of file */
	io_close_fd(&j->control);
	if (j->pid <= 0 || event_loop_listen(loop, &en->pidfd, EPOLLIN) < 0)
		event_loop_set(loop, &en->again, clock_now_ms());
}
