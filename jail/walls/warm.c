/* SPDX-License-Identifier: MIT */
/*
 * warm.c - a template's own part: see warm.h
 *
 * Theory of operation
 *   The template stands in a jail of its own, made by the launcher with a plan that says
 *   so: a user namespace that has the ids to give, a mount namespace that keeps the root
 *   tree and the sources of binds at PLACES_KEPT_, its own /proc. It has run nothing but
 *   what it was built from. For each request it calls clone3(2) as the launcher does for
 *   a cold jail, and writes the maps, which only the parent namespace of a user namespace
 *   can. The clone walks the stages; the launcher holds the other ends of its sockets and
 *   goes on as after its own clone: it tells it to go on, reads its walls back, and opens
 *   its gate.
 *   The kernel ends a clone with its template, in whose PID namespace it is.
 *
 *   PID 1 of a clone is made by the bare system call, so that the C library's record of
 *   its thread's number is the template's: until it executes init, it calls no function
 *   that uses that. The program is its child by fork(3), which mends the record.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "init/io.h"
#include "jail/base/close_others.h"
#include "jail/base/fd_passing.h"
#include "jail/base/procfs.h"
#include "jail/walls/places.h"
#include "jail/walls/stage.h"
#include "jail/base/sys.h"
#include "jail/walls/warm.h"
#include "jail/base/wipe.h"

/* what every clone begins with; wiped in each */
static struct {
	const struct warm_plan *told;
	struct plan plan;
	struct sources sources;
	struct caps caps;
	int mapped; /* sources that come with each request */
} kept;

/* refuse several threads, and name them: the names tell which library started them */
static int check_threads(struct err *e)
{
	cleanup_folder DIR *list = procfs_tasks(getpid());
	const char *thread;
	char names[160] = "";
	int count = 0;

	for (; list && (thread = folder_next(list)); count++) {
		char file[32], name[32];
		size_t used = strlen(names);

		(void)snprintf(file, sizeof(file), "%.16s/comm", thread);
		if (io_read_file_at(dirfd(list), file, name, sizeof(name)) < 0)
			name[0] = '\0';
		(void)snprintf(names + used, sizeof(names) - used, "%s%.*s",
			       count ? ", " : "", (int)strcspn(name, "\n"), name);
	}
	if (count == 1)
		return 0;
	return err_say(
		e, EBUSY,
		"template: it has %d threads (%s), and a clone would have one: have what is preloaded start none, as by --env OPENBLAS_NUM_THREADS=1",
		count, names);
}

static int take_plan(int channel, struct err *e)
{
	char byte;
	cleanup_fd int memory = -1;
	int r = fd_passing_receive(channel, &byte, sizeof(byte), &memory, 1);

	if (r != 1)
		return err_set(e, r < 0 ? -r : EBADMSG, "template: receive its plan");
	kept.told = warm_plan_map(memory, e);
	if (!kept.told)
		return -e->errnum;
	warm_plan_read(kept.told, &kept.plan, &kept.sources);
	kept.sources.root.path = PLACES_KEPT_ROOT;
	for (size_t i = 0; i < kept.plan.bind_count; i++) {
		kept.sources.bind[i].path = places_kept(i);
		kept.mapped += kept.sources.bind[i].mapped;
	}
	return 0;
}

/* in the clone, PID 1 of its jail; returns in its program */
static void become_jail(struct child *c, int channel)
{
	(void)close(channel);
	/* the template ignores it */
	(void)signal(SIGCHLD, SIG_DFL);
	stage_run(c);
	(void)munmap((void *)(uintptr_t)kept.told, sizeof(*kept.told));
	wipe(&kept, sizeof(kept));
	explicit_bzero(c, sizeof(*c));
}

/* Return: 1 in the clone's program, 0, or -errno where no clone was made */
static int make_jail(const struct warm_request *q, const int *fds, const int *trees,
		     int channel, struct err *e)
{
	int pidfd = -1;
	struct ids ids = {
		.own = q->own,
		.slot_fd = q->own ? fds[WARM_SLOT] : -1,
		.host_uid = q->host_uid,
		.host_gid = q->host_gid,
		.init_id = q->init_id,
		.program_id = q->program_id,
	};
	struct child c = {
		.plan = &kept.plan,
		.ids = &ids,
		.caps = &kept.caps,
		.sources = &kept.sources,
		.landlock_abi = (int)kept.told->landlock_abi,
		.cgroup = q->limited,
		.warm = true,
		.control = fds[WARM_CONTROL],
		.init_fd = fds[WARM_INIT],
		.gate = fds[WARM_GATE],
		.handed = { [0 ... GATE_FDS - 1] = -1 },
		.stdio = fds + WARM_STDIN,
	};

	kept.plan.session = q->session;
	for (size_t i = 0; i < kept.plan.bind_count; i++)
		if (kept.sources.bind[i].mapped)
			kept.sources.bind[i].tree = *trees++;

	int leaf = q->limited ? fds[WARM_FDS_MIN + (q->own != 0)] : -1;
	pid_t pid = sys_clone3(STAGE_NAMESPACES, leaf, &pidfd);

	if (pid == 0) {
		become_jail(&c, channel);
		return 1;
	}
	if (pid < 0)
		return err_set(e, -pid, "template: clone");

	int r = ids_map(&ids, pid, e);

	/* the clone waits for the launcher's GO, which will not come */
	if (r < 0)
		(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	return r;
}

static int answer(int channel, int r, const struct err *e)
{
	struct warm_answer a = { .errnum = r < 0 ? (uint32_t)-r : 0 };

	if (r < 0)
		(void)snprintf(a.text, sizeof(a.text), "%s", e->text);
	return fd_passing_send(channel, &a, sizeof(a), NULL, 0);
}

/* Return: as warm_serve(), or 2 to go on */
static int serve_one(int channel, struct err *e)
{
	struct warm_request q;
	int fds[WARM_FDS_MAX];
	int count = fd_passing_receive(channel, &q, sizeof(q), fds, WARM_FDS_MAX);
	int r = count, first;

	if (r < 0)
		return r == -EPIPE ? 0 : err_set(e, -r, "template: receive");
	first = WARM_FDS_MIN + (q.own != 0) + (q.limited != 0);
	r = count == first + kept.mapped
		    ? make_jail(&q, fds, fds + first, channel, e)
		    : err_say(e, EBADMSG, "template: a request of %d fds", count);
	if (r == 1) {
		explicit_bzero(&q, sizeof(q));
		return 1;
	}
	/* the pidfd too, and what Python may have left open, which no clone has either */
	(void)close_others(&channel, 1, -1);
	r = answer(channel, r, e);
	return r < 0 ? fd_passing_failed(-r, "template: answer", e) : 2;
}

int warm_serve(int channel, struct err *e)
{
	int r = take_plan(channel, e);

	if (r == 0)
		r = check_threads(e);
	if (r == 0)
		r = caps_make(&kept.caps, e);
	/* so that the kernel reaps its clones; the launcher has their pidfds */
	if (r == 0 && signal(SIGCHLD, SIG_IGN) == SIG_ERR)
		r = err_set(e, errno, "template: ignore SIGCHLD");
	if (answer(channel, r, e) < 0 || r < 0)
		return r;
	do
		r = serve_one(channel, e);
	while (r == 2);
	return r;
}
