/* SPDX-License-Identifier: MIT */
/*
 * confine.c - a process gives up its rights: see confine.h
 *
 * The order: fds first, while nothing is refused; Landlock, and a try whether it holds,
 * before the root directory changes and the ids, which empty the capability sets; the
 * filter last, since it refuses the calls that make the other walls. Then all of it is
 * read back through an fd that was opened first.
 */
#include <grp.h>
#include <sys/prctl.h>

#include "init/io.h"
#include "jail/base/close_others.h"
#include "jail/launch/posture.h"
#include "jail/walls/landlock.h"
#include "jail/watch/confine.h"

#define STATUS_BYTES 65536 /* the caller's groups are in it */
#define JOINED (CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

static int confine_files(const struct confine *c, struct err *e)
{
	const struct landlock_path_beneath_attr sight = {
		LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR, c->root
	};
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, errno, "confine: no_new_privs");
	r = !c->landlock_abi ? 0
	    : c->root < 0    ? landlock_close(c->landlock_abi, c->rules, c->rule_count, e)
			     : landlock_close(c->landlock_abi, &sight, 1, e);
	if (r == 0 && c->root >= 0 && (fchdir(c->root) < 0 || chroot(".") < 0))
		return err_set(e, errno, "confine: change the root directory");
	return r;
}

static int become(uid_t id, bool keep_capabilities, struct err *e)
{
	if (id == 0)
		return 0;
	if (keep_capabilities && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return err_set(e, errno, "confine: keep capabilities");
	if (setgroups(0, NULL) < 0)
		return err_set(e, errno, "confine: give up supplementary groups");
	if (setresgid(id, id, id) < 0)
		return err_set(e, errno,
			       "confine: become group %u (root needs CAP_SETGID)", id);
	if (setresuid(id, id, id) < 0)
		return err_set(e, errno,
			       "confine: become user %u (root needs CAP_SETUID)", id);
	return 0;
}

int confine_bounding(struct err *e)
{
	int r = caps_drop_bounding(e);

	return r == -EPERM ? 0 : r;
}

static int drop_capabilities(uint64_t keep, struct err *e)
{
	cap_t set = cap_get_proc();
	int r = set ? cap_clear_flag(set, CAP_INHERITABLE) : -1;

	for (cap_value_t cap = 0; r == 0 && cap < cap_max_bits(); cap++)
		if (!(keep >> cap & 1))
			r = cap_set_flag(set, CAP_PERMITTED, 1, &cap, CAP_CLEAR);
	if (r < 0 || cap_fill_flag(set, CAP_EFFECTIVE, set, CAP_PERMITTED) < 0 ||
	    cap_set_proc(set) < 0)
		r = err_set(e, errno, "confine: give up capabilities");
	(void)cap_free(set);
	return r;
}

static int put_up(const struct confine *c, struct err *e)
{
	int death = 0;
	int r = confine_files(c, e);

	if (r < 0)
		return r;
	if (prctl(PR_GET_PDEATHSIG, &death) < 0)
		return err_set(e, errno, "confine: ask for the parent-death signal");
	r = become(c->id, c->capabilities != 0, e);
	if (r == 0)
		r = drop_capabilities(c->capabilities, e);
	/* the kernel forgets the parent-death signal when ids change */
	if (r == 0 && death && prctl(PR_SET_PDEATHSIG, death) < 0)
		r = err_set(e, errno, "confine: parent-death signal");
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		r = err_set(e, errno, "confine: be undumpable");
	if (r < 0)
		return r;
	r = c->filter ? filter_load(c->filter, c->filter_count) : 0;
	return r < 0 ? err_set(e, -r, "confine: load the filter") : 0;
}

/* of this process, in the procfs of its own PID namespace */
static int open_status(void)
{
	cleanup_fd int dir = procfs_open(getpid());

	return dir < 0 ? dir : procfs_open_at(dir, "status", O_RDONLY);
}

int confine_self(const struct confine *c, struct confinement *told, struct err *e)
{
	static char text[STATUS_BYTES];
	/* first: the procfs that it is opened in may be closed with the others */
	cleanup_fd int status = told ? open_status() : -1;
	const struct status_plan planned = {
		.uid = c->id ? c->id : geteuid(),
		.gid = c->id ? c->id : getegid(),
		.own = c->id != 0,
		.filters = told ? posture_own_filters() + (c->filter != NULL) : 0,
	};
	ssize_t n;
	int r;

	if (told && status < 0)
		return err_set(e, -status, "confine: open /proc/self/status");
	r = close_others(c->keep, c->keep_count, status);
	if (r < 0)
		return err_set(e, -r, "confine: close all fds but %zu", c->keep_count);
	if (c->join && setns(c->join, JOINED | (c->id ? 0 : CLONE_NEWUSER)) < 0)
		return err_set(e, errno, "confine: enter the jail's namespaces");
	r = put_up(c, e);
	if (r < 0 || !told)
		return r;
	n = io_read_text(status, text, sizeof(text));
	if (n < 0)
		return err_set(e, (int)-n, "confine: read /proc/self/status");
	told->landlock_abi = c->landlock_abi;
	r = confine_compare(text, &planned, told, e);
	told->known = r == 0;
	return r;
}
