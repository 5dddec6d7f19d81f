/* SPDX-License-Identifier: MIT */
/*
 * keeper.c - the process that ends jails when their watcher is gone: see keeper.h
 *
 * Theory of operation
 *   A SOCK_SEQPACKET socket pair. What comes from the launcher is struct request, of
 *   fixed size, with at most two fds beside it; the only thing that goes back is an
 *   answer to SAMPLE. End of file, or the launcher's pidfd, tells its end. The keeper
 *   never waits for a jail: one that ends is looked at again every few milliseconds,
 *   until its init is gone and its leaf is removed, or for END_MS. Its exit status is the
 *   errno of the first leaf that could not be removed.
 */
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/base/fd_passing.h"
#include "jail/base/sys.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/launch/keeper.h"

#define END_MS 2000   /* by then killed processes have left their leaf */
#define WAIT_MS 10000 /* for the keeper to start, or to end, however busy the host is */
#define PAUSE_MS 5
#define GAVE_UP 255 /* exit status that is no errno */

enum op { OP_ADD, OP_GIVE, OP_KILL, OP_DROP, OP_SAMPLE };

struct request {
	uint32_t op, id;
	int32_t pid;
	char name[KEEPER_NAME_MAX];
};

/* a jail, as the keeper knows it */
struct kept {
	uint32_t id;
	pid_t pid;
	int base, pidfd, slot; /* -1 where there is none */
	uint64_t end_ms;       /* when to give up on its leaf; 0: it is not to end yet */
	char name[KEEPER_NAME_MAX];
	struct kept *next;
};

struct state {
	keeper_look *look;
	void *owner;
	bool one, sealed;
	struct kept *jails;
	int status;
};

static void kill_jail(const struct kept *jail)
{
	if (jail->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, jail->pidfd, SIGKILL, NULL, 0);
}

static void begin_end(struct kept *jail)
{
	kill_jail(jail);
	if (!jail->end_ms)
		jail->end_ms = clock_now_ms() + END_MS;
}

/* PID 1's end is the end of every process of its PID namespace */
static bool is_gone(const struct kept *jail)
{
	struct pollfd end = { .fd = jail->pidfd, .events = POLLIN };

	return jail->pidfd < 0 || poll(&end, 1, 0) == 1;
}

/* Return: is there nothing left to do for it? */
static bool end_jail(struct state *s, const struct kept *jail)
{
	int r = jail->base < 0 ? 0 : cgroup_remove(jail->base, jail->name);

	if (r == 0 && is_gone(jail))
		return true;
	/* Try again, whatever the reason was: after the keeper nobody does. */
	if (clock_now_ms() < jail->end_ms)
		return false;
	if (r < 0 && s->status == 0)
		s->status = -r;
	return true;
}

static void forget(struct kept **at)
{
	struct kept *jail = *at;

	*at = jail->next;
	io_close_fd(&jail->base);
	io_close_fd(&jail->pidfd);
	io_close_fd(&jail->slot);
	free(jail);
}

static struct kept *find(const struct state *s, uint32_t id)
{
	struct kept *jail = s->jails;

	while (jail && jail->id != id)
		jail = jail->next;
	return jail;
}

static struct kept *add(struct state *s, const struct request *q, int base)
{
	struct kept *jail = calloc(1, sizeof(*jail));

	/* Without this entry a leaf would stay. So the keeper ends: then the launcher
	 * makes none. */
	if (!jail)
		_exit(GAVE_UP);
	*jail = (struct kept){ .id = q->id, .base = base, .pidfd = -1, .slot = -1 };
	(void)snprintf(jail->name, sizeof(jail->name), "%.*s", KEEPER_NAME_MAX - 1,
		       q->name);
	jail->next = s->jails;
	s->jails = jail;
	return jail;
}

static void answer(const struct state *s, int socket, const struct kept *jail)
{
	struct keeper_sample sample = { .errnum = ESRCH };

	if (s->look && jail && jail->pid > 0) {
		sample.errnum = 0;
		s->look(s->owner, jail->pid, &sample);
	}
	(void)send(socket, &sample, sizeof(sample), MSG_NOSIGNAL);
}

