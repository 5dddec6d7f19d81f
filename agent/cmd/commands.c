/* SPDX-License-Identifier: MIT */
/*
 * commands.c - what subcommands share: see commands.h
 */
#include <errno.h>
#include <unistd.h>

#include "agent/cmd/commands.h"

int command_print(const struct text *out, struct stop *stop, struct err *e)
{
	int r = text_check(out, "the text", e);

	if (r == 0)
		r = stop_write(stop, STDOUT_FILENO, out->bytes, out->length);
	if (r == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return r < 0 ? err_set(e, -r, "cannot write to stdout") : 0;
}
