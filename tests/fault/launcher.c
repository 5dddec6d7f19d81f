/* SPDX-License-Identifier: MIT */
/*
 * launcher.c - the process that becomes the launcher, and what it writes
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdint.h>
#include <unistd.h>

#include "tests/fault/fault.h"

/* the launcher's side: 0, 1, 2, folder and ids, then it waits to be seized */
void launcher_become(const struct setup *s, const int *go, const int *out, const int *err,
		     char *const *argv)
{
	static const char *const env[] = { "STEPJAIL_FAULT=secret", "PATH=/bin", NULL };
	char byte;
	int in;

	if (chdir(s->folder) < 0)
		_exit(99);
	in = open("stdin", O_RDONLY | O_CLOEXEC);
	if (in < 0 || dup2(in, 0) < 0 || dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0)
		_exit(99);
	if (geteuid() == 0 && s->uid != 0 &&
	    (setgroups(0, NULL) < 0 || setresgid(s->gid, s->gid, s->gid) < 0 ||
	     setresuid(s->uid, s->uid, s->uid) < 0))
		_exit(99);
	(void)close(go[1]);
	while (read(go[0], &byte, 1) < 0 && errno == EINTR)
		;
	(void)execve(argv[0], argv, (char *const *)(uintptr_t)env);
	_exit(99);
}

void launcher_output(int fd, char *text, size_t size)
{
	ssize_t n;
	size_t used = 0;

	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	while (used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0)
		used += (size_t)n;
	text[used] = '\0';
	(void)close(fd);
}
