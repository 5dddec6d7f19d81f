/* SPDX-License-Identifier: MIT */
/*
 * cgroup_find.c - where this process may make cgroup v2 leaves: see cgroup.h
 *
 * Theory of operation
 *   The hierarchy is /sys/fs/cgroup, or it is not there: a v2 mount elsewhere beside v1
 *   (as "unified") has no controllers, because v1 holds them.
 *   Root makes a subtree of its own, /sys/fs/cgroup/stepjail, unless it was started in a
 *   place that is delegated. A user needs such a place: the own cgroup, or its parent.
 *   Only leaves may hold processes, so those that are in the place itself, the launcher
 *   and the shell that started it, first move into a child of it, "launcher"; started
 *   from there, the next launcher finds the place in its parent.
 *   Where a unit of systemd's is delegated, an extended attribute says so. The right to
 *   write proves nothing: a user owns the cgroups that the user's systemd manages, and
 *   systemd takes controllers away again from cgroups that it has not delegated.
 * Kernel: Documentation/admin-guide/cgroup-v2.rst, "Delegation"; systemd:
 * CGROUP_DELEGATION.md
 */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <linux/magic.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/launch/cgroup/cgroup.h"

#define HIERARCHY "/sys/fs/cgroup"
/* processes may be born while they are moved */
#define ASIDE_TRIES 16

static const struct {
	const char *name;
	const char *option; /* that needs it; NULL: every jail does */
} controllers[] = {
	{ "cpu", NULL },          { "memory", NULL },   { "pids", NULL },
	{ "cpuset", "--cpuset" }, { "io", "--io-max" },
};
#define BIT_CPUSET (1 << 3)
#define BIT_IO (1 << 4)
#define BITS_ALWAYS 7

/* bits of the controllers that a file such as cgroup.controllers names, or -errno */
static int read_bits(int dir, const char *file)
{
	char text[512];
	ssize_t n = io_read_file_at(dir, file, text, sizeof(text));
	int bits = 0;

	if (n < 0)
		return (int)n;
	for (size_t i = 0; i < COUNT(controllers); i++)
		bits |= procfs_lists(text, controllers[i].name, " \n") ? 1 << i : 0;
	return bits;
}

static int needed(const struct plan *p)
{
	return BITS_ALWAYS | (p && p->cpuset ? BIT_CPUSET : 0) |
	       (p && p->io_count ? BIT_IO : 0);
}

/* the first controller of @bits, with the option that asks for it */
static int lack(int bits, const char *where, const char *remedy, struct err *e)
{
	size_t i = 0;

	while (!(bits & (1 << i)))
		i++;
	return err_say(e, ENOENT, "cgroup: controller %s%s%s is missing in %.200s; %s",
		       controllers[i].name, controllers[i].option ? ", needed by " : "",
		       controllers[i].option ? controllers[i].option : "", where, remedy);
}

int cgroup_enable(int folder, const struct plan *p)
{
	int enabled = read_bits(folder, "cgroup.subtree_control");
	int bits = needed(p) & ~enabled;
	char text[64];
	size_t n = 0;

	if (enabled < 0)
		return enabled;
	text[0] = '\0';
	for (size_t i = 0; i < COUNT(controllers); i++)
		if (bits & (1 << i))
			n += (size_t)snprintf(text + n, sizeof(text) - n, "+%s ",
					      controllers[i].name);
	return n ? io_write_file_at(folder, "cgroup.subtree_control", text) : 0;
}

static int open_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int find_root(int top, const struct plan *p, int *base, char *where, size_t size,
		     struct err *e)
{
	static const char place[] = HIERARCHY "/stepjail";
	cleanup_fd int made = -1;
	char pids[16];
	int r;

