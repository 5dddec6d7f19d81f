/* SPDX-License-Identifier: MIT */
/*
 * copier.c - the process that copies /work/out into the folder of --out: see copier.h
 */
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/base/sys.h"
#include "jail/walls/landlock.h"
#include "jail/watch/confine.h"
#include "jail/watch/copier.h"
#include "jail/watch/startup.h"

#include "filter_copier.h"

#define COPY_MS 30000
#define COPY_MAX_MS 3600000
#define LATE_MS 5000 /* for its last words, behind its own limit */

static uint64_t limit_ms(const struct plan *p)
{
	uint64_t wall = p->limit[LIMIT_WALL_MS];

	return wall < COPY_MS ? COPY_MS : wall > COPY_MAX_MS ? COPY_MAX_MS : wall;
}

static _Noreturn void run(const struct plan *p, int landlock_abi, int work, int to,
			  int socket)
{
	const struct landlock_path_beneath_attr rules[] = {
		{ LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR, work },
		{ LANDLOCK_ACCESS_FS_READ_DIR | LANDLOCK_ACCESS_FS_WRITE_FILE |
			  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_DIR |
			  LANDLOCK_ACCESS_FS_REMOVE_FILE,
		  to },
	};
	const int keep[] = { work, to, socket };
	const struct confine confine = {
		.capabilities = 1ULL << CAP_DAC_READ_SEARCH,
		.keep = keep,
		.keep_count = COUNT(keep),
		.root = -1,
		.rules = rules,
		.rule_count = COUNT(rules),
		.landlock_abi = landlock_abi,
		.filter = filter_copier,
		.filter_count = COUNT(filter_copier),
	};
	struct copied done = { 0 };
	struct err e;
	char go;

	(void)prctl(PR_SET_NAME, "stepjail-copier");
	(void)umask(umask(0) | 022);
	done.errnum =
		close_range(0, 2, 0) < 0 ? errno : -confine_self(&confine, NULL, &e);
	if (done.errnum == 0)
		done.errnum = -copy_try(to);
	/* end of file: there is nothing to copy */
	if (send(socket, &done, sizeof(done), MSG_NOSIGNAL) < 0 || done.errnum ||
	    recv(socket, &go, 1, 0) != 1)
		_exit(0);
	copy_run(&(struct copy){ .work = work,
				 .to = to,
				 .stop = socket,
				 .limit_bytes = p->limit[LIMIT_OUT_BYTES],
				 .until_ms = clock_now_ms() + limit_ms(p),
				 .hidden = p->out_hidden == ANSWER_YES },
		 &done);
	(void)send(socket, &done, sizeof(done), MSG_NOSIGNAL);
	_exit(0);
}

/* Return: 0, or -errno: it has ended, is late, or @stop is readable first */
static int hear(int socket, int stop, uint64_t wait_ms, struct copied *done)
{
	struct pollfd from[] = { { .fd = socket, .events = POLLIN },
				 { .fd = stop, .events = POLLIN } };
	int r = poll(from, 2, (int)wait_ms);

	if (r <= 0)
		return r < 0 ? -errno : -ETIMEDOUT;
	if (!from[0].revents)
		return -ECANCELED;
	return recv(socket, done, sizeof(*done), 0) == sizeof(*done) ? 0 : -EOWNERDEAD;
}

int copier_start(const struct jail *j, int work, int to, int *socket, struct err *e)
{
	struct copied first = { 0 };
	int ends[2], r;
	pid_t pid;

	if (j->landlock_abi == 0)
		return err_say(
			e, ENOSYS,
			"--out: this kernel has no Landlock, which confines the process that copies: " LANDLOCK_REMEDY);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "--out: socket pair");
	pid = fork();
	if (pid == 0)
		run(j->plan, j->landlock_abi, work, to, ends[1]);
	*socket = ends[0];
	(void)close(ends[1]);
	if (pid < 0)
		return err_set(e, errno, "--out: start the process that copies");
	r = hear(*socket, -1, STARTUP_MS, &first);
	if (r == 0 && first.errnum)
		r = -first.errnum;
	return r < 0 ? err_set(e, -r, "--out: make a file in %.200s%s", j->plan->out,
			       j->ids.own
				       ? " (root's right to write where others own is given up)"
				       : "")
		     : 0;
}

void copier_collect(int *socket, int signals, const struct plan *p, struct copied *done)
{
	int r = send(*socket, "", 1, MSG_NOSIGNAL) < 0
			? -errno
			: hear(*socket, signals, limit_ms(p) + LATE_MS, done);

	io_close_fd(socket);
	if (r < 0)
		*done = (struct copied){ .errnum = -r };
	/* a word of the copier's */
	else if (done->errnum)
		done->errnum = err_told((uint32_t)done->errnum);
}
