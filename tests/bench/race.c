/* SPDX-License-Identifier: MIT */
/*
 * race.c - time commands against each other: race ROUNDS REFERENCE... <LIST
 *
 * LIST has a line for each contender: its name, a tab, and its words, tab by tab. Every
 * round starts each contender once, in an order drawn anew: what one leaves behind for
 * the kernel to clear away (a network namespace is torn down later, by a kernel thread)
 * then falls on all others alike, and a busy spell of the machine hits all of them. A
 * time is from before posix_spawn(3) to after waitpid(2), by CLOCK_MONOTONIC. Output goes
 * to /dev/null. Printed: median, minimum and 99th percentile in milliseconds, and for
 * each REFERENCE the quotient of the medians. A contender that fails once has no numbers.
 * (Not processor time: bubblewrap returns before its jail is waited for, so its is
 * unknown.)
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/list.h"

#define WARM_UP 3

extern char **environ;

static double run_once(struct contender *c, const posix_spawn_file_actions_t *files)
{
	double start = list_now_ms();
	int status = -1;
	pid_t pid;

	if (posix_spawn(&pid, c->argv[0], files, NULL, c->argv, environ) == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	if (status != 0)
		c->failed = status;
	return list_now_ms() - start;
}

static void print_ratio(const struct contender *c, const struct contender *list, size_t n,
			const char *reference, size_t rounds)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i].name, reference) == 0 && !list[i].failed) {
			printf(" %15.2f", list_median(c->ms, rounds) /
						  list_median(list[i].ms, rounds));
			return;
		}
	printf(" %15s", "-");
}

static void print(const struct contender *list, size_t n, size_t rounds,
		  char **references)
{
	printf("%-16s %9s %9s %9s", "", "median ms", "min", "p99");
	for (char **r = references; *r; r++)
		printf(" / %13s", *r);
	putchar('\n');
	for (size_t i = 0; i < n; i++) {
		const struct contender *c = &list[i];

		if (c->failed) {
			printf("%-16s failed: wait status 0x%x\n", c->name,
			       (unsigned int)c->failed);
			continue;
		}
		printf("%-16s %9.2f %9.2f %9.2f", c->name, list_median(c->ms, rounds),
		       c->ms[0], list_p99(c->ms, rounds));
		for (char **r = references; *r; r++)
			print_ratio(c, list, n, *r, rounds);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	static struct contender list[LIST_MAX];
	size_t rounds = argc > 2 ? strtoul(argv[1], NULL, 10) : 0, order[LIST_MAX];
	posix_spawn_file_actions_t files;

	if (rounds == 0) {
		(void)fputs("usage: race ROUNDS REFERENCE... <LIST\n", stderr);
		return 2;
	}

	size_t n = list_read(list, 0, rounds);

	if (posix_spawn_file_actions_init(&files) != 0 ||
	    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) != 0 ||
	    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0) != 0 ||
	    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) != 0)
		return 1;
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t round = 0; round < WARM_UP + rounds; round++) {
		list_shuffle(order, n);
		for (size_t i = 0; i < n; i++) {
			double ms = run_once(&list[order[i]], &files);

			if (round >= WARM_UP)
				list[order[i]].ms[round - WARM_UP] = ms;
		}
	}
	for (size_t i = 0; i < n; i++)
		list_sort(list[i].ms, rounds);
	print(list, n, rounds, argv + 2);
	return 0;
}
