/* SPDX-License-Identifier: MIT */
/*
 * fork.c - make processes: fork hold COUNT MS | fork churn COUNT
 *
 * hold: COUNT children that all live for MS milliseconds, and as many tries again when
 * the kernel refuses; churn: COUNT children one after the other, which a limit on
 * processes alive must not refuse. Prints "made N refused N". Children die with their
 * parent.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_ms(long ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	(void)nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
	int hold = argc > 1 && strcmp(argv[1], "hold") == 0;
	long count = argc > 2 ? strtol(argv[2], NULL, 10) : 100;
	long ms = argc > 3 ? strtol(argv[3], NULL, 10) : 500;
	long made = 0, refused = 0;

	for (long i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (hold)
				pause_ms(ms);
			_exit(0);
		}
		if (pid > 0)
			made++;
		else if (errno == EAGAIN)
			refused++;
		else
			perror("fork");
		if (pid > 0 && !hold)
			(void)waitpid(pid, NULL, 0);
	}
	if (hold)
		pause_ms(ms / 2);
	printf("made %ld refused %ld\n", made, refused);
	return 0;
}
