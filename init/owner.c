/* SPDX-License-Identifier: MIT */
/*
 * owner.c - files that say what is run, and files with a secret: see owner.h
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "init/io.h"
#include "init/owner.h"

static bool is_ours(uid_t uid)
{
	return uid == 0 || uid == geteuid();
}

int owner_check(int fd, mode_t others, const char *path, struct err *e)
{
	bool secret = others & 044;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "look at %s", path);
	/* a terminal's mode is no file's */
	if (S_ISCHR(st.st_mode) || (is_ours(st.st_uid) && !(st.st_mode & others)))
		return 0;
	return err_say(
		e, EPERM,
		"%s belongs to uid %u, mode %04o: only you and root may be able to %s it (chown, chmod go-%s)",
		path, st.st_uid, st.st_mode & 07777, secret ? "read" : "write to",
		secret ? "rwx" : "w");
}

int owner_secret(const char *path, const char *option, struct err *e)
{
	bool number = strncmp(path, "/dev/fd/", 8) == 0 ||
		      strncmp(path, "/dev/stdin", 10) == 0 ||
		      strncmp(path, "/proc/", 6) == 0;
	cleanup_fd int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | (number ? 0 : O_NOFOLLOW));

	if (fd < 0 && errno == ELOOP)
		(void)err_say(e, ELOOP, "%s is a link: name the file itself", path);
	else if (fd < 0)
		(void)err_set(e, errno, "open %s", path);
	return fd < 0 || owner_check(fd, 077, path, e) < 0 ? err_within(e, "%s", option)
							   : io_steal_fd(&fd);
}

int owner_way(const char *path, size_t from, struct err *e)
{
	char part[PATH_MAX];

	for (size_t n = from; n < sizeof(part); n += 1 + strcspn(path + n + 1, "/")) {
		struct stat st, end; /* of a link, and of what it leads to */

		(void)snprintf(part, sizeof(part), "%.*s", (int)n, path);
		if (lstat(part, &st) < 0 || stat(part, &end) < 0)
			break;
		if (!is_ours(st.st_uid) || !is_ours(end.st_uid))
			return err_say(
				e, EPERM,
				"%s is not read: %s belongs to uid %u, who chooses what stands there; set HOME and XDG_CONFIG_HOME to folders of yours",
				path, part, is_ours(st.st_uid) ? end.st_uid : st.st_uid);
		if (!path[n])
			break;
	}
	return 0;
}
