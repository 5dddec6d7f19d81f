/* SPDX-License-Identifier: MIT */
/*
 * probe.c - try one thing that a jail needs: see probe.h
 *
 * A probe's child exits with the errno of what failed, 0 for none; errnos that matter
 * here are far below 256.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "init/io.h"
#include "jail/mount_op.h"
#include "jail/option.h"
#include "jail/probe.h"
#include "jail/run.h"
#include "jail/sys.h"

/* without a map the new namespace has no id that could own a file */
static int map_self(uid_t uid, gid_t gid)
{
	char uids[32], gids[32];
	int r = io_write_file_at(AT_FDCWD, "/proc/self/setgroups", "deny");

	(void)snprintf(uids, sizeof(uids), "%u %u 1", PLAN_PROGRAM_ID, uid);
	(void)snprintf(gids, sizeof(gids), "%u %u 1", PLAN_PROGRAM_ID, gid);
	if (r == 0)
		r = io_write_file_at(AT_FDCWD, "/proc/self/gid_map", gids);
	return r < 0 ? r : io_write_file_at(AT_FDCWD, "/proc/self/uid_map", uids);
}

static int run_child(uid_t uid, gid_t gid, int (*act)(const void *arg), const void *arg)
{
	int r = map_self(uid, gid);

	return r == 0 && act ? act(arg) : r;
}

static int in_child(unsigned long flags, int (*act)(const void *arg), const void *arg)
{
	struct clone_args args = { .flags = flags, .exit_signal = SIGCHLD };
	uid_t uid = geteuid();
	gid_t gid = getegid();
	long pid = syscall(SYS_clone3, &args, sizeof(args));
	int status;

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(-run_child(uid, gid, act, arg) & 0xff);
	while (waitpid((pid_t)pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (!WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

/* AppArmor's restriction lets the namespace be made, and then gives no capability in it
 */
static int use_capability(const void *arg)
{
	(void)arg;
	return sethostname("probe", 5) < 0 ? -errno : 0;
}

int probe_user_namespace(void)
{
	return in_child(CLONE_NEWUSER | CLONE_NEWUTS, use_capability, NULL);
}

int probe_namespace(unsigned long flag)
{
	return in_child(CLONE_NEWUSER | flag, NULL, NULL);
}

static int make_tmpfs(const void *arg)
{
	const struct tmpfs small = { 65536, 16, 0755, 0 };
	struct err e;

	(void)arg;
	return mount_tmpfs(&small, 0, &e);
}

/* an exit status has no room for an fd */
static int try_tmpfs(const void *arg)
{
	int fs = make_tmpfs(arg);

	return fs < 0 ? fs : 0;
}

static int make_overlay(const void *arg)
{
	struct err e;
	int fs = make_tmpfs(arg);

	if (fs < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount_attach(fs, AT_FDCWD, "/", &e) < 0 || fchdir(fs) < 0 ||
	    mkdirat(fs, "a", 0755) < 0 || mkdirat(fs, "b", 0755) < 0)
		return fs < 0 ? fs : -errno;
	fs = mount_overlay("a:b", &e);
	return fs < 0 ? fs : 0;
}

static int make_proc(const void *arg)
{
	struct err e;
	int fs = mount_proc(&e);

	(void)arg;
	return fs < 0 ? fs : 0;
}

int probe_mount(const char *type)
{
	static const struct {
		const char *type;
		int (*act)(const void *arg);
	} kinds[] = {
		{ "tmpfs", try_tmpfs },
		{ "overlay", make_overlay },
		{ "proc", make_proc },
	};
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].type, type) == 0)
			return in_child(flags, kinds[i].act, NULL);
	return -EINVAL;
}

int probe_jail(struct err *e)
{
	static char program[] = "/proc/nothing";
	static char *const words[] = { program, NULL };
	static struct plan plan;
	struct judgement j;
	int r = option_parse(&plan, words, e);

	if (r < 0)
		return r;
	r = run_plan(&plan, -1, &j, e);
	if (r < 0)
		return r;
	/* "not found" is the answer of a jail that stood */
	if (j.status == STATUS_NOT_FOUND)
		return 0;
	*e = j.error;
	return j.error.errnum ? -j.error.errnum : -EINVAL;
}
