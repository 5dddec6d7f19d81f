/* SPDX-License-Identifier: MIT */
/*
 * spawner.c - the privileged half of `serve`: see spawner.h, and spawn.h for its words
 *
 * Theory of operation
 *   One loop (event_loop.h) and no wait in it. What is read of the supervisor is requests
 *   of sixteen bytes, each with a pidfd or without. What a jail goes through is
 *   spawned.c; templates have answers of fixed size, too (template.h). So nothing is
 *   parsed here that has a length of its own. Whom a request reaches: reach.c.
 */
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/serve/spawner/spawned.h"
#include "jail/serve/spawner/spawner.h"

#define REQUESTS_A_TURN 64
#define STOP_MS 5000 /* a supervisor that goes on has ended all sessions long before */

int spawner_say(struct spawner *p, const struct spawn_answer *a, const int *fds,
		size_t count)
{
	int r = p->ending ? 0 : fd_passing_send(p->socket.fd, a, sizeof(*a), fds, count);

	if (r == -EAGAIN) {
		p->slow = true;
		(void)event_loop_listen(&p->loop, &p->socket, EPOLLIN | EPOLLOUT);
	}
	return r;
}

static struct spawned *find(const struct spawner *p, uint32_t number)
{
	struct spawned *j = p->bucket[number % SPAWNER_BUCKETS];

	while (j && j->number != number)
		j = j->next;
	return j;
}

/* a request, and what it names */
struct asked {
	struct spawner *p;
	struct spawned *j; /* NULL: no jail has this number */
	struct spawn_request q;
	int pidfd;
	pid_t pid; /* from procfs_held() */
};

static int do_open(const struct asked *a)
{
	return a->j || a->q.number == 0 ? -EPROTO : spawned_open(a->p, a->q.number);
}

static int do_signal(const struct asked *a)
{
	cleanup_fd int dir = -1;
	int r;

	if (!a->j ||
	    (a->q.value != SIGINT && a->q.value != SIGKILL && a->q.value != SIGCONT))
		return -EPROTO;
	dir = spawned_reach(a->j, a->pidfd, a->pid);
	r = dir;
	if (r >= 0 && syscall(SYS_pidfd_send_signal, a->pidfd, a->q.value, NULL, 0) < 0)
		r = -errno;
	if (r < 0 && r != -ESRCH) {
		a->j->unsent = -r;
		spawned_update(a->j);
	}
	return 0;
}

static int do_score(const struct asked *a)
{
	cleanup_fd int dir = -1, fd = -1;

	if (!a->j || a->q.value > 1)
		return -EPROTO;
	dir = spawned_reach(a->j, a->pidfd, a->pid);
	if (dir >= 0)
		fd = procfs_open_at(dir, "oom_score_adj", O_WRONLY);
	/* to an ordinary user's serve, a cold jail's is closed: see ids.h */
	if (fd >= 0)
		(void)io_write_text(fd, a->q.value ? "1000" : a->p->oom_base);
	return 0;
}

static void tell_measured(struct measurers *all, uint32_t jail, uint32_t tag,
			  const struct measured *m)
{
	struct spawner *p =
		(struct spawner *)((char *)all - offsetof(struct spawner, measurers));
	struct spawned *j = find(p, jail);

	if (!j)
		return;
	j->measured = (struct spawn_answer){ .kind = SPAWN_MEASURED,
					     .number = jail,
					     .tag = tag,
					     .errnum = (uint32_t)m->errnum,
					     .bytes = m->bytes,
					     .cost_us = m->cost_us };
	spawned_update(j);
}

