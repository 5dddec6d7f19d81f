/* SPDX-License-Identifier: MIT */
/*
 * shipped.c - files that come with stepjail: see shipped.h
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/shipped.h"

static const char *const folders[] = { ".", "../lib/stepjail" };
#define FOLDER_COUNT (sizeof(folders) / sizeof(folders[0]))

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

/* whoever owns the running executable is trusted already; in a container's user namespace
 * it may belong to an id that has no number here, and then so does init */
static bool is_trusted(const struct stat *init)
{
	struct stat exe;
	bool same = stat("/proc/self/exe", &exe) == 0 && exe.st_uid == init->st_uid;

	return S_ISREG(init->st_mode) && !(init->st_mode & S_IWOTH) &&
	       (same || init->st_uid == 0 || init->st_uid == geteuid() || geteuid() == 0);
}

/* opened as O_PATH; the path is where it was found */
static int open_shipped(const char *name, char *path, size_t size, struct err *e)
{
	char own[PATH_MAX];
	int r = own_folder(own, sizeof(own), e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < FOLDER_COUNT; i++) {
		struct stat st;

		if ((size_t)snprintf(path, size, "%s/%s/%s", own, folders[i], name) >=
		    size)
			continue;

		cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);

		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		if (!is_trusted(&st))
			return err_say(
				e, EPERM,
				"%s could have been changed by others: it must be a "
				"file of root, yours or of stepjail's owner, and not "
				"writable by all",
				path);
		return io_steal_fd(&fd);
	}
	return err_say(e, ENOENT,
		       "%s is neither in %.200s nor in ../lib/stepjail from there: run "
		       "make, or make install",
		       name, own);
}

int shipped_init(struct err *e)
{
	char path[PATH_MAX + 64];

	return open_shipped("stepjail-init", path, sizeof(path), e);
}

int shipped_escape(char *const *words, struct err *e)
{
	char path[PATH_MAX + 64];
	cleanup_fd int fd = open_shipped("stepjail-escape", path, sizeof(path), e);

	if (fd < 0)
		return fd;
	(void)execv(path, words - 1);
	return err_set(e, errno, "start %s", path);
}

int shipped_root(const char *given, char *path, size_t size, struct err *e)
{
	char own[PATH_MAX];
	int r;

	if (strchr(given, '/')) {
		if ((size_t)snprintf(path, size, "%s", given) >= size)
			return err_say(e, ENAMETOOLONG, "rootfs: the path is too long");
		return 0;
	}
	r = own_folder(own, sizeof(own), e);
	if (r < 0)
		return r;
	/* "." and "..", too, are folders and no trees */
	for (size_t i = 0; given[0] != '.' && i < FOLDER_COUNT; i++) {
		struct stat st;

		if ((size_t)snprintf(path, size, "%s/%s/rootfs/%s", own, folders[i],
				     given) < size &&
		    stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			return 0;
	}
	return err_say(e, ENOENT,
		       "rootfs: there is no tree named '%.64s' in %.200s/rootfs: run "
		       "make rootfs (for data: make data), or give a folder as ./DIR",
		       given, own);
}
