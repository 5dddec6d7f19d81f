/* SPDX-License-Identifier: MIT */
/*
 * mount_op.c - single mounts, and steps on the new mount API: see mount_op.h
 *
 * See mount(2), fsopen(2), fsconfig(2), fsmount(2), move_mount(2), open_tree(2),
 * openat2(2).
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "init/io.h"
#include "jail/walls/mount_op.h"

/* flags of mount(2) and of the new API have the same numbers */
_Static_assert(MS_RDONLY == MOUNT_ATTR_RDONLY && MS_NOSUID == MOUNT_ATTR_NOSUID &&
		       MS_NODEV == MOUNT_ATTR_NODEV && MS_NOEXEC == MOUNT_ATTR_NOEXEC,
	       "MOUNT_ATTR_ flags are MS_ flags");

int mount_tmpfs(const char *at, const struct tmpfs *fs, uint64_t attr, struct err *e)
{
	char options[128];
	int n = snprintf(options, sizeof(options),
			 "size=%" PRIu64 ",nr_inodes=%" PRIu64 ",mode=%o", fs->bytes,
			 fs->inodes, fs->mode);

	if (fs->owner)
		(void)snprintf(options + n, sizeof(options) - (size_t)n, ",uid=%u,gid=%u",
			       fs->owner, fs->owner);
	return mount("none", at, "tmpfs", attr, options) < 0
		       ? err_set(e, errno, "mount: tmpfs with %s", options)
		       : 0;
}

int mount_overlay(const char *at, const char *lowerdir, struct err *e)
{
	char options[64];

	(void)snprintf(options, sizeof(options), "lowerdir=%s", lowerdir);
	if (mount("none", at, "overlay", MOUNT_TREE, options) == 0)
		return 0;
	if (errno == EINVAL || errno == ELOOP)
		return err_say(
			e, errno,
			"mount: the file system of the root tree or of a bind cannot be a layer of an overlay: copy it to another one (the kernel log says why)");
	return err_set(e, errno, "mount: overlay with %s%s", options,
		       errno == ENODEV ? " (modprobe it)" : "");
}

