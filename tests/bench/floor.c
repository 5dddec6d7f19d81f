/* SPDX-License-Identifier: MIT */
/*
 * floor.c - what the kernel itself takes for a jail: the least that any could take
 *
 * usage: floor COUNT AT_A_TIME
 *
 * A cycle is clone3(2) with new namespaces, a tmpfs, pivot_root(2) on to it, exit, and
 * wait(2). Nothing is read back, nothing executed, no filter loaded. It is done without a
 * new network namespace, then with one: that costs more than all the others together. The
 * second column is processor time, that of the kernel's own threads left out.
 * Works as root and as an ordinary user.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "tests/bench/list.h"

#define NAMESPACES                                                                       \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS |      \
	 CLONE_NEWCGROUP)

/* on a folder that every host has; musl and glibc have no pivot_root() */
static int be_jail(void)
{
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	       mount("floor", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "size=1m") < 0 ||
	       chdir("/proc") < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
	       umount2(".", MNT_DETACH) < 0;
}

static void start(uint64_t namespaces)
{
	struct clone_args args = { .flags = namespaces, .exit_signal = SIGCHLD };
	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0)
		_exit(be_jail() ? 1 : 0);
	if (pid < 0) {
		perror("floor: clone3");
		exit(1);
	}
}

static void end(void)
{
	int status = -1;

	while (wait(&status) < 0 && errno == EINTR)
		;
	if (status != 0) {
		(void)fputs("floor: a jail could not be made here\n", stderr);
		exit(1);
	}
}

static double cpu_ms(void)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	double ms = 0;

	for (size_t i = 0; i < 2; i++) {
		struct rusage used = { 0 };

		(void)getrusage(whose[i], &used);
		ms += (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
		      (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3;
	}
	return ms;
}

int main(int argc, char **argv)
{
	unsigned long count = argc == 3 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long at_a_time = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;

	if (at_a_time == 0 || count < at_a_time) {
		(void)fputs("usage: floor COUNT AT_A_TIME\n", stderr);
		return 2;
	}
	for (int network = 0; network < 2; network++) {
		uint64_t namespaces = NAMESPACES | (network ? CLONE_NEWNET : 0);
		double begun = list_now_ms(), used = cpu_ms();

		for (unsigned long i = 0; i < count + at_a_time; i++) {
			if (i >= at_a_time)
				end();
			if (i < count)
				start(namespaces);
		}
		printf("floor %s a network namespace: %.0f a second, %.2f ms of processor each\n",
		       network ? "with" : "without",
		       (double)count / (list_now_ms() - begun) * 1e3,
		       (cpu_ms() - used) / (double)count);
		(void)fflush(stdout);
	}
	return 0;
}
