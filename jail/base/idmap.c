/* SPDX-License-Identifier: MIT */
/*
 * idmap.c - a mount that shows the owner of a file or folder as somebody else: see
 * idmap.h
 *
 * The kernel takes the map from a user namespace, which is written to by way of a process
 * in it. That process does nothing, and is ended when the maps are written.
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/base/idmap.h"
#include "jail/base/procfs.h"
#include "jail/base/sys.h"

static int write_map(int dir, const char *file, unsigned int owner, unsigned int as,
		     unsigned int way, unsigned int way_as)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%u %u 1\n", owner, as);

	if (way != owner)
		(void)snprintf(text + n, sizeof(text) - (size_t)n, "%u %u 1\n", way,
			       way_as);
	return procfs_write_at(dir, file, text);
}

/* an fd of the user namespace, or -errno */
static int make_map(const struct stat *own, const struct stat *way,
		    const struct idmap *ids)
{
	cleanup_fd int pidfd = -1, dir = -1;
	pid_t parent = getpid(), pid = sys_clone3(CLONE_NEWUSER, -1, &pidfd);
	int r;

	if (pid < 0)
		return pid;
	if (pid == 0) {
		/* it lives no longer than its parent */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(1);
		for (;;)
			(void)pause();
	}
	dir = procfs_open(pid);
	r = write_map(dir, "gid_map", own->st_gid, ids->owner_group, way->st_gid,
		      ids->way_group);
	if (r == 0)
		r = write_map(dir, "uid_map", own->st_uid, ids->owner, way->st_uid,
			      ids->way);
	if (r == 0)
		r = procfs_open_place(pid, "/ns/user", O_RDONLY);
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return r;
}

int idmap_set(int tree, const char *name, const struct idmap *ids, struct err *e)
{
	struct mount_attr set = { .attr_set = MOUNT_ATTR_IDMAP };
	struct stat own, way;

	if (fstat(tree, &way) < 0 || fstatat(tree, name ? name : "", &own,
					     AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return err_set(e, errno, "look for its owner");

	cleanup_fd int user = make_map(&own, &way, ids);

	if (user < 0)
		return err_set(e, -user, "map its owner");
	set.userns_fd = (unsigned int)user;
	if (mount_setattr(tree, "", AT_EMPTY_PATH, &set, sizeof(set)) < 0)
		return err_set(
			e, errno,
			"its file system, or this container, gives no idmapped mount that shows it under the jail's id: copy it to ext4, xfs or btrfs, or pass it as stdin");
	return 0;
}