static int do_measure(const struct asked *a)
{
	cleanup_fd int dir = -1, seen = -1;
	char name[16];
	int r;

	if (!a->j || a->q.value >= SPAWN_MEASURES)
		return -EPROTO;
	/* in the measurer's procfs; first, since the other look tells that it is there
	 * still */
	(void)snprintf(name, sizeof(name), "%d", a->pid);
	seen = openat(a->p->measurers.by->root, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	dir = spawned_reach(a->j, a->pidfd, a->pid);
	r = dir < 0 ? dir
		    : measurer_start(&a->p->measurers, a->q.number, a->q.tag, a->q.value,
				     seen, a->pid);
	if (r < 0)
		tell_measured(&a->p->measurers, a->q.number, a->q.tag,
			      &(struct measured){ .errnum = (uint64_t)-r });
	return 0;
}

/* ENDED is told when it is gone, to a supervisor that has asked for it, or to nobody */
static void end_for_good(struct spawned *j)
{
	j->to_end = true;
	spawned_end(j);
	spawned_update(j);
}

static int do_end(const struct asked *a)
{
	if (!a->j || a->j->to_end)
		return -EPROTO;
	end_for_good(a->j);
	return 0;
}

static const struct {
	bool pidfd; /* one comes beside it */
	int (*act)(const struct asked *a);
} requests[] = {
	[SPAWN_OPEN] = { false, do_open },      [SPAWN_SIGNAL] = { true, do_signal },
	[SPAWN_SCORE] = { true, do_score },     [SPAWN_END] = { false, do_end },
	[SPAWN_MEASURE] = { true, do_measure },
};

static void each(struct spawner *p, void (*act)(struct spawned *j))
{
	for (int i = 0; i < SPAWNER_BUCKETS; i++)
		for (struct spawned *j = p->bucket[i], *next; j; j = next) {
			next = j->next;
			act(j);
		}
}

/* the supervisor is not heard any more; the socket stays open, with all that it holds */
static void lose(struct spawner *p)
{
	p->ending = true;
	(void)event_loop_listen(&p->loop, &p->socket, 0);
	(void)event_loop_listen(&p->loop, &p->signals, 0);
	(void)event_loop_listen(&p->loop, &p->keeper, 0);
	event_loop_unset(&p->loop, &p->hung);
	each(p, end_for_good);
}

static int obey(struct asked *a)
{
	if (a->q.kind == 0 || a->q.kind >= COUNT(requests) ||
	    requests[a->q.kind].pidfd != (a->pidfd >= 0))
		return -EPROTO;
	a->j = find(a->p, a->q.number);
	return requests[a->q.kind].act(a);
}

/*
 * A packet is taken when it has been obeyed. What may be beside it is an fd whose last
 * close takes long; so whatever is no pidfd is closed by nobody, but by this process's
 * exit.
 * Return: 1, 0 (there is none), or -errno
 */
static int take_request(struct spawner *p)
{
	struct asked a = { .p = p, .pidfd = -1 };
	union {
		char room[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { &a.q, sizeof(a.q) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(p->socket.fd, &msg,
			    MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC);
	const struct cmsghdr *part = n < 0 ? NULL : fd_passing_next(&msg, NULL);
	int r;

	if (n <= 0)
		return n == 0 ? -EPIPE : errno == EAGAIN ? 0 : -errno;
	if (n != sizeof(a.q) || (msg.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) ||
	    (part && part->cmsg_len != CMSG_LEN(sizeof(int))))
		return -EPROTO;
	if (part) {
		memcpy(&a.pidfd, CMSG_DATA(part), sizeof(int));
		a.pid = procfs_held(a.pidfd);
		if (a.pid == -EBADF)
			return -EPROTO;
	}
	r = obey(&a);
	/* the end of a supervisor may be told here first, and the request stays */
	n = recv(p->socket.fd, NULL, 0, MSG_DONTWAIT);
	io_close_fd(&a.pidfd);
	return r < 0 ? r : n < 0 ? -errno : 1;
}

static void serve_socket(struct port *port)
{
	struct spawner *p = port->owner;
	int r = 1;

	if (p->slow && (port->came & EPOLLOUT)) {
		p->slow = false;
		(void)event_loop_listen(&p->loop, port, EPOLLIN);
		each(p, spawned_update);
	}
	for (int i = 0; i < REQUESTS_A_TURN && r > 0; i++)
		r = take_request(p);
	if (r >= 0)
		return;
	if (r != -EPIPE && r != -ECONNRESET)
		(void)err_set(&p->error, -r,
			      "serve: its supervisor sent an invalid request");
	lose(p);
}

/* a supervisor that hangs, by whatever a jail has sent it, must not outlive the signal */
static void ring_hung(struct bell *b)
{
	struct spawner *p = b->owner;

	(void)err_say(&p->error, ETIMEDOUT,
		      "serve: its supervisor has not ended %d seconds after a signal",
		      STOP_MS / 1000);
	lose(p);
}

static void serve_signals(struct port *port)
{
	struct spawner *p = port->owner;
	struct signalfd_siginfo info;

	if (read(port->fd, &info, sizeof(info)) != sizeof(info))
		return;
	p->stop = info.ssi_signo;
	if (!p->hung.at_ms)
		event_loop_set(&p->loop, &p->hung, clock_now_ms() + STOP_MS);
}

/* nobody would remove what is left, if this process were killed as well */
static void serve_keeper(struct port *port)
{
	struct spawner *p = port->owner;

	(void)err_say(&p->error, EOWNERDEAD,
		      "serve: the process that was started has been killed");
	lose(p);
}

/* what belongs to no jail, at the end of each turn */
static void tell_rest(struct spawner *p)
{
	if (p->slow || p->ending)
		return;
	if (p->stop &&
	    spawner_say(p, &(struct spawn_answer){ .kind = SPAWN_STOP, .value = p->stop },
			NULL, 0) == 0)
		p->stop = 0;
	if (!p->template_told && !template_pool_awaited(&p->pool))
		p->template_told =
			spawner_say(p, &(struct spawn_answer){ .kind = SPAWN_TEMPLATE },
				    NULL, 0) == 0;
}

static int start(struct spawner *p, struct err *e)
{
	int r = event_loop_open(&p->loop, e);

	if (r < 0)
		return r;
	r = (int)io_read_file_at(AT_FDCWD, "/proc/self/oom_score_adj", p->oom_base,
				 sizeof(p->oom_base));
	if (r < 0)
		return err_set(e, -r, "serve: read /proc/self/oom_score_adj");
	r = event_loop_listen(&p->loop, &p->signals, EPOLLIN);
	if (r == 0)
		r = event_loop_listen(&p->loop, &p->keeper, EPOLLIN);
	if (r == 0)
		r = event_loop_listen(&p->loop, &p->socket, EPOLLIN);
	return r < 0 ? err_set(e, -r, "serve: epoll_ctl") : 0;
}

/* it has ended, or is of no use */
static int reap(const struct spawner *p, pid_t supervisor, struct err *e)
{
	int status = 0;

	/* no signal changes the status of one that has closed its socket by its exit */
	(void)kill(supervisor, SIGKILL);
	while (waitpid(supervisor, &status, 0) < 0 && errno == EINTR)
		;
	if (p->error.errnum) {
		*e = p->error;
		return -e->errnum;
	}
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	return err_say(e, ECHILD, "serve: its supervisor was ended by signal %d",
		       WTERMSIG(status));
}

int spawner_serve(struct parts *parts, char *const *template, int socket, int signals,
		  pid_t supervisor, const struct confine *measurer, struct err *e)
{
	static struct spawner p;
	int r;

	p = (struct spawner){ .plan = parts->plan };
	p.socket = PORT(socket, serve_socket, &p);
	p.signals = PORT(signals, serve_signals, &p);
	p.measurers = (struct measurers){ &p.loop, measurer, .done = tell_measured };
	p.keeper = PORT(parts->keeper->socket, serve_keeper, &p);
	p.hung = (struct bell){ .ring = ring_hung, .owner = &p };
	r = start(&p, e);
	if (r == 0)
		template_pool_open(&p.pool, &p.loop, parts, template);
	while (r == 0 && (!p.ending || p.count)) {
		tell_rest(&p);
		r = event_loop_turn(&p.loop, e);
	}
	template_pool_close(&p.pool);
	while (r == 0 && p.pool.count)
		r = event_loop_turn(&p.loop, e);
	if (r < 0)
		p.error = *e;
	return reap(&p, supervisor, e);
}
