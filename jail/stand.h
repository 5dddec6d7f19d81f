/* SPDX-License-Identifier: MIT */
/*
 * stand.h - from the launch until the program may start: who is ready, and behind what
 *
 * The launcher waits for init's READY and for the program's, at the gate; it reads back
 * the walls, the limits and the watch that stands in for them, and opens the gate. The one
 * way to stand up a jail: `run` comes here from its loop, `serve` from its own.
 */
#ifndef STEPJAIL_JAIL_STAND_H
#define STEPJAIL_JAIL_STAND_H

#include <stdbool.h>
#include <stdint.h>

#include "init/wire.h"
#include "jail/loop.h"

/* a jail must stand by then, whatever the plan allows its program */
#define STAND_MS 30000

/** stand_gate() - Take what waits at the gate; the jail stands, or run->ended is set */
void stand_gate(struct run *run);

/**
 * stand_frame() - Take a frame of the control socket
 *
 * READY may open the gate; FAIL ends the run.
 *
 * Return: false for a frame that is none of these, or that may not come now
 */
bool stand_frame(struct run *run, const struct wire_header *h,
		 const unsigned char *payload);

/** stand_refuse() - Note the launcher's own reason for not going on; sets run->ended */
void stand_refuse(struct run *run, const struct err *e);

/** stand_late() - The same, after STAND_MS */
void stand_late(struct run *run);

/** stand_now_ms() - CLOCK_MONOTONIC in milliseconds */
uint64_t stand_now_ms(void);

#endif
