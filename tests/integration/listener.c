/* SPDX-License-Identifier: MIT */
/*
 * listener.c - start a program that a surrounding sandbox listens to, as a container
 * would
 *
 * listener PROGRAM [ARG...]: the filter allows everything and tells of nothing; its
 * listener stays open in the program, or the kernel would take it for gone.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

int main(int argc, char **argv)
{
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, all };
	long fd;

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 98;
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		     SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (fd < 0 || fcntl((int)fd, F_SETFD, 0) < 0) {
		perror("listener: seccomp");
		return 98;
	}
	(void)execv(argv[1], argv + 1);
	perror(argv[1]);
	return 98;
}
