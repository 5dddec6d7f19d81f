/* SPDX-License-Identifier: MIT */
/*
 * terminal.c - terminals for somebody else: see terminal.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/base/terminal.h"

int terminal_offer(const char *path, int *slave, struct err *e)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	cleanup_fd int to = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	cleanup_fd int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	char name[64];
	int r;

	if (master < 0 || unlockpt(master) < 0 ||
	    ptsname_r(master, name, sizeof(name)) != 0 ||
	    (*slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0)
		return err_set(e, errno, "make a terminal");
	if ((size_t)snprintf(at.sun_path, sizeof(at.sun_path), "%s", path) >=
	    sizeof(at.sun_path))
		return err_say(e, ENAMETOOLONG, "--console-socket: the path is too long");
	if (to < 0 || connect(to, (const struct sockaddr *)&at, sizeof(at)) < 0)
		return err_set(e, errno, "--console-socket: connect to %s", path);
	r = fd_passing_send(to, name, strlen(name), &master, 1);
	return r < 0 ? fd_passing_failed(-r, "--console-socket: send the terminal", e)
		     : 0;
}
