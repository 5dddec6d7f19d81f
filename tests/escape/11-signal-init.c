/* kill, stop or interrupt init | PID namespace, ids of its own | alive */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <poll.h>

/* argv: "child", or the PID of init */
int main(int argc, char **argv)
{
	static const int signals[] = {
		SIGTERM, SIGSEGV, SIGHUP, SIGSTOP, SIGCONT, SIGKILL
	};

	if (argc < 2)
		attack_lacks("a target");

	pid_t target = attack_target(argv[1]);
	int pidfd = (int)syscall(SYS_pidfd_open, target, 0);

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		(void)kill(target, signals[i]);
		(void)syscall(SYS_tgkill, target, target, signals[i]);
		(void)syscall(SYS_pidfd_send_signal, pidfd, signals[i], NULL, 0);
	}

	struct pollfd gone = { .fd = pidfd, .events = POLLIN };

	if (pidfd < 0)
		attack_lacks("pidfd_open");
	door_word("the target ended", poll(&gone, 1, 300) == 1, "alive");
	return attack_end();
}
