/* change the limits, CPUs or priority of init | ids of its own, seccomp | EPERM ESRCH */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <sched.h>
#include <sys/resource.h>

/* argv: "child", or the PID of init; a CPU limit that init has used up ends it */
int main(int argc, char **argv)
{
	struct rlimit limit = { 30, 30 };

	if (argc < 2)
		attack_lacks("a target");

	pid_t target = attack_target(argv[1]);

	door("RLIMIT_CPU", prlimit(target, RLIMIT_CPU, &limit, NULL));
	limit.rlim_cur = limit.rlim_max = 64;
	door("RLIMIT_NOFILE", prlimit(target, RLIMIT_NOFILE, &limit, NULL));
	return attack_end();
}
