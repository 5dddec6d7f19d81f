/* SPDX-License-Identifier: MIT */
/*
 * probe.c - try one thing that a jail needs: see probe.h
 *
 * A probe takes the same steps as run, by run's functions: ids, and maps that are written
 * from outside. Its child sends back the error that it met, or an empty one.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/base/host.h"
#include "jail/walls/mount_op.h"
#include "jail/check/probe.h"
#include "jail/watch/run.h"

/* in the child, which sends the error that it met */
static _Noreturn void act_in_child(const struct ids *ids, const int wire[2],
				   int (*act)(struct err *e))
{
	struct err met = { 0 };
	char go;

	(void)close(wire[0]);
	/* a closed wire says that the maps could not be written */
	if (read(wire[1], &go, 1) == 1 && ids_become(ids->init_id, &met) == 0 && act)
		(void)act(&met);
	_exit(write(wire[1], &met, sizeof(met)) != sizeof(met));
}

/* write the maps, let the child act, and take its error; as launch.c would */
static int follow_child(const struct ids *ids, pid_t pid, int wire, struct err *e)
{
	int r = ids_map(ids, pid, e);

	if (r < 0)
		return r;
	if (write(wire, "", 1) != 1 || read(wire, e, sizeof(*e)) != sizeof(*e))
		return err_say(e, ECHILD, "probe: the child ended without an answer");
	return -e->errnum;
}

int probe_in_child(unsigned long flags, int (*act)(struct err *e), struct err *e)
{
	struct ids ids;
	int wire[2], r = ids_take(&ids, e);
	/* held until the child has ended */
	cleanup_fd int slot = ids.slot_fd;
	pid_t pid;

	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, wire) < 0)
		return err_set(e, errno, "probe: wire");
	pid = sys_clone3(CLONE_NEWUSER | flags, -1, NULL);
	if (pid == 0)
		act_in_child(&ids, wire, act);
	(void)close(wire[1]);
	r = pid < 0 ? host_refused_clone(-pid, e) : follow_child(&ids, pid, wire[0], e);
	(void)close(wire[0]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

int probe_tmpfs(struct err *e)
{
	const struct tmpfs small = { 65536, 16, 0755, 0 };

	return mount_tmpfs("/proc", &small, 0, e);
}

int probe_overlay(struct err *e)
{
	int r = probe_tmpfs(e);

	if (r < 0)
		return r;
	if (chdir("/proc") < 0 || mkdir("a", 0755) < 0 || mkdir("b", 0755) < 0)
		return err_set(e, errno, "mount: prepare an overlay");
	return mount_overlay("a", "a:b", e);
}

int probe_proc(struct err *e)
{
	return mount_proc(MOUNT_READ_ONLY, MOUNT_PROC_OWN, e);
}

int probe_jail(const struct plan *p, struct err *e)
{
	static char program[] = "/proc/nothing";
	static char *const words[] = { program, NULL };
	struct plan plan = *p;
	struct judgement j;
	int r;

	plan.argv = words;
	plan.quiet = ANSWER_YES;
	r = run_plan(&plan, -1, -1, &j, e);
	if (r < 0)
		return r;
	/* "not found" is the answer of a jail that was made */
	if (j.status == STATUS_NOT_FOUND)
		return 0;
	*e = j.error;
	return j.error.errnum ? -j.error.errnum : -EINVAL;
}
