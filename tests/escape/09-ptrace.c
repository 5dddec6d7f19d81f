/* trace init, read and write its memory, take its fds | seccomp, init is not dumpable |
 * EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/kcmp.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

/* argv: "child", or the PID of init */
int main(int argc, char **argv)
{
	if (argc < 2)
		attack_lacks("a target");

	static char word[8], mine[8];
	pid_t target = attack_target(argv[1]);
	struct iovec here = { mine, sizeof(mine) }, there = { word, sizeof(word) };
	int pidfd = (int)syscall(SYS_pidfd_open, target, 0);

	door("process_vm_readv", process_vm_readv(target, &here, 1, &there, 1, 0));
	door("process_vm_writev", process_vm_writev(target, &here, 1, &there, 1, 0));
	door("pidfd_getfd", syscall(SYS_pidfd_getfd, pidfd, 0, 0));
	door("kcmp", syscall(SYS_kcmp, getpid(), target, KCMP_VM, 0, 0));
	door("seize", ptrace(PTRACE_SEIZE, target, NULL, NULL));
	(void)ptrace(PTRACE_DETACH, target, NULL, NULL);
	door("attach", ptrace(PTRACE_ATTACH, target, NULL, NULL));
	return attack_end();
}