/* Return: are the fds taken? */
static bool serve(struct state *s, int socket, const struct request *q, const int *fds)
{
	struct kept *jail = find(s, q->id);

	if (s->sealed && q->op < OP_KILL)
		return false;
	if (q->op == OP_ADD) {
		(void)add(s, q, fds[0]);
		return true;
	}
	if (q->op == OP_GIVE) {
		s->sealed = s->one;
		jail = jail ? jail : add(s, q, -1);
		if (jail->pidfd >= 0)
			return false;
		jail->pid = q->pid;
		jail->pidfd = fds[0];
		jail->slot = fds[1];
		return true;
	}
	if (q->op == OP_SAMPLE)
		answer(s, socket, jail);
	if (jail && q->op == OP_KILL)
		kill_jail(jail);
	if (jail && q->op == OP_DROP)
		begin_end(jail);
	return false;
}

/* Return: false at end of file */
static bool receive(struct state *s, int socket)
{
	struct request q;
	int fds[2];
	int r = fd_passing_receive(socket, &q, sizeof(q), fds, 2);

	if (r == -EPIPE)
		return false;
	if (r >= 0 && serve(s, socket, &q, fds))
		return true;
	io_close_fd(&fds[0]);
	io_close_fd(&fds[1]);
	return true;
}

/* Return: how many are still to end */
static unsigned int end_jails(struct state *s)
{
	unsigned int left = 0;

	for (struct kept **at = &s->jails; *at;) {
		if (!(*at)->end_ms || !end_jail(s, *at)) {
			left += (*at)->end_ms != 0;
			at = &(*at)->next;
		} else {
			forget(at);
		}
	}
	return left;
}

/* Pass on a signal that was sent to the process that was started: the launcher has to
 * hear of it. */
static void pass_on(int signals, int launcher)
{
	struct signalfd_siginfo info;

	if (read(signals, &info, sizeof(info)) == sizeof(info))
		(void)syscall(SYS_pidfd_send_signal, launcher, info.ssi_signo, NULL, 0);
}

static int keep(struct state *s, int socket, int launcher, int signals)
{
	struct pollfd from[] = { { .fd = socket, .events = POLLIN },
				 { .fd = launcher, .events = POLLIN },
				 { .fd = signals, .events = POLLIN } };
	/* poll(2) takes no more than a limit of its files allows */
	nfds_t count = signals < 0 ? 2 : 3;
	bool over = false;

	while (!over) {
		int n = poll(from, count, end_jails(s) ? PAUSE_MS : -1);

		/* EINVAL: somebody has lowered that limit, and it stays so */
		over = (n < 0 && errno == EINVAL) ||
		       (n > 0 && ((from[0].revents && !receive(s, socket)) ||
				  (from[1].revents && !from[0].revents)));
		if (n > 0 && from[2].revents && !over)
			pass_on(signals, launcher);
	}
	for (struct kept *jail = s->jails; jail; jail = jail->next)
		begin_end(jail);
	while (end_jails(s)) {
		struct pollfd end = { .fd = s->jails->pidfd, .events = POLLIN };

		/* what is gone has a leaf that is still in use */
		(void)poll(&end, !is_gone(s->jails), PAUSE_MS);
	}
	return s->status;
}

static void run(int socket, int launcher, const struct keeper *k)
{
	struct state s = { .look = k->look, .owner = k->owner, .one = k->one };

	/* Give both fds the lowest numbers and close all others: a reader of the
	 * launcher's output must not wait for the keeper. */
	if (dup2(socket, 0) < 0 || dup2(launcher, 1) < 0)
		_exit(GAVE_UP);
	(void)close_range(2, ~0U, 0);
	(void)prctl(PR_SET_NAME, "stepjail-keeper");
	(void)chdir("/");
	_exit(keep(&s, 0, 1, -1));
}

int keeper_become(int socket, int launcher, int signals)
{
	return keep(&(struct state){ 0 }, socket, launcher, signals);
}

static int ask(struct keeper *k, struct request q, const int *fds, size_t count)
{
	return k->socket < 0 ? -EPIPE
			     : fd_passing_send(k->socket, &q, sizeof(q), fds, count);
}

static int failed(int r, struct err *e)
{
	return r < 0 ? fd_passing_failed(-r, "keeper: it was killed, or does not answer",
					 e)
		     : 0;
}

