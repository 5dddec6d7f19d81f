/* SPDX-License-Identifier: MIT */
/*
 * outside.c - where a probe runs when it runs without a jail
 *
 * Bare, or as "root" of new namespaces, where no filter and no dropped capability is in
 * the way and where all that it can harm is its own. Root's bare runs can never change
 * the machine's mounts, whatever a probe does.
 */
#include "tests/escape/scene.h"

#include <sched.h>
#include <sys/mount.h>

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stdout, "outside: %s: %s\n", what, strerror(errno));
	_exit(LACKS);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	(void)close(fd);
}

/* the mapped root of a new user namespace */
static void become_root(int more)
{
	char map[64];
	unsigned int uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWUSER | more) < 0)
		fail("new namespaces");
	write_file("/proc/self/setgroups", "deny");
	(void)snprintf(map, sizeof(map), "0 %u 1", uid);
	write_file("/proc/self/uid_map", map);
	(void)snprintf(map, sizeof(map), "0 %u 1", gid);
	write_file("/proc/self/gid_map", map);
}

/* a new PID namespace begins with a child; this process waits, and ends as it does */
static void enter_pids(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid < 0)
		fail("fork");
	if (pid > 0) {
		(void)waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	}
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		fail("a new /proc");
}

void outside_enter(enum wrap wrap)
{
	int more = wrap == IN_NAMESPACES
			   ? CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS
			   : 0;

	if (wrap != BARE)
		become_root(CLONE_NEWNS | more);
	else if (geteuid() == 0 && unshare(CLONE_NEWNS) < 0)
		fail("a mount namespace");
	if ((wrap != BARE || geteuid() == 0) &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		fail("private mounts");
	if (wrap == IN_NAMESPACES)
		enter_pids();
}

void outside_bind(const char *source, const char *destination)
{
	if (mount(source, destination, NULL, MS_BIND, NULL) < 0)
		fail("a bind mount");
}
