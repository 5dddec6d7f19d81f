/* SPDX-License-Identifier: MIT */
/*
 * startup.h - from the launch until the program may start: who is ready, and behind what
 *
 * The launcher waits for init's READY and for the program's, at the gate; it reads back
 * the walls, the limits and the watch that stands in for them. Then the gate may be
 * opened. The one way to start a jail, or a template, of which nothing is measured:
 * `run` waits in startup_wait(), `serve` comes here from its own loop.
 */
#pragma once

#include "jail/launch/posture.h"
#include "jail/out/tmpfs_usage.h"

/* a jail must be complete by then, whatever the plan allows its program */
#define STARTUP_MS 30000

/* zeroed, but for STARTUP_NONE */
struct startup {
	struct jail jail;
	struct posture posture;
	struct gate_ready
		gate; /* as far as it has come; and what is the launcher's then */
	struct tmpfs_usage tmpfs; /* from when it is complete */
	unsigned int ready;       /* who has said so: bit 0 init, bit 1 the program */
	bool complete;            /* both, and all is as planned */
};

#define STARTUP_NONE                                                                     \
	(struct startup)                                                                 \
	{                                                                                \
		.jail = JAIL_NONE, .gate = GATE_NONE, .tmpfs = TMPFS_USAGE_NONE          \
	}

/**
 * startup_control() - Take a frame of a control socket, before the gate is open; the jail
 * may be complete then
 *
 * Return: 0, or -errno
 */
int startup_control(struct startup *up, struct err *e);

/**
 * startup_gate() - Take what waits at the gate; the jail may be complete then
 *
 * Return: 1, 0 (not all of READY is there, and the gate is still to be listened to), or
 * -errno
 */
int startup_gate(struct startup *up, struct err *e);

/** startup_late() - Say that it took more than STARTUP_MS. Return: -ETIMEDOUT */
int startup_late(struct err *e);

/**
 * startup_wait() - Wait until a jail is complete
 * @up:		jail is launched
 * @signals:	signalfd(2) of what cancels it
 * @signal:	Gets the signal that did
 *
 * Return: 1 (it is), 0 (a signal came first), or -errno
 */
int startup_wait(struct startup *up, int signals, int *signal, struct err *e);
