/* SPDX-License-Identifier: MIT */
/*
 * ending.h - a jail ends, and its launcher waits for nothing meanwhile
 */
#pragma once

#include "jail/base/event_loop.h"
#include "jail/launch/launch.h"

/* its memory must last until gone() is called */
struct ending {
	struct event_loop *loop;
	struct jail *jail;
	struct port pidfd;
	struct bell again;
	unsigned int tries;
	/* called once; @e: NULL, or why something of the jail is left */
	void (*gone)(struct ending *en, const struct err *e);
};

/**
 * ending_begin() - Kill every process of a jail, and remove its leaf when they are gone
 * @j:		Launched, or not; all of its fds are closed at the end
 * @gone:	Not called by this function itself, but in a later turn of the loop
 */
void ending_begin(struct ending *en, struct event_loop *loop, struct jail *j,
		  void (*gone)(struct ending *en, const struct err *e));
