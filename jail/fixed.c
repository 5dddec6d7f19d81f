/* SPDX-License-Identifier: MIT */
/*
 * fixed.c - what a run has of the moment and the machine: see fixed.h
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/fixed.h"
#include "jail/instant.h"
#include "jail/sys.h"

#define TEXT_MAX 48

int fixed_check_instant(const char *text, struct err *e)
{
	uint64_t seconds;

	return instant_parse(text, &seconds, e);
}

static int fix(struct plan *p, const char *option, const char *text, struct err *e)
{
	size_t key = strcspn(text, "=") + 1;

	for (size_t i = 0; i < p->env_count; i++) {
		if (strncmp(p->env[i], text, key) != 0)
			continue;
		if (strcmp(p->env[i], text) == 0)
			return 0;
		return err_say(e, EINVAL, "%s: makes it %s: leave out --env %.64s",
			       option, text, p->env[i]);
	}
	return plan_add_env(p, text, e);
}

int fixed_complete(struct plan *p, struct err *e)
{
	static char hash[TEXT_MAX], seed[TEXT_MAX], start[TEXT_MAX];
	const char *const rows[] = { hash, seed, "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
				     "TZ=UTC" };
	uint64_t seconds;
	int r = 0;

	if (p->deterministic != ANSWER_YES && p->limit[LIMIT_SEED] != NO_LIMIT &&
	    p->limit[LIMIT_SEED] != 0)
		return err_say(e, EINVAL, "seed: is of use with --deterministic alone");
	(void)snprintf(hash, sizeof(hash), "PYTHONHASHSEED=%" PRIu64,
		       p->limit[LIMIT_SEED]);
	(void)snprintf(seed, sizeof(seed), "STEPJAIL_DETERMINISTIC=%" PRIu64,
		       p->limit[LIMIT_SEED]);
	for (size_t i = 0; p->deterministic == ANSWER_YES && r == 0 &&
			   i < sizeof(rows) / sizeof(rows[0]);
	     i++)
		r = fix(p, "deterministic", rows[i], e);
	if (r < 0 || !p->clock_start)
		return r;
	r = instant_parse(p->clock_start, &seconds, e);
	(void)snprintf(start, sizeof(start), "STEPJAIL_CLOCK_START=%" PRIu64, seconds);
	/* the clock of a jail that stood ready would have started by then */
	p->limit[LIMIT_READY] = 0;
	return r < 0 ? r : fix(p, "clock-start", start, e);
}

int fixed_clock(const struct plan *p, struct err *e)
{
	static const char file[] = "/proc/self/timens_offsets";
	static const clockid_t clocks[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME };
	static const char *const names[] = { "monotonic", "boottime" };
	char text[160] = "";

	if (!p->clock_start || p->template)
		return 0;
	if (unshare(CLONE_NEWTIME) < 0)
		return errno == EINVAL
			       ? err_say(e, ENOSYS,
					 "clock-start: this kernel has no time "
					 "namespaces (Linux 5.6, CONFIG_TIME_NS): boot "
					 "one that has, or leave the option out")
			       : err_set(e, errno, "clock-start: make a time namespace");
	for (size_t i = 0, n = 0; i < 2; i++) {
		struct timespec now;

		/* a launcher with offsets of its own is found out by posture_fixed.c */
		if (clock_gettime(clocks[i], &now) < 0)
			return err_set(e, errno, "clock-start: read a clock");
		/* the kernel takes no negative nanoseconds */
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s -%jd %ld\n",
				      names[i], (intmax_t)now.tv_sec + 1,
				      1000000000L - now.tv_nsec - (now.tv_nsec == 0));
	}

	cleanup_fd int fd = open(file, O_WRONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : io_write_text(fd, text);

	return r < 0 ? err_set(e, -r, "clock-start: write %s", file) : 0;
}

unsigned long fixed_domain(const struct plan *p)
{
	return p->aslr == ASLR_NO ? ADDR_NO_RANDOMIZE : PER_LINUX;
}

int fixed_cpu(const struct plan *p, struct err *e)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	if (p->deterministic != ANSWER_YES || p->template)
		return 0;
	CPU_ZERO(&one);
	if (cpu >= 0)
		CPU_SET((size_t)cpu, &one);
	if (cpu < 0 || sched_setaffinity(0, sizeof(one), &one) < 0)
		return err_set(e, errno, "deterministic: stay on one CPU");
	return 0;
}
