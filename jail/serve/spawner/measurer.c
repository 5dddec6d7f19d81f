/* SPDX-License-Identifier: MIT */
/*
 * measurer.c - the spawner's measurers: see measurer.h, and measure.c for what they do
 *
 * The spawner looks at one when it has ended, and not before: then it is reaped, and what
 * there is in its pipe was all of it. One that has not ended by its deadline is killed.
 */
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/serve/spawner/measurer.h"

#define REAP_MS 10

static void serve_end(struct port *p)
{
	struct measurer *one = p->owner;
	struct event_loop *loop = one->all->loop;
	struct measured m;

	if (waitpid(one->pid, NULL, WNOHANG) == 0)
		return;
	if (read(one->out, &m, sizeof(m)) != sizeof(m))
		m = (struct measured){ .errnum = one->late ? ETIMEDOUT : EIO };
	event_loop_unset(loop, &one->deadline);
	event_loop_close(loop, p);
	io_close_fd(&one->out);
	one->pid = 0;
	one->all->done(one->all, one->jail, one->tag, &m);
}

static void ring_deadline(struct bell *b)
{
	struct measurer *one = b->owner;

	one->late = true;
	(void)kill(one->pid, SIGKILL);
	if (one->end.fd >= 0)
		return;
	/* nobody hears of its end, since that could not be listened to */
	if (waitpid(one->pid, NULL, WNOHANG) == 0)
		event_loop_set(one->all->loop, b, clock_now_ms() + REAP_MS);
	else
		one->pid = 0;
}

/* its process, and both ends of the pipe; @in is for the process alone */
static int start(struct measurer *one, enum spawn_measure kind, int dir, pid_t pid,
		 int in)
{
	pid_t own = getpid();
	int r;

	one->pid = fork();
	if (one->pid == 0)
		measure_run(one->all->by, own, kind, dir, pid, in);
	if (one->pid < 0) {
		one->pid = 0;
		return -errno;
	}
	one->end = PORT((int)syscall(SYS_pidfd_open, one->pid, 0), serve_end, one);
	r = one->end.fd < 0 ? -errno
			    : event_loop_listen(one->all->loop, &one->end, EPOLLIN);
	if (r == 0)
		return 0;
	io_close_fd(&one->end.fd);
	one->jail = 0; /* which no jail is */
	event_loop_set(one->all->loop, &one->deadline, clock_now_ms());
	return r;
}

int measurer_start(struct measurers *all, uint32_t jail, uint32_t tag,
		   enum spawn_measure kind, int dir, pid_t pid)
{
	struct measurer *one = NULL;
	int ends[2], r;

	for (struct measurer *m = all->one; m < all->one + MEASURERS_MAX; m++)
		if (m->pid && m->jail == jail)
			return -EBUSY;
		else if (!m->pid && !one)
			one = m;
	if (!one)
		return -EBUSY;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	*one = (struct measurer){ .all = all, .out = ends[0], .jail = jail, .tag = tag };
	one->deadline = (struct bell){ .ring = ring_deadline, .owner = one };
	r = start(one, kind, dir, pid, ends[1]);
	(void)close(ends[1]);
	if (r < 0) {
		io_close_fd(&one->out);
		return r;
	}
	event_loop_set(all->loop, &one->deadline, clock_now_ms() + MEASURE_MS);
	return 0;
}
