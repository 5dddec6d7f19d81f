/* SPDX-License-Identifier: MIT */
/*
 * init.h - what the launcher hands to stepjail-init: fds at fixed numbers, nothing else
 *
 * Init gets no environment, and at most one argument, whose letters do not matter: there
 * is no text to parse.
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

/* The program is the first process that PID 1 made, so its number is certain. */
#define INIT_PROGRAM_PID 2