int mount_proc(uint64_t attr, enum mount_proc_of of, struct err *e)
{
	cleanup_fd int context = fsopen("proc", FSOPEN_CLOEXEC);
	int fd = -1;

	if (context >= 0 &&
	    (of == MOUNT_PROC_WHOLE ||
	     fsconfig(context, FSCONFIG_SET_STRING, "subset", "pid", 0) == 0) &&
	    fsconfig(context, FSCONFIG_SET_STRING, "hidepid",
		     of == MOUNT_PROC_OWN ? "invisible" : "off", 0) == 0 &&
	    fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(context, FSMOUNT_CLOEXEC, (unsigned int)attr);
	/* a filter would refuse it for no context at all, too */
	if (fd < 0 && errno == EPERM && context >= 0 && fsmount(-1, 0, 0) < 0 &&
	    errno != EPERM)
		return err_say(
			e, EPERM,
			"mount: the kernel gives no new /proc here, because this one is masked, as in a container: unmask it, or use run with --proc none and --file-locks 0");
	return fd < 0 ? err_set(e, errno, "mount: make a procfs") : fd;
}

int mount_limit_backlog(struct err *e)
{
	cleanup_fd int proc = mount_proc(0, MOUNT_PROC_WHOLE, e);
	int r = proc < 0 ? proc
			 : io_write_file_at(proc, MOUNT_BACKLOG, MOUNT_BACKLOG_MAX);

	return r < 0 && proc >= 0
		       ? err_set(e, -r,
				 "mount: limit net.core.somaxconn of the jail's network")
		       : r;
}

int mount_locks(struct err *e)
{
	cleanup_fd int proc = mount_proc(MOUNT_READ_ONLY, MOUNT_PROC_WHOLE, e);
	int fd = proc < 0 ? proc : openat(proc, "locks", O_RDONLY | O_CLOEXEC);

	return fd < 0 && proc >= 0 ? err_set(e, errno, "mount: open /proc/locks") : fd;
}

int mount_attach(int tree, int at, const char *path, struct err *e)
{
	return move_mount(tree, "", at, path, MOVE_MOUNT_F_EMPTY_PATH) < 0
		       ? err_set(e, errno, "mount: attach at %s", path)
		       : 0;
}

/* every path within a tree is opened here */
static int open_beneath(int root, const char *path, uint64_t flags)
{
	return sys_openat2(root, path, O_PATH | flags,
			   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

static int refuse_point(int errnum, const char *path, struct err *e)
{
	if (errnum == ELOOP)
		return err_say(
			e, ELOOP,
			"mount: %s passes through a symlink of the root tree: choose the path it points to",
			path);
	return err_set(e, errnum, "mount: destination %s", path);
}

int mount_attach_beneath(int tree, int root, const char *path, struct err *e)
{
	/* no symlink is followed at the end of a path */
	if (!strchr(path + 1, '/') &&
	    move_mount(tree, "", root, path + 1, MOVE_MOUNT_F_EMPTY_PATH) == 0)
		return 0;

	cleanup_fd int at = open_beneath(root, path + 1, 0);

	if (at < 0)
		return refuse_point(-at, path, e);
	return move_mount(tree, "", at, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0
		       ? err_set(e, errno, "mount: attach at %s", path)
		       : 0;
}

int mount_node(int dev, const char *name, const char *node, dev_t device, struct err *e)
{
	struct stat st;
	int tree = open_tree(AT_FDCWD, node, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0)
		return err_set(e, errno,
			       "mount: clone the host's %s, which every jail has too",
			       node);
	if (fstat(tree, &st) < 0 || !S_ISCHR(st.st_mode) || st.st_rdev != device)
		return err_say(
			e, ENODEV,
			"mount: the host's %s is not the device of that name: make it anew (mknod), or mount a devtmpfs",
			node);

	return mount_attach(tree, dev, name, e);
}

int mount_set_flags(int tree, uint64_t attr, struct err *e)
{
	struct mount_attr set = { .attr_set = attr, .propagation = MS_PRIVATE };

	return mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &set, sizeof(set)) <
			       0
		       ? err_set(e, errno, "mount: set flags")
		       : 0;
}

int mount_clone_at(const char *folder, const char *name, struct err *e)
{
	char path[PATH_MAX + NAME_MAX + 1];

	(void)snprintf(path, sizeof(path), "%s%s%s", folder, name ? "/" : "",
		       name ? name : "");

	int fd = open_tree(AT_FDCWD, path,
			   OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);

	return fd < 0 ? err_set(e, errno, "mount: clone %s%s", name ? name : folder,
				errno == EINVAL
					? " (is another file system mounted inside it?)"
				: errno == ENOSPC
					? " (raise the sysctl user.max_mnt_namespaces, or fs.mount-max)"
					: "")
		      : fd;
}

/* the last part of a path: keep what is there if its kind fits, else make it */
static int make_last(int parent, const char *name, const char *path, bool folder,
		     struct err *e)
{
	struct stat st;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		if (S_ISLNK(st.st_mode))
			return refuse_point(ELOOP, path, e);
		if (S_ISDIR(st.st_mode) != folder)
			return err_say(
				e, folder ? ENOTDIR : EISDIR,
				"mount: destination %s is a %s in the root tree, and the source is not",
				path, folder ? "file" : "folder");
		return 0;
	}

	int r = folder ? mkdirat(parent, name, 0755)
		       : mknodat(parent, name, S_IFREG | 0444, 0);

	return r < 0 ? refuse_point(errno, path, e) : 0;
}

int mount_make_point(int root, const char *path, bool folder, struct err *e)
{
	cleanup_fd int at = open_beneath(root, ".", O_DIRECTORY);
	char name[NAME_MAX + 1];

	for (const char *part = path + 1; at >= 0;) {
		size_t n = strcspn(part, "/");

		(void)snprintf(name, sizeof(name), "%.*s", (int)n, part);
		if (part[n] == '\0')
			return make_last(at, name, path, folder, e);

		int next = open_beneath(at, name, O_DIRECTORY);

		if (next == -ENOENT)
			next = mkdirat(at, name, 0755) < 0
				       ? -errno
				       : open_beneath(at, name, O_DIRECTORY);
		io_close_fd(&at);
		if (next < 0)
			return refuse_point(-next, path, e);
		at = next;
		part += n + 1;
	}
	return refuse_point(-at, path, e);
}
