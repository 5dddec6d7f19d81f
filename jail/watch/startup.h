/* SPDX-License-Identifier: MIT */
/*
 * startup.h - from the launch until the program may start: who is ready, and behind what
 *
 * The launcher waits for init's READY and for the program's, at the gate; it reads back
 * the walls, the limits and the watch that stands in for them, and opens the gate. The
 * one way to stand up a jail: `run` comes here from its loop, `serve` from its own.
 */
#ifndef STEPJAIL_JAIL_WATCH_STARTUP_H
#define STEPJAIL_JAIL_WATCH_STARTUP_H

#include <stdbool.h>
#include <stdint.h>

#include "init/wire.h"
#include "jail/watch/run_loop.h"

/* a jail must stand by then, whatever the plan allows its program */
#define STARTUP_MS 30000

/**
 * startup_gate() - Take what waits at the gate; the jail stands, or run->ended is set
 *
 * Return: false: not all of READY is there, and the gate is still to be listened to
 */
bool startup_gate(struct run *run);

/**
 * startup_hear() - Take a frame of the control socket, before the gate is open
 * @fail:	Gets the payload of FAIL; of other types none is taken
 *
 * Both ends are of fixed size, and nothing waits.
 *
 * Return: 1, 0 (there is none), -ENODATA (end of file), -EBADMSG, or -errno
 */
int startup_hear(int control, struct wire_header *h, struct wire_fail *fail);

/**
 * startup_frame() - Take a frame of the control socket
 *
 * READY may open the gate; FAIL ends the run.
 *
 * Return: false for a frame that is none of these, or that may not come now
 */
bool startup_frame(struct run *run, const struct wire_header *h,
		   const unsigned char *payload);

/** startup_refuse() - Note the launcher's own reason for not going on; sets run->ended */
void startup_refuse(struct run *run, const struct err *e);

/** startup_late() - The same, after STARTUP_MS */
void startup_late(struct run *run);

#endif
