/* SPDX-License-Identifier: MIT */
/*
 * rlimit.c - what one process may use: see rlimit.h
 *
 * RLIMIT_CORE is 1. Where core_pattern is "|/path", the kernel starts that program for
 * every crash and ignores the limit, unless it is exactly 1: by this value the kernel
 * keeps a crash of that very program from starting another. seccomp lets nobody in the
 * jail lower the limit again. A socket, "@/path" of Linux 6.16, is asked whatever the
 * limit is, so there no jail is started. See core(5); Kernel: fs/coredump.c
 */
#include <sys/resource.h>

#include "init/io.h"
#include "jail/walls/rlimit.h"

/* a row sets the plan's limit if it names one, else the fixed value; the comment says
 * why */
static const struct {
	const char *name;
	const char *line; /* what /proc/PID/limits calls it */
	int resource;
	enum limit limit; /* LIMIT_COUNT: fixed */
	rlim_t fixed;
	uint64_t per_unit; /* the plan's units in one of the resource's, rounded up */
	rlim_t slack;      /* added to the plan's limit */
	bool no_cgroup;    /* only where no cgroup limits memory */
} rows[] = {
#define ROW(name, line, ...)                                                             \
	{                                                                                \
		"RLIMIT_" #name, line, RLIMIT_##name, __VA_ARGS__                        \
	}
	/* --files; set last, by rlimit_set_files() */
	ROW(NOFILE, "Max open files", LIMIT_FILES, 0, 1, 0, false),
	/* --file-size */
	ROW(FSIZE, "Max file size", LIMIT_FILE_BYTES, 0, 1, 0, false),
	/* --cpu-time of each process, in whole seconds; the launcher watches their sum.
	 * In a session the limit is a step's, and many steps are one process: serve
	 * watches each. */
	ROW(CPU, "Max cpu time", LIMIT_CPU_MS, 0, 1000, 1, false),
	/* --pids, and one more for init where init has the same id as the program */
	ROW(NPROC, "Max processes", LIMIT_PIDS, 0, 1, 1, false),
	/* --memory, for each process: the launcher watches their sum */
	ROW(DATA, "Max data size", LIMIT_MEMORY_BYTES, 0, 1, 0, true),
	/* the host would handle a core dump: 1 byte is too small for any, and keeps
	 * core_pattern's program from being started (see above) */
	ROW(CORE, "Max core file size", LIMIT_COUNT, 1, 1, 0, false),
	/* locked pages cannot be reclaimed */
	ROW(MEMLOCK, "Max locked memory", LIMIT_COUNT, 65536, 1, 0, false),
	/* memory outside of any tmpfs cap */
	ROW(MSGQUEUE, "Max msgqueue size", LIMIT_COUNT, 0, 1, 0, false),
	/* queued signals and timers are kernel memory, and count to the user who started
	 * the jail as well, whatever id the program has: his services run out of them */
	ROW(SIGPENDING, "Max pending signals", LIMIT_COUNT, 64, 1, 0, false),
	/* no raised priority */
	ROW(NICE, "Max nice priority", LIMIT_COUNT, 0, 1, 0, false),
	/* no real-time priority */
	ROW(RTPRIO, "Max realtime priority", LIMIT_COUNT, 0, 1, 0, false),
};

/* glibc's functions take an enum, musl's an int */
#ifdef __GLIBC__
#define RESOURCE(number) ((__rlimit_resource_t)(number))
#else
#define RESOURCE(number) (number)
#endif

#define FILES_ROW 0

const size_t rlimit_count = COUNT(rows);

bool rlimit_plan(size_t row, const struct plan *p, bool cgroup, bool shared_id,
		 bool lower, struct rlimit_row *out)
{
	rlim_t value = rows[row].fixed;
	struct rlimit own;

	if ((rows[row].no_cgroup && cgroup) ||
	    (rows[row].resource == RLIMIT_CPU && p->session))
		return false;
	if (rows[row].limit != LIMIT_COUNT) {
		uint64_t n = p->limit[rows[row].limit];

		if (n == NO_LIMIT)
			return false;
		value = n / rows[row].per_unit + (n % rows[row].per_unit != 0);
	}
	/* with a cgroup, its pids.max shall refuse first, because it counts refusals */
	if (rows[row].resource != RLIMIT_NPROC || shared_id || cgroup)
		value += rows[row].slack;
	/* raising it takes a capability */
	if (lower && getrlimit(RESOURCE(rows[row].resource), &own) == 0 &&
	    own.rlim_max < value)
		value = own.rlim_max;
	*out = (struct rlimit_row){ rows[row].name, rows[row].line, value };
	return true;
}

/* the kernel compares fds in flight with this limit, too: see gate_hand_over() */
void rlimit_raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

const char *rlimit_core_fault(const char *pattern, bool can_be_one)
{
	if (pattern[0] == '@')
		return "core_pattern is a socket (@), which gets what crashes in a jail whatever its limit is: name a file or a program, as by sysctl kernel.core_pattern=core";
	/* a file is kept from being written by a limit of 0 as well */
	return can_be_one || (pattern[0] && pattern[0] != '|')
		       ? NULL
		       : "the hard limit of core dumps is 0, at which the program in core_pattern gets what crashes in a jail: raise it to 1 or more, as by LimitCORE=1 or in limits.conf";
}

int rlimit_raise_core(struct err *e)
{
	struct rlimit old;
	char pattern[256] = "";
	const char *fault;
	ssize_t n;

	if (getrlimit(RLIMIT_CORE, &old) < 0)
		return err_set(e, errno, "rlimit: RLIMIT_CORE");
	n = io_read_file_at(AT_FDCWD, "/proc/sys/kernel/core_pattern", pattern,
			    sizeof(pattern));
	if (n < 0 && n != -ENOENT)
		return err_set(e, (int)-n, "rlimit: read core_pattern");
	fault = rlimit_core_fault(
		pattern, old.rlim_max > 0 ||
				 setrlimit(RLIMIT_CORE, &(struct rlimit){ 1, 1 }) == 0);
	return fault ? err_say(e, EPERM, "rlimit: %s", fault) : 0;
}

static int set_row(size_t i, const struct plan *p, bool cgroup, bool shared_id,
		   struct err *e)
{
	struct rlimit_row row;

	for (int lower = 0; rlimit_plan(i, p, cgroup, shared_id, lower, &row); lower++) {
		if (setrlimit(RESOURCE(rows[i].resource),
			      &(struct rlimit){ row.value, row.value }) == 0)
			break;
		if (lower || errno != EPERM)
			return err_set(e, errno, "rlimit: %s", rows[i].name);
	}
	return 0;
}

int rlimit_set(const struct plan *p, bool cgroup, bool shared_id, bool warm,
	       struct err *e)
{
	int r = 0;

	for (size_t i = FILES_ROW + 1; r == 0 && i < rlimit_count; i++)
		if (rows[i].limit == LIMIT_COUNT ? !warm : !p->template)
			r = set_row(i, p, cgroup, shared_id, e);
	return r;
}

int rlimit_set_files(const struct plan *p, struct err *e)
{
	return set_row(FILES_ROW, p, false, false, e);
}
