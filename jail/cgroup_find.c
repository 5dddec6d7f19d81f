/* SPDX-License-Identifier: MIT */
/*
 * cgroup_find.c - where this process may make cgroup v2 leaves: see cgroup.h
 *
 * Theory of operation
 *   The hierarchy is /sys/fs/cgroup, or it is not there: a v2 mount elsewhere beside v1
 *   (as "unified") has no controllers, because v1 holds them.
 *   Root makes a subtree of its own, /sys/fs/cgroup/stepjail. A user needs a delegated
 *   place: the parent of the own cgroup if it is delegated and its controllers are on, or
 *   the own cgroup, which must then have no other process in it; the launcher first moves
 *   itself out of the way into a child "launcher", because only leaves may hold
 *   processes.
 * Kernel: Documentation/admin-guide/cgroup-v2.rst, "Delegation"
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "init/io.h"
#include "jail/cgroup.h"

#define HIERARCHY "/sys/fs/cgroup"

static const char *const controllers[] = { "cpu", "memory", "pids" };
#define CONTROLLER_COUNT (sizeof(controllers) / sizeof(controllers[0]))

static const char delegate_remedy[] = "start it in a delegated scope: systemd-run --user "
				      "--scope -p Delegate=yes stepjail "
				      "..., or run as root";

static bool lists(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strstr(at, word)); at += n)
		if ((at == text || at[-1] == ' ') && strchr(" \n", at[n]))
			return true;
	return false;
}

/* the first controller that a file such as cgroup.controllers lacks, NULL for none */
static const char *lacking(int dir, const char *file)
{
	char text[512];

	if (io_read_file_at(dir, file, text, sizeof(text)) < 0)
		return controllers[0];
	for (size_t i = 0; i < CONTROLLER_COUNT; i++)
		if (!lists(text, controllers[i]))
			return controllers[i];
	return NULL;
}

static int enable(int dir, const char *path, struct err *e)
{
	if (!lacking(dir, "cgroup.subtree_control"))
		return 0;

	int r = io_write_file_at(dir, "cgroup.subtree_control", "+cpu +memory +pids");

	if (r == -EBUSY)
		return err_say(e, EBUSY,
			       "cgroup: %s has processes of its own, so it can have "
			       "no limited leaves; %s",
			       path, delegate_remedy);
	if (r < 0)
		return err_set(e, -r, "cgroup: enable controllers in %s", path);
	return 0;
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int find_root(int top, int *base, bool make, char *where, size_t size,
		     struct err *e)
{
	int r;

	(void)snprintf(where, size, "%s/stepjail", HIERARCHY);
	if (!make) {
		if (faccessat(top, ".", W_OK, AT_EACCESS) < 0)
			return err_set(e, errno, "cgroup: %s is not writable", HIERARCHY);
		return 0;
	}
	r = enable(top, HIERARCHY, e);
	if (r < 0)
		return r;
	if (mkdirat(top, "stepjail", 0755) < 0 && errno != EEXIST)
		return err_set(e, errno, "cgroup: make %s", where);
	*base = open_dir(where);
	if (*base < 0)
		return err_set(e, -*base, "cgroup: open %s", where);
	return enable(*base, where, e);
}

/* "0::/path" is the v2 line of /proc/self/cgroup; path is relative to the cgroup
 * namespace */
static int own_path(char *path, size_t size)
{
	char text[8192];
	ssize_t n = io_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	const char *line = n > 0 ? strstr(text, "0::/") : NULL;

	if (!line || (line != text && line[-1] != '\n'))
		return -ENOENT;

	size_t length = strcspn(line + 3, "\n");

	n = snprintf(path, size, "%s%.*s", HIERARCHY, (int)length, line + 3);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* may this user make children here and move processes in? */
static bool delegated(const char *path)
{
	char file[PATH_MAX + 64];

	if (access(path, W_OK | X_OK) < 0)
		return false;
	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	return access(file, W_OK) == 0;
}

static int step_aside(int own, const char *path, struct err *e)
{
	cleanup_fd int aside = -1;
	char pid[16];

	if (mkdirat(own, "launcher", 0755) < 0 && errno != EEXIST)
		return err_set(e, errno, "cgroup: make %s/launcher", path);
	aside = openat(own, "launcher", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (aside < 0)
		return err_set(e, errno, "cgroup: open %s/launcher", path);
	(void)snprintf(pid, sizeof(pid), "%d", getpid());

	int r = io_write_file_at(aside, "cgroup.procs", pid);

	return r < 0 ? err_set(e, -r, "cgroup: move to %s/launcher", path) : 0;
}

static int find_user(int *base, bool make, char *where, size_t size, struct err *e)
{
	char own[PATH_MAX], parent[PATH_MAX];
	int r = own_path(own, sizeof(own));

	if (r < 0)
		return err_set(e, -r, "cgroup: find the own cgroup in /proc/self/cgroup");
	(void)snprintf(parent, sizeof(parent), "%s", own);
	*strrchr(parent, '/') = '\0';

	if (strlen(parent) > strlen(HIERARCHY) && delegated(parent)) {
		*base = open_dir(parent);
		if (*base >= 0 && !lacking(*base, "cgroup.subtree_control")) {
			(void)snprintf(where, size, "%.100s", parent);
			return 0;
		}
		io_close_fd(base);
	}
	if (!delegated(own))
		return err_say(e, EACCES,
			       "cgroup: %.200s is not delegated to this user; %s", own,
			       delegate_remedy);
	*base = open_dir(own);
	if (*base < 0)
		return err_set(e, -*base, "cgroup: open %.200s", own);

	const char *lack = lacking(*base, "cgroup.controllers");

	if (lack)
		return err_say(e, ENOENT,
			       "cgroup: controller %s is not delegated to %.200s; %s",
			       lack, own, delegate_remedy);
	(void)snprintf(where, size, "%.100s", own);
	if (!make || !lacking(*base, "cgroup.subtree_control"))
		return 0;
	r = step_aside(*base, own, e);
	return r < 0 ? r : enable(*base, own, e);
}

int cgroup_find(int *base, bool make, char *where, size_t size, struct err *e)
{
	cleanup_fd int top = open_dir(HIERARCHY);
	struct statfs fs;

	if (top < 0 || fstatfs(top, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return err_say(e, ENOENT,
			       "cgroup: %s is not cgroup v2; boot with "
			       "systemd.unified_cgroup_hierarchy=1 (and no cgroup v1 "
			       "mounts), or "
			       "run without these limits by --allow-missing=cgroup",
			       HIERARCHY);

	const char *lack = lacking(top, "cgroup.controllers");

	if (lack)
		return err_say(e, ENOENT,
			       "cgroup: v2 controller %s is missing; boot without "
			       "cgroup_no_v1= or cgroup_disable=%s",
			       lack, lack);
	if (geteuid() == 0)
		return find_root(top, base, make, where, size, e);
	return find_user(base, make, where, size, e);
}
