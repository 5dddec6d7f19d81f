/* SPDX-License-Identifier: MIT */
/*
 * played.h - templates without a process: what theirs would say is played by the test
 *
 * The unit tests are linked with launch_jail(), launch_prepare() and template_ask() of
 * played.c in place of the launcher's own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "jail/base/event_loop.h"
#include "jail/launch/launch.h"
#include "jail/walls/stage.h"

#define PLAYED_MAX 8

/* a template's own ends: its interpreter's channel, its init's socket, its gate */
struct played {
	int channel, control, gate;
};

extern struct played played[PLAYED_MAX];
extern int played_templates;         /* how many were launched; all begin as 0 */
extern int played_cold, played_warm; /* jails that were launched */
extern int played_refuses;           /* -errno of each launch of a template to come */
extern int played_warm_refuses;      /* the same of a clone */
extern int
	played_posture; /* 1: it is as planned, -errno: it is not; 0: it is looked at */

extern struct child played_child; /* what launch_prepare() gives, but for stdio */

/** played_hello() - Take what a template is sent first: an fd of its plan, the
 * caller's */
int played_hello(int which);

/** played_answer() - Answer the launcher, 0 for that it is ready, or an errno */
void played_answer(int which, int errnum, const char *text);

/** played_gone() - Is the launcher's end of its channel closed? */
int played_gone(int which);

/** played_end() - It ends: all its ends are closed */
void played_end(int which);

/** played_turn() - All that is there to be heard now, and all that is due */
void played_turn(struct event_loop *loop);
