/* SPDX-License-Identifier: MIT */
/*
 * measure.c - what takes rights to see of a process of a jail: see measure.h
 *
 * Who runs it: a measurer, a process for one measurement, forked by the spawner
 * (measurer.c), which neither reads nor waits. For the kernel guards these files by the
 * right to ptrace(2), and a jail can make their reader wait: it holds the lock of its
 * memory, or has page tables that take long to walk.
 *
 * What it reads: the kernel's text on processes that are hostile, namely smaps_rollup,
 * status and task/TID/children of all processes below one; maps and fdinfo of one.
 * Numbers are the kernel's own. Names in there are the jail's choice; the kernel writes
 * their line ends as escapes, and none is taken for more than text.
 *
 * What an intruder could do: it is the spawner's copy, with its id, no capability but
 * those that reading needs, no_new_privs, no fd but one folder in /proc and a pipe, and
 * some seconds to live. As root it could read what root may read, and write to root's own
 * files. To the spawner it can tell 24 bytes, which come to the supervisor as numbers.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/close_others.h"
#include "jail/base/procfs.h"
#include "jail/base/sys.h"
#include "jail/serve/spawner/measure.h"
#include "jail/watch/proc_usage.h"

/* A process may have as many mappings and files as its limits allow: a part of them is
 * read. What is beyond, and what cannot be read, counts as shared. */
#define MAPS_BYTES (512u << 10) /* of some 100 for each mapping */
#define FILES_MAX 256

/* a line of /proc/PID/maps: "from-to rwxs ..." */
static bool is_shared(const char *line)
{
	const char *mode = strchr(line, ' ');

	return mode && strlen(mode) > 4 && mode[2] == 'w' && mode[4] == 's';
}

static bool shares_memory(int dir)
{
	int fd = procfs_open_at(dir, "maps", O_RDONLY);
	FILE *maps = fd < 0 ? NULL : fdopen(fd, "re");
	char line[256];
	bool found = !maps, begins = true;
	size_t bytes = 0;

	while (!found && fgets(line, sizeof(line), maps)) {
		size_t length = strlen(line);

		bytes += length;
		found = (begins && is_shared(line)) || bytes > MAPS_BYTES;
		/* the rest of a long line is a file's name */
		begins = length && line[length - 1] == '\n';
	}
	/* none at all: it ends, or nothing may be read of it */
	found = found || !bytes || ferror(maps);
	if (maps)
		(void)fclose(maps);
	else
		io_close_fd(&fd);
	return found;
}

/* one that was closed meanwhile has none: a state may just be making a process */
static bool has_offset(int folder, const char *name)
{
	char text[32] = ""; /* "pos:\t", and more that is not read */
	cleanup_fd int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n <= 0)
		return n == 0 || errno != ENOENT;
	return strncmp(text, "pos:", 4) != 0 || strtoull(text + 4, NULL, 10) != 0;
}

static bool has_offsets(int dir)
{
	cleanup_folder DIR *list =
		folder_list(procfs_open_at(dir, "fdinfo", O_RDONLY | O_DIRECTORY));
	bool found = !list;
	const char *fd;
	int count = 0;

	while (!found && (fd = folder_next(list)))
		found = count++ == FILES_MAX || has_offset(dirfd(list), fd);
	return found;
}

static int measure_own(int dir, uint64_t *bytes)
{
	char text[4096];
	ssize_t n = procfs_read_at(dir, "smaps_rollup", text, sizeof(text));

	if (n <= 0)
		return n < 0 ? (int)n : -ESRCH;
	*bytes = 1024 * (procfs_number(text, "Private_Clean:", 10) +
			 procfs_number(text, "Private_Dirty:", 10));
	return 0;
}

int measure(enum spawn_measure kind, int dir, pid_t pid, uint64_t *value)
{
	if (kind == SPAWN_MEMORY)
		return proc_usage_exact(pid, value);
	if (kind == SPAWN_OWN)
		return measure_own(dir, value);
	*value = (has_offsets(dir) ? SPAWN_SHARES_OFFSETS : 0) |
		 (shares_memory(dir) ? SPAWN_SHARES_MEMORY : 0);
	/* of one that has ended, files that were seen are not there */
	return faccessat(dir, "fdinfo", F_OK, 0) < 0 ? -ESRCH : 0;
}

/* of those that it has: to read files of another id's, and what ptrace(2) guards */
static int keep_two_capabilities(void)
{
	static const cap_value_t kept[] = { CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH };
	cap_t had = cap_get_proc(), set = cap_init();
	cap_flag_value_t has;

	for (size_t i = 0; had && set && i < COUNT(kept); i++) {
		if (cap_get_flag(had, kept[i], CAP_PERMITTED, &has) < 0 ||
		    cap_set_flag(set, CAP_PERMITTED, 1, &kept[i], has) < 0 ||
		    cap_set_flag(set, CAP_EFFECTIVE, 1, &kept[i], has) < 0)
			return -errno;
	}
	/* the process ends soon, and its memory with it */
	return had && set && cap_set_proc(set) == 0 ? 0 : -errno;
}

static int reduce(pid_t parent, int dir, int out)
{
	const int keep[] = { dir, out, procfs_used() };
	int r;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (getppid() != parent)
		return -ESRCH;
	r = close_others(keep, COUNT(keep));
	if (r < 0)
		return r;
	if (close_range(0, 2, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return keep_two_capabilities();
}

_Noreturn void measure_run(pid_t parent, enum spawn_measure kind, int dir, pid_t pid,
			   int out)
{
	struct measured m = { 0 };
	struct timespec t = { 0 };
	int r = reduce(parent, dir, out);

	(void)prctl(PR_SET_NAME, "stepjail-measur");
	if (r == 0)
		r = measure(kind, dir, pid, &m.bytes);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	m.cost_us = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
	m.errnum = (uint64_t)-r;
	_exit(write(out, &m, sizeof(m)) == sizeof(m) ? 0 : 1);
}
