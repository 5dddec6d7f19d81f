/* SPDX-License-Identifier: MIT */
/*
 * procfs.c - files of one process in /proc: see procfs.h
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#include <linux/magic.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/base/sys.h"

static int mounted = -1; /* by procfs_use() */

void procfs_use(int root)
{
	mounted = root;
}

int procfs_place(char *path, size_t size, pid_t pid, const char *file)
{
	(void)snprintf(path, size, "%s%d%s", mounted < 0 ? "/proc/" : "", pid, file);
	return mounted < 0 ? AT_FDCWD : mounted;
}

bool procfs_is_own(void)
{
	char self[16], own[16];
	ssize_t n = readlink("/proc/self", self, sizeof(self));

	return n > 0 && n == snprintf(own, sizeof(own), "%d", getpid()) &&
	       memcmp(self, own, (size_t)n) == 0;
}

int procfs_open_place(pid_t pid, const char *file, int flags)
{
	char path[96];
	int root = procfs_place(path, sizeof(path), pid, file);
	int fd = openat(root, path, flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

int procfs_open(pid_t pid)
{
	cleanup_fd int dir =
		procfs_open_place(pid, "", O_PATH | O_DIRECTORY | O_NOFOLLOW);
	struct statfs fs;

	if (dir < 0 || mounted >= 0) /* nobody can have mounted anything there */
		return io_steal_fd(&dir);
	if (fstatfs(dir, &fs) < 0)
		return -errno;
	if (fs.f_type != PROC_SUPER_MAGIC || !procfs_is_own())
		return -EXDEV;
	return io_steal_fd(&dir);
}

int procfs_open_at(int dir, const char *file, int flags)
{
	return sys_openat2(dir, file, (unsigned int)flags,
			   RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
}

/* A file that is no list is one record, which the kernel gives to one read(2). */
static ssize_t read_text(int fd, const char *file, char *text, size_t size)
{
	ssize_t n;

	if (fd < 0 || strstr(file, "mountinfo") || strstr(file, "children"))
		return fd < 0 ? fd : io_read_text(fd, text, size);
	n = read(fd, text, size);
	if (n < 0 || n == (ssize_t)size)
		return n < 0 ? -errno : -EFBIG;
	text[n] = '\0';
	return n;
}

ssize_t procfs_read_at(int dir, const char *file, char *text, size_t size)
{
	cleanup_fd int fd = procfs_open_at(dir, file, O_RDONLY);

	return read_text(fd, file, text, size);
}

ssize_t procfs_read(pid_t pid, const char *file, char *text, size_t size)
{
	cleanup_fd int dir = mounted < 0 ? procfs_open(pid) : -1;
	cleanup_fd int fd = -1;
	char place[64];

	if (mounted < 0)
		return dir < 0 ? dir : procfs_read_at(dir, file, text, size);
	/* one call, by the one folder that a confined process may open anything in */
	(void)snprintf(place, sizeof(place), "/%s", file);
	fd = procfs_open_place(pid, place, O_RDONLY | O_NOFOLLOW);
	return read_text(fd, file, text, size);
}

int procfs_write_at(int dir, const char *file, const char *text)
{
	cleanup_fd int fd = dir < 0 ? dir : procfs_open_at(dir, file, O_WRONLY);

	return fd < 0 ? fd : io_write_text(fd, text);
}

const char *procfs_find(const char *text, const char *key)
{
	size_t n = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) == 0)
			return line + n;
	}
	return NULL;
}

uint64_t procfs_number(const char *text, const char *key, int base)
{
	const char *at = procfs_find(text, key);

	return at ? strtoull(at, NULL, base) : 0;
}

uint64_t procfs_status(pid_t pid, const char *key)
{
	static char text[65536]; /* a process's groups are in it */

	return procfs_read(pid, "status", text, sizeof(text)) > 0
		       ? procfs_number(text, key, 10)
		       : 0;
}

bool procfs_lists(const char *list, const char *word, const char *separators)
{
	size_t n = strlen(word);

	/* strchr(3) finds the end of the list, too */
	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || strchr(separators, at[-1])) &&
		    strchr(separators, at[n]))
			return true;
	return false;
}

void procfs_words(const char *at, char *value, size_t size)
{
	size_t n = 0;

	for (; *at && *at != '\n' && n < size - 1; at++)
		if (*at != ' ' && *at != '\t')
			value[n++] = *at;
		else if (n && value[n - 1] != ' ')
			value[n++] = ' ';
	value[n - (n && value[n - 1] == ' ')] = '\0';
}

DIR *procfs_tasks(pid_t pid)
{
	return folder_list(procfs_open_place(pid, "/task", O_RDONLY | O_DIRECTORY));
}

pid_t procfs_held(int pidfd)
{
	char file[32], text[1024] = "";
	const char *at;
	ssize_t n;
	long pid;

	(void)snprintf(file, sizeof(file), "fdinfo/%d", pidfd);
	n = procfs_read(getpid(), file, text, sizeof(text));
	if (n < 0)
		return (pid_t)(n == -ENOENT ? -EBADF : n);
	at = procfs_find(text, "Pid:\t");
	if (!at)
		return -EBADF;
	pid = strtol(at, NULL, 10);
	return pid > 0 ? (pid_t)pid : -ESRCH;
}

/*
 * A line of /proc/locks is "1: POSIX  ADVISORY  WRITE PID MAJOR:MINOR:INODE FROM TO". Locks
 * of the host's NFS and those without an owner (F_OFD_SETLK) are in the list of every
 * namespace, and their PID is negative: nothing else is behind a blank and a minus.
 * A file of the kernel's is a page at a time, and where the host takes other locks
 * between two reads, a line may be read twice: so what is too many is looked at again, a
 * millisecond apart, as locks come in bursts.
 */
#define LOCKS_LOOKS 8

/* Return: 1 as soon as there are more than @most, 0 or -errno */
static int look_at_locks(int list, int64_t most)
{
	char text[4096], last[2] = "";
	int64_t count = 0;
	ssize_t n = 0;

	if (lseek(list, 0, SEEK_SET) < 0)
		return -errno;
	/* a line that a read has cut is counted all the same */
	while (count <= most && (n = read(list, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			count += text[i] == '\n';
			/* its line's end is still to come */
			count -= last[0] == ' ' && last[1] == '-' && text[i] != '>';
			last[0] = last[1];
			last[1] = text[i];
		}
	return n < 0 ? -errno : count > most;
}

int procfs_locks_exceed(int list, uint64_t limit)
{
	const int64_t most = limit < INT64_MAX ? (int64_t)limit : INT64_MAX;
	int r = list < 0 ? 0 : look_at_locks(list, most);

	for (int i = 1; i < LOCKS_LOOKS && r == 1; i++) {
		(void)poll(NULL, 0, 1);
		r = look_at_locks(list, most);
	}
	return r;
}
