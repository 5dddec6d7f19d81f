/* make or enter a namespace | seccomp | EPERM ENOSYS */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/sched.h>

static const struct {
	const char *name;
	unsigned long flag;
} kinds[] = {
	{ "user", CLONE_NEWUSER },     { "mnt", CLONE_NEWNS },    { "pid", CLONE_NEWPID },
	{ "net", CLONE_NEWNET },       { "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS },
	{ "cgroup", CLONE_NEWCGROUP }, { "time", CLONE_NEWTIME },
};

/* a child tries, so that one success does not help the next */
static void try_unshare(const char *name, unsigned long flags)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(syscall(SYS_unshare, flags) < 0 ? errno : 0);
	(void)waitpid(pid, &status, 0);
	errno = WEXITSTATUS(status);
	door(name, errno ? -1 : 0);
}

static void try_clone(const char *name, unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, 0);

	if (pid == 0)
		_exit(0);
	door(name, pid);
	if (pid > 0)
		(void)waitpid((pid_t)pid, NULL, 0);
}

int main(void)
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	char path[64];
	long pid;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		try_unshare(kinds[i].name, kinds[i].flag);
		try_unshare(kinds[i].name, kinds[i].flag | CLONE_NEWUSER);
		if (kinds[i].flag == CLONE_NEWTIME) /* clone's exit signal has that bit */
			continue;
		try_clone(kinds[i].name, kinds[i].flag | CLONE_NEWUSER);
		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i].name);

		int fd = open(path, O_RDONLY);

		door(path, syscall(SYS_setns, fd, 0));
	}
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0)
		_exit(0);
	door("clone3", pid);
	return attack_end();
}
