/* SPDX-License-Identifier: MIT */
/*
 * watched.c - processes for the watch to look at: see watched.h
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "tests/unit/watched.h"

pid_t watched_children[CHILDREN_MAX];
unsigned int watched_count;

bool watched_can(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	if (access(path, R_OK) == 0)
		return true;
	unit_skip("watch: this kernel has no /proc/PID/task/TID/children");
	return false;
}

char *watched_touch(size_t bytes, int flags)
{
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(1);
	memset(memory, 1, bytes);
	return memory;
}

void watched_start(void (*act)(void))
{
	int ends[2];
	char byte;

	ck_assert_uint_lt(watched_count, CHILDREN_MAX);
	ck_assert_int_eq(pipe(ends), 0);

	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		act();
		(void)!write(ends[1], "x", 1);
		for (;;)
			(void)pause();
	}
	watched_children[watched_count++] = pid;
	(void)close(ends[1]);
	ck_assert_int_eq(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
}

void watched_adopt(void)
{
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0UL, 0UL, 0UL);
}

void watched_end(void)
{
	while (watched_count > 0)
		(void)kill(watched_children[--watched_count], SIGKILL);
	while (wait(NULL) > 0)
		;
}

void watched_sample_again(uint64_t limit_bytes, struct proc_usage *w)
{
	struct err e = { 0 };

	ck_assert_msg(proc_usage_sample(getpid(), limit_bytes, w, &e) == 0, "%s", e.text);
}

void watched_sample(uint64_t limit_bytes, struct proc_usage *w)
{
	*w = (struct proc_usage){ 0 };
	watched_sample_again(limit_bytes, w);
}

void watched_idle(void)
{
}
