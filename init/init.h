/* SPDX-License-Identifier: MIT */
/*
 * init.h - what the launcher hands to stepjail-init: fds at fixed numbers, nothing else
 *
 * Init gets no environment, and at most one argument, of which the first letter alone
 * matters: there is no text to parse.
 */
#pragma once

enum init_fd {
	INIT_FD_CONTROL = 3, /* stream of frames to and from the launcher */
	INIT_FD_SLOT = 4,    /* only held open: the lock on this jail's host ids */
};

/*
 * The argument: the jail is a session's. Init then tells of the end of each process that
 * it reaps (EXIT, the pid in the header's step), and stays until the launcher closes the
 * control socket.
 */
#define INIT_SESSION "session"

/* The argument: beside the program runs the helper of --hold, which ends with it. */
#define INIT_HELPER "helper"

/* The program is the first process that PID 1 made, and its helper the first that it made
 * itself, so their numbers are certain. */
#define INIT_PROGRAM_PID 2
#define INIT_HELPER_PID 3
