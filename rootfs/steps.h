/* SPDX-License-Identifier: MIT */
/*
 * steps.h - the interpreter of a session: steps in, output and outcome out
 *
 * init/wire.h describes the frames ("client <-> interpreter"). steps.c is the supervisor,
 * plain C; step.c is the process it forks, which holds Python and the session's
 * variables; runner.py is what that process does in Python; sweep.c looks after what a
 * step left.
 */
#ifndef STEPJAIL_ROOTFS_STEPS_H
#define STEPJAIL_ROOTFS_STEPS_H

#include <stdint.h>

#define STEPS_SOURCE_MAX (1u << 20) /* bytes of one step's source */
#define STEPS_TEXT_MAX (32u << 10)  /* bytes of a result or a traceback */

/*
 * Where a step's source lies: shared memory that the supervisor writes and the
 * interpreter reads. The supervisor never reads it back, and so never waits for an
 * interpreter that does not take what it is sent.
 */
struct steps_mail {
	uint32_t length;
	unsigned char source[STEPS_SOURCE_MAX];
};

/**
 * steps_main() - Serve the client on fd 0 until it closes its end
 *
 * Fds 1 and 2 are left alone; one line on 2 says why a session could not go on.
 *
 * Return: the exit status: 0 after the client's end of file, 1 when something failed
 */
int steps_main(void);

/**
 * step_serve() - Be the interpreter; never returns
 * @channel:	SOCK_SEQPACKET to the supervisor: WIRE_RUN in; WIRE_STARTED, WIRE_RESULT,
 *		WIRE_TRACE and WIRE_DONE out, a frame a packet
 * @mail:	Source of the step that a WIRE_RUN announces
 *
 * Fds 0, 1 and 2 are the step's; all others but @channel are closed by the caller.
 */
_Noreturn void step_serve(int channel, const struct steps_mail *mail);

/**
 * sweep_strays() - Count and kill what a step left running
 * @keep:	The interpreter; its threads are counted, its children killed
 *
 * Finds the caller's descendants in /proc; the caller is their subreaper, so that none of
 * them gets away by losing its parent. Without a /proc nothing is found.
 *
 * Return: threads of @keep beyond the first, and processes killed
 */
uint32_t sweep_strays(int keep);

#endif
