/* have the host handle a core dump | RLIMIT_CORE is 1, and stays | EPERM no-core */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sys/resource.h>

int main(void)
{
	struct rlimit limit = { 0, 0 };
	int status = 0;
	pid_t pid;

	(void)getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_CORE, &limit);
	if (limit.rlim_max <= 1) {
		limit.rlim_cur = limit.rlim_max = 1 << 20;
		door("raise the limit", setrlimit(RLIMIT_CORE, &limit));
		/* at 0, the kernel would start a program of core_pattern's */
		limit.rlim_cur = limit.rlim_max = 0;
		door("lower the limit", setrlimit(RLIMIT_CORE, &limit));
	}
	pid = fork();
	if (pid == 0)
		abort();
	(void)waitpid(pid, &status, 0);
	door_word("dump core", WIFSIGNALED(status) && WCOREDUMP(status), "no-core");
	return attack_end();
}
