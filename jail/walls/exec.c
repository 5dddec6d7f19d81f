/* SPDX-License-Identifier: MIT */
/*
 * exec.c - the last stage: what becomes init, and what becomes the program: see stage.h
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/init.h"
#include "jail/walls/stage.h"

int exec_init(struct child *c, struct err *e)
{
	static char name[] = "stepjail-init";
	static char session[] = INIT_SESSION, helper[] = INIT_HELPER;
	char *mode = c->plan->session ? session : c->helper[1] ? helper : NULL;
	char *const argv[] = { name, mode, NULL };
	char *const env[] = { NULL };
	/* first to high numbers, so that no dup2() below overwrites one of them */
	int control = fcntl(c->control, F_DUPFD_CLOEXEC, 16);
	int init = fcntl(c->init_fd, F_DUPFD_CLOEXEC, 16);
	int slot = c->ids->own ? fcntl(c->ids->slot_fd, F_DUPFD_CLOEXEC, 16) : control;

	if (control < 0 || init < 0 || slot < 0)
		return err_set(e, errno, "exec: place fds");
	c->control = control;
	if (dup2(control, INIT_FD_CONTROL) < 0 || dup2(slot, INIT_FD_SLOT) < 0)
		return err_set(e, errno, "exec: place fds");
	(void)syscall(SYS_execveat, init, "", argv, env, AT_EMPTY_PATH);
	return err_set(e, errno, "exec: start stepjail-init");
}

/* the fourth argument is the key that the filter asks for under --lock-code */
static void exec_file(const struct child *c, const char *file)
{
	(void)syscall(SYS_execve, file, c->plan->argv, c->plan->env, c->exec_key);
}

/* It has the program's walls, being a copy of the program's process. It is init's child:
 * a program is to find none that it has not made. And it has been executed, so nothing of
 * the launcher's is in it, before the program is (CLONE_VFORK). */
static int start_helper(const struct child *c, struct err *e)
{
	static char name[] = "helper";
	char *const argv[] = { name, NULL };
	long pid = syscall(SYS_clone, CLONE_PARENT | CLONE_VFORK, NULL, NULL, NULL, 0UL);

	if (pid == 0) {
		for (int fd = 0; fd <= 2; fd++)
			if (dup2(c->helper[1], fd) < 0)
				_exit(1);
		(void)syscall(SYS_execveat, c->helper[0], "", argv, argv + 1,
			      AT_EMPTY_PATH);
		_exit(1);
	}
	return pid == INIT_HELPER_PID
		       ? 0
		       : err_set(e, pid < 0 ? errno : EINVAL, "exec: start the helper");
}

int exec_program(struct child *c, struct err *e)
{
	char *const *argv = c->plan->argv;
	const char *path = "";
	int errnum = ENOENT;

	if (c->helper[1] && start_helper(c, e) < 0)
		return -e->errnum;
	if (strchr(argv[0], '/')) {
		exec_file(c, argv[0]);
		return err_set(e, errno, "%.200s", argv[0]);
	}
	for (size_t i = 0; i < c->plan->env_count; i++)
		if (strncmp(c->plan->env[i], "PATH=", 5) == 0)
			path = c->plan->env[i] + 5;
	while (*path) {
		char file[PATH_MAX];
		size_t n = strcspn(path, ":");

		errno = ENOENT;
		if (n && (size_t)snprintf(file, sizeof(file), "%.*s/%s", (int)n, path,
					  argv[0]) < sizeof(file))
			exec_file(c, file);
		if (errno != ENOENT && errno != ENOTDIR)
			errnum = errno;
		/* this file cannot be executed for another reason: try no further
		 * folder */
		if (errnum != ENOENT && errnum != EACCES)
			break;
		path += n + (path[n] == ':');
	}
	return err_set(e, errnum, "%.200s", argv[0]);
}
