/* SPDX-License-Identifier: MIT */
/*
 * warm.h - a template's own part: make clones of itself, each in a jail of its own
 *
 * Linked into the interpreter of a root tree, with the stages of jail/walls/stage.c, so
 * that a warm jail's walls are made by the same rows as any other's. The launcher's part
 * is template.h.
 *
 * Between the two goes a SOCK_SEQPACKET channel. The launcher sends
 *	first	a byte, and an fd of struct warm_plan
 *	then	struct warm_request for each jail, and the fds of enum warm_fd
 * and is sent struct warm_answer to each of them, in order. No fd comes from a template:
 * who the clone is, the kernel tells with the clone's own first frame, on its control
 * socket.
 */
#pragma once

#include "jail/walls/warm_plan.h"

enum warm_fd {
	WARM_CONTROL, /* as in struct child */
	WARM_GATE,
	WARM_INIT,
	WARM_STDIN, /* of the clone's program */
	WARM_STDOUT,
	WARM_STDERR,
	WARM_FDS_MIN,
	WARM_SLOT = WARM_FDS_MIN, /* if own */
	WARM_LEAF,                /* behind it, if limited */
	/* then the mount of each source that is to be mapped, as the plan has them */
	WARM_FDS_MAX = WARM_LEAF + 1 + MOUNT_MAPPED_MAX,
};

/* of struct ids and struct child */
struct warm_request {
	uint32_t own, limited, session;
	uint32_t host_uid, host_gid;
	uint32_t init_id, program_id;
};

struct warm_answer {
	uint32_t errnum;         /* 0: it is ready, or the clone is made */
	char text[ERR_TEXT_MAX]; /* why not; a NUL at its end */
};

_Static_assert(sizeof(struct warm_request) == 28, "no padding on the wire");
_Static_assert(sizeof(struct warm_answer) == 516, "no padding on the wire");

/**
 * warm_serve() - Be a template until the launcher closes the channel
 * @channel:	A copy of the launcher's fd; closed in every clone
 *
 * The process must have one thread. A clone has the calling thread alone, and a lock that
 * another thread held would stay locked in it for ever.
 *
 * Return: 1 in each clone's program, all its walls up and its gate open, with fds 0 to 2
 * alone and nothing left in memory of the policy, all signals unblocked and with the
 * template's handlers; 0 when the channel is at its end; or -errno, and the launcher was
 * told
 */
int warm_serve(int channel, struct err *e);
