/* SPDX-License-Identifier: MIT */
/*
 * stdio_check.c - may a jail's program have this stdin, stdout or stderr?: see
 * stdio_check.h
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/landlock.h>

#include "init/io.h"
#include "jail/base/stdio_check.h"

/* Does Landlock take a rule for it? Where the kernel has no Landlock, @ruleset is
 * negative, and a memfd is told by its name. */
static bool is_mountable(int fd, int ruleset)
{
	const struct landlock_path_beneath_attr rule = { LANDLOCK_ACCESS_FS_READ_FILE,
							 fd };
	char path[32], name[16] = "";

	if (ruleset >= 0)
		return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
			       &rule, 0) == 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, name, sizeof(name) - 1) > 0 && name[0] == '/' &&
	       strncmp(name, "/memfd:", strlen("/memfd:")) != 0;
}

/* NULL: nothing is wrong with it */
static const char *find_fault(int fd, int ruleset)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return "cannot be looked at";
	if (flags & O_PATH)
		return "is an O_PATH fd, which leads out of the jail's tree";
	switch (st.st_mode & S_IFMT) {
	case S_IFDIR:
		return "is a folder, which leads out of the jail's tree";
	case S_IFIFO:
	case S_IFSOCK:
		return NULL;
	case S_IFREG:
	case S_IFCHR:
	case S_IFBLK:
		return is_mountable(fd, ruleset)
			       ? NULL
			       : "is on no mounted file system, such as a memfd, and could be opened again for writing";
	default:
		return "is neither a file, a device, a pipe nor a socket";
	}
}

int stdio_check(struct err *e)
{
	static const char *const names[] = { "stdin", "stdout", "stderr" };
	const struct landlock_ruleset_attr attr = { LANDLOCK_ACCESS_FS_READ_FILE };
	cleanup_fd int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (ruleset < 0 && errno != ENOSYS && errno != EOPNOTSUPP)
		return err_set(e, errno, "landlock: ask for the ABI");
	for (int fd = 0; fd <= 2; fd++) {
		const char *fault = find_fault(fd, ruleset);

		if (fault)
			return err_say(
				e, EBADF,
				"%s (fd %d) %s: redirect it from or to a file, a pipe or /dev/null",
				names[fd], fd, fault);
	}
	return 0;
}
