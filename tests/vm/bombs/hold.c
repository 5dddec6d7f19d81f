/* SPDX-License-Identifier: MIT */
/*
 * hold.c - hold a process at its last moment, with all of its memory: hold PID
 *
 * Says "ready", and "held" when the process is about to end. Lets it go at the end of its
 * own stdin.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
	pid_t pid = argc == 2 ? atoi(argv[1]) : 0;
	int status;

	if (ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT) < 0)
		return 1;
	(void)puts("ready");
	(void)fflush(stdout);
	if (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		return 1;
	(void)puts("held");
	(void)fflush(stdout);
	while (getchar() != EOF)
		;
	return ptrace(PTRACE_DETACH, pid, NULL, NULL) < 0;
}
