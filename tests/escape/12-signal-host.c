/* signal a process of the host | PID namespace | ESRCH */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: the PID of a process on the host */
int main(int argc, char **argv)
{
	pid_t target = argc > 1 ? (pid_t)strtol(argv[1], NULL, 10) : 0;

	if (target <= 1)
		attack_lacks("a target");
	door("its existence", kill(target, 0));
	door("its folder in /proc", syscall(SYS_pidfd_open, target, 0));
	door("SIGKILL", kill(target, SIGKILL));
	door("its process group", kill(-target, SIGKILL));
	return attack_end();
}
