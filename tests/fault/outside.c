/* SPDX-License-Identifier: MIT */
/*
 * outside.c - what the host sees of a jail while its program starts, and after its end
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fault/fault.h"

#define LEAVES "/sys/fs/cgroup/stepjail"
#define LEASES "/run/stepjail/net"

static char mounts_before[65536], mounts_after[65536];

static void say(char *text, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void say(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(text + used, size - used, fmt, ap);
	va_end(ap);
}

static const char *read_file(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	while (fd >= 0 && used < size - 1 &&
	       (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return text;
}

static void look_at_ids(const struct setup *s, const char *status, char *text,
			size_t size)
{
	const char *at = strstr(status, "\nUid:\t"),
		   *groups = strstr(status, "\nGroups:");
	unsigned int u[4] = { 0 };

	if (!at || sscanf(at, " Uid: %u %u %u %u", u, u + 1, u + 2, u + 3) != 4)
		say(text, size, "no Uid in /proc/PID/status; ");
	for (int i = 0; i < 4; i++)
		if (u[i] == 0 || (s->uid != 0 && u[i] != s->uid))
			say(text, size, "the program is host uid %u; ", u[i]);
	if (s->uid == 0 &&
	    (!groups || strspn(groups + 8, " \t") != strcspn(groups + 8, "\n")))
		say(text, size, "supplementary groups; ");
}

static void look_at_leaf(pid_t pid, char *text, size_t size)
{
	static const struct {
		const char *file, *value;
		unsigned long long number;
	} rows[] = {
		{ "memory.max", NULL, JAIL_MEMORY_BYTES },
		{ "pids.max", NULL, JAIL_PIDS + 1 },
		{ "cpu.max", "100000 100000", 0 },
		{ "memory.swap.max", "0", 0 },
	};
	char path[512], own[256], have[64], want[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	(void)read_file(path, own, sizeof(own));
	own[strcspn(own, "\n")] = '\0';
	if (strncmp(own, "0::/stepjail/run-", 17) != 0) {
		say(text, size, "the program is in cgroup %s; ", own);
		return;
	}
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", own + 3,
			       rows[i].file);
		(void)snprintf(want, sizeof(want), "%llu", rows[i].number);
		(void)read_file(path, have, sizeof(have));
		have[strcspn(have, "\n")] = '\0';
		if (strcmp(have, rows[i].value ? rows[i].value : want) != 0)
			say(text, size, "%s is '%s'; ", rows[i].file, have);
	}
}

void outside_look(const struct setup *s, pid_t pid, char *text, size_t size)
{
	char path[64], status[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	look_at_ids(s, read_file(path, status, sizeof(status)), text, size);
	if (s->cgroup)
		look_at_leaf(pid, text, size);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror(path);
	if (fd >= 0)
		(void)close(fd);
}

void outside_begin(const struct setup *s)
{
	if (s->cgroup) {
		/* as after a boot */
		(void)rmdir(LEAVES);
		write_file("/sys/fs/cgroup/cgroup.subtree_control", "-cpu -memory -pids");
	}
	if (s->own_run) {
		/* as after a boot: the folder is then made in every run */
		(void)unlink("/run/stepjail/ids");
		(void)rmdir(LEASES);
		(void)rmdir("/run/stepjail");
	}
	(void)read_file("/proc/self/mountinfo", mounts_before, sizeof(mounts_before));
}

/* every name of a folder must be among these; it may be gone */
static void left_in(const char *folder, const char *const *known, bool folders_only,
		    char *text, size_t size)
{
	DIR *d = opendir(folder);

	for (struct dirent *e; d && (e = readdir(d));) {
		bool ok = e->d_name[0] == '.' || (folders_only && e->d_type != DT_DIR);

		for (size_t i = 0; !ok && known[i]; i++)
			ok = strcmp(known[i], e->d_name) == 0;
		if (ok)
			continue;
		say(text, size, "%s/%s; ", folder, e->d_name);
		(void)unlinkat(dirfd(d), e->d_name,
			       e->d_type == DT_DIR ? AT_REMOVEDIR : 0);
	}
	if (d)
		(void)closedir(d);
}

static void left_locked(char *text, size_t size)
{
	struct flock any = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd = open("/run/stepjail/ids", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && (fcntl(fd, F_OFD_GETLK, &any) < 0 || any.l_type != F_UNLCK))
		say(text, size, "a lock of /run/stepjail/ids; ");
	if (fd >= 0)
		(void)close(fd);
}

void outside_left(const struct setup *s, char *text, size_t size)
{
	static const char *const files[] = { "stdin",  "given",  "shared", "out",
					     "policy", "report", NULL };
	static const char *const ids[] = { "ids", "net", NULL };
	static const char *const none[] = { NULL };
	char shared[256];

	(void)snprintf(shared, sizeof(shared), "%s/shared", s->folder);
	left_in(s->folder, files, false, text, size);
	left_in(shared, none, false, text, size);
	if (s->own_run) {
		left_in("/run/stepjail", ids, false, text, size);
		left_in("/tmp", none, false, text, size);
		left_locked(text, size);
		/* what is kept on purpose */
		(void)umount2(LEASES, MNT_DETACH);
	}
	if (s->cgroup)
		left_in(LEAVES, none, true, text, size);
	(void)read_file("/proc/self/mountinfo", mounts_after, sizeof(mounts_after));
	if (strcmp(mounts_before, mounts_after) != 0)
		say(text, size, "a mount; ");
}
