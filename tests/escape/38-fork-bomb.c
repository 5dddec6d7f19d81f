/* fork without end | pids.max or RLIMIT_NPROC | EAGAIN */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <pthread.h>

static void *sleep_long(void *unused)
{
	(void)pause();
	return unused;
}

/* argv: how many processes, and then threads; bounded, so that it is one outside, too */
int main(int argc, char **argv)
{
	long count = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
	pid_t pid[256];
	long made = 0;

	if (count <= 0 || count > 256)
		attack_lacks("a number up to 256");
	while (made < count && (pid[made] = fork()) >= 0) {
		if (pid[made] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)alarm(20);
			(void)pause();
			_exit(0);
		}
		made++;
	}
	door("processes", made == count ? 0 : -1);
	for (long i = 0; i < made; i++)
		(void)kill(pid[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	for (made = 0; made < count; made++) {
		pthread_t thread;
		int r = pthread_create(&thread, NULL, sleep_long, NULL);

		if (r != 0) {
			errno = r;
			break;
		}
	}
	door("threads", made == count ? 0 : -1);
	return attack_end();
}
