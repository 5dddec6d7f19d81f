/* SPDX-License-Identifier: MIT */
/*
 * command.h - the commands of stepjail-oci, and what engines say on their command lines
 */
#pragma once

#include "jail/oci/container.h"

enum option_id {
	OPTION_NONE, /* of what engines say, and what means nothing here */
	OPTION_ROOT,
	OPTION_LOG,
	OPTION_VERSION,
	OPTION_BUNDLE,
	OPTION_PID_FILE,
	OPTION_CONSOLE_SOCKET,
	OPTION_PRESERVE_FDS,
	OPTION_FORMAT,
	OPTION_ALL,
	OPTION_FORCE,
	OPTION_COUNT
};

struct call {
	const char
		*option[OPTION_COUNT]; /* its value, "" if it has none; NULL: not given */
	const char *id;
	const char *signal; /* NULL: SIGTERM */
};

/* Each returns 0, or -errno */
int command_create(const struct call *c, struct err *e);
int command_start(const struct call *c, struct err *e);
int command_state(const struct call *c, struct err *e);
int command_kill(const struct call *c, struct err *e);
int command_delete(const struct call *c, struct err *e);
int command_ps(const struct call *c, struct err *e);
int command_pause(const struct call *c, struct err *e);
int command_resume(const struct call *c, struct err *e);
int command_explain(const struct call *c, struct err *e);
