/* SPDX-License-Identifier: MIT */
/*
 * deterministic.c - what differs from run to run, fixed: see deterministic.h
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <sys/personality.h>
#include <time.h>

#include "init/io.h"
#include "jail/walls/deterministic.h"

int deterministic_clock(const struct plan *p, struct err *e)
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
					 "clock-start: this kernel has no time namespaces (Linux 5.6, CONFIG_TIME_NS): boot one that has, or leave the option out")
			       : err_set(e, errno, "clock-start: make a time namespace");
	for (size_t i = 0, n = 0; i < 2; i++) {
		struct timespec now;

		/* posture_file.c refuses a launcher that has offsets itself */
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

unsigned long deterministic_domain(const struct plan *p)
{
	return p->aslr == ASLR_NO ? ADDR_NO_RANDOMIZE : PER_LINUX;
}

int deterministic_cpu(const struct plan *p, struct err *e)
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
