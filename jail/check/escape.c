/* SPDX-License-Identifier: MIT */
/*
 * escape.c - stepjail escape: become stepjail-escape, which runs attacks in jails of our
 * own
 */
#include <limits.h>

#include "init/io.h"
#include "jail/base/command.h"
#include "jail/launch/shipped.h"

int command_escape(char *const *argv, struct err *e)
{
	char path[PATH_MAX + 64];
	cleanup_fd int fd = shipped_program("stepjail-escape", path, sizeof(path), e);

	if (fd < 0)
		return fd;
	/* its name is the word before */
	(void)execv(path, argv - 1);
	return err_set(e, errno, "start %s", path);
}
