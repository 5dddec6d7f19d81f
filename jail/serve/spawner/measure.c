/* SPDX-License-Identifier: MIT */
/*
 * measure.c - what takes rights to see of a process of a jail: see measure.h
 *
 * Who runs it: a measurer, a process for one measurement, forked by the spawner
 * (measurer.c), which neither reads nor waits. For the kernel guards these files by the
 * right to ptrace(2), and a jail can make their reader wait: it holds the lock of its
 * memory, or has page tables that take long to walk.
 *
 * What it reads: the kernel's text on processes that are hostile. Numbers are the
 * kernel's own. Names in maps and status are the jail's choice; the kernel writes their
 * line ends as escapes, and none is taken for more than text.
 *
 * Its walls, of confine_self(): as root, an id that no other process has; a root
 * directory that is a procfs of all jails, read-only, in which no link is followed, so
 * that /proc/1/root leads nowhere; no fd but one folder in there and a pipe;
 * no_new_privs. Of its capabilities it keeps the two that opening takes. No Landlock: it
 * would refuse to look into any process that it does not confine as well.
 * Before a byte of a jail's choice is read, measure_lock():
 *	maps, smaps_rollup	it is open then. read(2), write(2) and _exit(2) are
 *			left, by seccomp's strict mode. Until then numbers were read, of
 *			fdinfo
 *	status of many	these are still to be opened, with the capabilities, behind a
 *			filter (jail/serve/syscalls.c), which takes much longer to load:
 *			files are opened for reading alone; no call makes a process, a
 *			socket or executable memory, sends a signal, traces, or reads at
 *			an offset, as /proc/PID/mem would need
 * What cannot be put up is the answer's errno, and nothing is measured.
 *
 * What an intruder could still do, in some seconds: behind the filter, read what /proc
 * tells of serve's own processes and of all jails, environ and maps among it, but not
 * their memory. To the spawner it can tell 24 bytes, which come to the supervisor as
 * numbers.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <linux/seccomp.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/base/procfs.h"
#include "jail/base/sys.h"
#include "jail/serve/spawner/measure.h"
#include "jail/watch/proc_usage.h"

#include "filter_measurer.h"

/* A process may have as many mappings and files as its limits allow: a part of them is
 * read. What is beyond, and what cannot be read, counts as shared. */
#define MAPS_BYTES (512u << 10) /* of some 100 for each mapping */
#define FILES_MAX 256

/* of /proc/PID/maps, lines "from-to rwxs ..." */
static bool shares_memory(const char *line)
{
	while (line) {
		const char *mode = strchr(line, ' ');

		if (mode && strlen(mode) > 4 && mode[2] == 'w' && mode[4] == 's')
			return true;
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return false;
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

int measure(enum spawn_measure kind, int dir, pid_t pid, int (*lock)(bool opens),
	    uint64_t *value)
{
	static char text[MAPS_BYTES];
	bool offsets = kind == SPAWN_SHARED && has_offsets(dir);
	/* it is not closed: that could not be done any more */
	int fd = procfs_open_at(dir, kind == SPAWN_OWN ? "smaps_rollup" : "maps",
				O_RDONLY);
	struct stat st;
	ssize_t n;
	int r;

	/* of one that has ended, files that were seen are not there */
	if (fstatat(dir, "fdinfo", &st, 0) < 0)
		return -ESRCH;
	r = lock(kind == SPAWN_MEMORY);
	if (r < 0 || kind == SPAWN_MEMORY)
		return r < 0 ? r : proc_usage_exact(pid, value);
	n = fd < 0 ? fd : io_read_text(fd, text, sizeof(text));
	if (kind == SPAWN_OWN && n <= 0)
		return n < 0 ? (int)n : -ESRCH;
	if (kind == SPAWN_OWN)
		*value = 1024 * procfs_number(text, "Pss:", 10);
	else
		*value = (offsets ? SPAWN_SHARES_OFFSETS : 0) |
			 (n <= 0 || shares_memory(text) ? SPAWN_SHARES_MEMORY : 0);
	return 0;
}

int measure_lock(bool opens)
{
	/* refused where a filter is in force already, as in a container */
	if (!opens && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0)
		return 0;
	return filter_load(filter_measurer, COUNT(filter_measurer));
}

int measure_confine(const struct confine *by, pid_t parent, int dir, int out)
{
	const int keep[] = { dir, out, by->root };
	const struct confine c = {
		.id = by->id,
		.root = by->root,
		.keep = keep,
		.keep_count = COUNT(keep),
		/* to read files of another id's, and what ptrace(2) guards */
		.capabilities = 1U << CAP_DAC_READ_SEARCH | 1U << CAP_SYS_PTRACE,
	};
	struct err e;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	if (getppid() != parent)
		return -ESRCH;
	procfs_use(by->root);
	return close_range(0, 2, 0) < 0 ? -errno : confine_self(&c, NULL, &e);
}

_Noreturn void measure_run(const struct confine *by, pid_t parent,
			   enum spawn_measure kind, int dir, pid_t pid, int out)
{
	struct measured m = { 0 };
	int r = measure_confine(by, parent, dir, out);

	(void)prctl(PR_SET_NAME, "stepjail-measur");
	if (r == 0)
		r = measure(kind, dir, pid, measure_lock, &m.bytes);
	/* for the others there are two calls left, write(2) and _exit(2) */
	if (kind == SPAWN_MEMORY)
		m.cost_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	m.errnum = (uint64_t)-r;
	r = write(out, &m, sizeof(m)) == sizeof(m) ? 0 : 1;
	/* strict mode has the one call, the filter the other */
	for (;; (void)syscall(SYS_exit_group, r))
		(void)syscall(SYS_exit, r);
}
