/* SPDX-License-Identifier: MIT */
/*
 * shipped.c - files that come with stepjail: see shipped.h
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "init/io.h"
#include "jail/base/host.h"
#include "jail/walls/ids.h"
#include "jail/launch/shipped.h"

static const char *const folders[] = { ".", "../lib/stepjail" };

/* the folder of the running executable; the kernel's link, not argv[0]'s claim */
static int own_folder(char *path, size_t size, struct err *e)
{
	ssize_t n = readlink("/proc/self/exe", path, size - 1);

	if (n < 0)
		return err_set(e, errno,
			       "find the running executable (is /proc mounted?)");
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	return 0;
}

/*
 * Could others have changed this file? The host's root trusts root alone. An ordinary
 * user also trusts the owner of the running executable, and the user's own group, for
 * which umask 002 leaves files writable. Root of a container is taken for such a user,
 * because there the files may belong to ids that the container cannot name.
 */
static int check_owner(const char *path, const struct stat *st, struct err *e)
{
	struct stat exe;
	struct err not_told;

	if (st->st_uid == 0 && !(st->st_mode & (S_IWGRP | S_IWOTH)))
		return 0;

	bool root = ids_own(&not_told) != 0;
	bool same =
		!root && stat("/proc/self/exe", &exe) == 0 && exe.st_uid == st->st_uid;
	mode_t others = !root && st->st_gid == getegid() ? S_IWOTH : S_IWOTH | S_IWGRP;

	if (!same && st->st_uid != 0 && st->st_uid != geteuid())
		return err_say(
			e, EPERM,
			"%s belongs to uid %u, who could have changed it: chown root %s, or make install",
			path, st->st_uid, path);
	if (st->st_mode & others)
		return err_say(
			e, EPERM,
			"%s has mode %04o, so others could have changed it: chmod go-w %s",
			path, st->st_mode & 07777, path);
	return 0;
}

/* @flags: of open(2); without O_DIRECTORY it must be a file. @path: gets where it was
 * found. Return: an O_PATH fd, or -errno */
static int open_shipped(const char *place, const char *name, int flags, char *path,
			size_t size, struct err *e)
{
	char own[PATH_MAX], folder[PATH_MAX + 32];
	int r = own_folder(own, sizeof(own), e);

	if (r < 0)
		return r;
	/* nothing has such a name; "." and ".." are folders, too */
	for (size_t i = 0; name[0] != '.' && i < COUNT(folders); i++) {
		struct stat st, parent;

		(void)snprintf(folder, sizeof(folder), "%s/%s%s", own, folders[i], place);
		if ((size_t)snprintf(path, size, "%s/%s", folder, name) >= size)
			continue;

		cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC | flags);

		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		if (!(flags & O_DIRECTORY) && !S_ISREG(st.st_mode))
			return err_say(e, EPERM, "%s is no file", path);
		/* who may write to the folder could put another file in its place */
		if (stat(folder, &parent) < 0)
			return err_set(e, errno, "look at %s", folder);
		r = check_owner(folder, &parent, e);
		if (r == 0)
			r = check_owner(path, &st, e);
		return r < 0 ? r : io_steal_fd(&fd);
	}
	if (flags & O_DIRECTORY) {
		folder[0] = '\0';
		for (size_t i = 0; i < COUNT(folders); i++) {
			(void)snprintf(path, size, "%s/%s/rootfs/*.sha256", own,
				       folders[i]);
			host_names(path, folder, sizeof(folder));
		}
		return err_say(
			e, ENOENT,
			"there is no tree named '%.64s' (there are:%.256s): make rootfs builds core, make data data; a folder is given as ./DIR",
			name, folder[0] ? folder : " none");
	}
	return err_say(
		e, ENOENT,
		"%s is neither in %.200s nor in ../lib/stepjail from there: run make, or make install",
		name, own);
}

int shipped_program(const char *name, char *path, size_t size, struct err *e)
{
	return open_shipped("", name, O_NOFOLLOW, path, size, e);
}

int shipped_root(const char *given, char *path, size_t size, struct err *e)
{
	if (strchr(given, '/'))
		return (size_t)snprintf(path, size, "%s", given) < size
			       ? 0
			       : err_say(e, ENAMETOOLONG, "rootfs: the path is too long");

	cleanup_fd int fd = open_shipped("/rootfs", given, O_DIRECTORY, path, size, e);

	return fd < 0 ? err_within(e, "rootfs: ") : 0;
}