int keeper_start(struct keeper *k, struct err *e)
{
	int ends[2];

	if (k->socket >= 0)
		return 0;
	/* The pidfd tells of the launcher's end, too: a process that the launcher forks
	 * holds a copy of the socket until its exec. */
	cleanup_fd int launcher = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (launcher < 0)
		return err_set(e, errno, "keeper: pidfd_open");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "keeper: socket pair");
	k->socket = ends[0];
	k->pid = fork();
	if (k->pid == 0)
		run(ends[1], launcher, k);
	(void)close(ends[1]);
	if (k->pid < 0) {
		k->pid = 0;
		return err_set(e, errno, "keeper: start it");
	}
	/* a kill of the launcher's whole process group must not take the keeper along */
	if (setpgid(k->pid, k->pid) < 0)
		return err_set(e, errno, "keeper: set it apart");
	return failed(keeper_ask_sample(k, 0), e);
}

/* A number for one more jail. A keeper that ended at once keeps none: it has to answer
 * before it gets the first. */
static int take_number(struct keeper *k, uint32_t *id, struct err *e)
{
	struct keeper_sample any;
	int r = k->last || !k->pid ? 1 : keeper_take_sample(k, WAIT_MS, &any);

	*id = ++k->last;
	return r > 0 ? 0 : failed(r < 0 ? r : -ETIMEDOUT, e);
}

int keeper_add(struct keeper *k, int base, const char *name, uint32_t *id, struct err *e)
{
	int r = take_number(k, id, e);
	struct request q = { .op = OP_ADD, .id = *id };

	(void)snprintf(q.name, sizeof(q.name), "%s", name);
	return r < 0 ? r : failed(ask(k, q, &base, 1), e);
}

int keeper_give(struct keeper *k, uint32_t *id, pid_t pid, int pidfd, int slot,
		struct err *e)
{
	int r = *id ? 0 : take_number(k, id, e);
	struct request q = { .op = OP_GIVE, .id = *id, .pid = pid };
	int fds[] = { pidfd, slot };

	return r < 0 ? r : failed(ask(k, q, fds, slot < 0 ? 1 : 2), e);
}

int keeper_kill(struct keeper *k, uint32_t id)
{
	return ask(k, (struct request){ .op = OP_KILL, .id = id }, NULL, 0);
}

int keeper_drop(struct keeper *k, uint32_t id)
{
	return k->one ? 0 : ask(k, (struct request){ .op = OP_DROP, .id = id }, NULL, 0);
}

int keeper_ask_sample(struct keeper *k, uint32_t id)
{
	return ask(k, (struct request){ .op = OP_SAMPLE, .id = id }, NULL, 0);
}

int keeper_take_sample(struct keeper *k, int wait_ms, struct keeper_sample *s)
{
	struct pollfd from = { .fd = k->socket, .events = POLLIN };
	int fds[1];
	int r = k->socket < 0 ? -EPIPE : poll(&from, 1, wait_ms);

	if (r <= 0)
		return r < 0 && k->socket >= 0 ? -errno : r;
	r = fd_passing_receive(k->socket, s, sizeof(*s), fds, 1);
	return r < 0 ? r : 1;
}

/* The keeper's end of the socket closes when it exits. An answer that nobody took may
 * come before. */
static bool wait_for_end(int socket)
{
	struct pollfd from = { .fd = socket, .events = POLLIN };
	struct keeper_sample left;

	while (poll(&from, 1, WAIT_MS) == 1)
		if (recv(socket, &left, sizeof(left), 0) <= 0)
			return true;
	return false;
}

void keeper_close(const struct keeper *k)
{
	if (k->socket >= 0)
		(void)shutdown(k->socket, SHUT_WR);
}

int keeper_end(struct keeper *k, struct err *e)
{
	int status = 0;
	bool ended;

	if (k->pid <= 0)
		return 0;
	keeper_close(k);
	ended = wait_for_end(k->socket);
	io_close_fd(&k->socket);
	if (!ended)
		return err_say(
			e, ETIMEDOUT,
			"keeper: the jail's end could not be waited for: look for processes and cgroups that are left");
	while (waitpid(k->pid, &status, 0) < 0 && errno == EINTR)
		;
	k->pid = 0;
	if (WIFSIGNALED(status) || WEXITSTATUS(status) == GAVE_UP)
		return err_say(
			e, EOWNERDEAD,
			"keeper: it was killed: a cgroup of stepjail's may be left, and must be removed by hand (rmdir)");
	return WEXITSTATUS(status)
		       ? err_set(e, WEXITSTATUS(status), "cgroup: remove the jail's leaf")
		       : 0;
}