	(void)snprintf(where, size, "%s", place);
	if (faccessat(top, ".", W_OK, AT_EACCESS) < 0)
		return err_set(e, errno, "cgroup: %s is not writable%s", HIERARCHY,
			       errno == EACCES ? " (root needs CAP_DAC_OVERRIDE)" : "");
	if (p && mkdirat(top, "stepjail", 0755) < 0 && errno != EEXIST)
		return err_set(e, errno, "cgroup: make %s", place);
	made = openat(top, "stepjail", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (made < 0)
		return p ? err_set(e, errno, "cgroup: open %s", place) : 0;
	if (io_read_file_at(made, "cgroup.procs", pids, sizeof(pids)) != 0)
		return err_say(
			e, EBUSY,
			"cgroup: %s has processes of its own, so it can have no limited leaves; type: while read p; do echo $p >%s/cgroup.procs; done <%s/cgroup.procs",
			place, HIERARCHY, place);
	if (!p)
		return 0;
	r = cgroup_enable(top, p);
	if (r == 0)
		r = cgroup_enable(made, p);
	if (r < 0)
		return err_set(e, -r, "cgroup: enable controllers in %s", place);
	*base = io_steal_fd(&made);
	return 0;
}

/* "0::/path" is the v2 line of /proc/self/cgroup; path is relative to the cgroup
 * namespace */
static int own_path(char *path, size_t size)
{
	char text[8192];
	ssize_t n = io_read_file_at(AT_FDCWD, "/proc/self/cgroup", text, sizeof(text));
	const char *line = n > 0 ? procfs_find(text, "0::") : NULL;

	if (n < 0)
		return (int)n;
	if (!line || *line != '/')
		return -ENOENT;
	n = snprintf(path, size, "%s%.*s", HIERARCHY, (int)strcspn(line, "\n"), line);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* is this cgroup a unit of systemd's? Its name tells */
static bool is_unit(const char *path)
{
	static const char *const kinds[] = { ".slice", ".scope", ".service", ".socket" };
	const char *kind = strrchr(path, '.');

	for (size_t i = 0; kind && i < COUNT(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			return true;
	return false;
}

/* is the nearest unit delegated? Below a delegated unit systemd manages nothing */
static bool is_delegated(const char *path, bool without_unit)
{
	static const char *const marks[] = { "user.delegate", "trusted.delegate" };
	char unit[PATH_MAX], value[4];
	struct stat st;

	(void)snprintf(unit, sizeof(unit), "%s", path);
	while (!is_unit(unit)) {
		*strrchr(unit, '/') = '\0';
		if (strlen(unit) < strlen(HIERARCHY))
			return without_unit;
	}
	/* root does not believe the mark of another user's systemd */
	if (stat(unit, &st) < 0 || st.st_uid != geteuid())
		return false;
	for (size_t i = 0; i < COUNT(marks); i++)
		if (getxattr(unit, marks[i], value, sizeof(value)) == 1 && *value == '1')
			return true;
	/* a user's systemd may leave no mark (252 does not): this scope was asked for as
	 * a delegated one, or systemd is asked now */
	return cgroup_in_scope || (geteuid() != 0 && cgroup_ask_delegated(unit));
}

/* may leaves be made here? */
static bool is_ours(const char *path, bool without_unit)
{
	char file[PATH_MAX + 64];

	(void)snprintf(file, sizeof(file), "%s/cgroup.procs", path);
	return access(path, W_OK | X_OK) == 0 && access(file, W_OK) == 0 &&
	       is_delegated(path, without_unit);
}

/* move all processes of a place into a child of it, also the shell that started us */
static int step_aside(int place, const char *path, struct err *e)
{
	cleanup_fd int aside = -1;
	char pids[16384];
	ssize_t n;

	if (mkdirat(place, "launcher", 0755) < 0 && errno != EEXIST)
		return err_set(e, errno, "cgroup: make %.200s/launcher", path);
	aside = openat(place, "launcher", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (aside < 0)
		return err_set(e, errno, "cgroup: open %.200s/launcher", path);
	n = io_read_file_at(place, "cgroup.procs", pids, sizeof(pids));
	if (n < 0 && n != -EFBIG)
		return err_set(e, (int)-n, "cgroup: read %.200s/cgroup.procs", path);
	for (char *next = pids, *pid; (pid = strsep(&next, "\n")) && next;) {
		int r = io_write_file_at(aside, "cgroup.procs", pid);

		/* it may have ended meanwhile */
		if (r < 0 && r != -ESRCH)
			return err_set(e, -r,
				       "cgroup: move process %s to %.200s/launcher", pid,
				       path);
	}
	return 0;
}

static int find_delegated(const char *path, const struct plan *p, int *base, char *where,
			  size_t size, struct err *e)
{
	cleanup_fd int place = open_dir(path);
	int bits = needed(p), offered, r;

	if (place < 0)
		return err_set(e, -place, "cgroup: open %.200s", path);
	(void)snprintf(where, size, "%.100s", path);
	offered = read_bits(place, "cgroup.controllers");
	if (offered < 0)
		return err_set(e, -offered, "cgroup: read %.200s/cgroup.controllers",
			       path);
	if (bits & ~offered)
		return lack(
			bits & ~offered, path,
			"delegate it too, for a user's units with: systemctl edit user@.service, [Service] Delegate=cpu cpuset io memory pids",
			e);
	if (!p)
		return 0;
	r = cgroup_enable(place, p);
	for (int i = 0; r == -EBUSY && i < ASIDE_TRIES; i++) {
		r = step_aside(place, path, e);
		if (r < 0)
			return r;
		r = cgroup_enable(place, p);
	}
	if (r < 0)
		return err_set(e, -r, "cgroup: enable controllers in %.200s", path);
	*base = io_steal_fd(&place);
	return 0;
}

int cgroup_find(const struct plan *p, int *base, char *where, size_t size, struct err *e)
{
	cleanup_fd int top = open_dir(HIERARCHY);
	char own[PATH_MAX], parent[PATH_MAX];
	struct statfs fs;
	int offered, r;

	/* another error, as a shortage of fds, does not say that there is no hierarchy */
	if (top < 0 && top != -ENOENT && top != -ENOTDIR)
		return err_set(e, -top, "cgroup: open %s", HIERARCHY);
	if (top >= 0 && fstatfs(top, &fs) < 0)
		return err_set(e, errno, "cgroup: look at %s", HIERARCHY);
	if (top < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)
		return err_say(
			e, ENOENT,
			"cgroup: %s is not cgroup v2; boot with systemd.unified_cgroup_hierarchy=1 (and no cgroup v1 mounts), or run without these limits by --allow-missing=cgroup",
			HIERARCHY);
	offered = read_bits(top, "cgroup.controllers");
	if (offered < 0)
		return err_set(e, -offered, "cgroup: read %s/cgroup.controllers",
			       HIERARCHY);
	if (needed(p) & ~offered)
		return lack(
			needed(p) & ~offered, HIERARCHY,
			"boot without cgroup_no_v1= and cgroup_disable=, or with a kernel that has it",
			e);
	r = own_path(own, sizeof(own));
	if (r < 0)
		return err_set(e, -r, "cgroup: find the own cgroup in /proc/self/cgroup");
	(void)snprintf(parent, sizeof(parent), "%s", own);
	*strrchr(parent, '/') = '\0';

	/* only the hierarchy's root has no cgroup.type: there root needs no delegation */
	bool rules = geteuid() == 0 && faccessat(top, "cgroup.type", F_OK, 0) < 0;

	if (!is_unit(own) && is_ours(parent, !rules))
		return find_delegated(parent, p, base, where, size, e);
	if (is_ours(own, !rules))
		return find_delegated(own, p, base, where, size, e);
	if (rules)
		return find_root(top, p, base, where, size, e);
	return err_say(e, EACCES, "cgroup: %.100s is not delegated to this user; %s", own,
		       cgroup_advice());
}
