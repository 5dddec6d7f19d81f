/* SPDX-License-Identifier: MIT */
/*
 * session.h - the supervisor's state, shared by its three files
 *
 * steps.c watches and decides, session.c begins and ends steps, interpreter.c begins and
 * ends the interpreter's process.
 */
#ifndef STEPJAIL_ROOTFS_SESSION_H
#define STEPJAIL_ROOTFS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <time.h>

#include "init/err.h"
#include "init/wire.h"
#include "rootfs/steps.h"

enum state {
	STARTING, /* forked, has not said STARTED; a RUN waits in `pending` */
	IDLE,
	RUNNING,
};

/* what poll() watches, in the order in which it is served: KILL first, death last */
enum watch { CLIENT, OUT, ERR, CHANNEL, SIGNALS, WATCHES };

struct session {
	int fd[WATCHES]; /* -1 for none */
	pid_t interpreter;
	enum state state;
	uint32_t step;     /* of the source in the mail, and of the running step */
	bool pending;      /* a whole step waits for the interpreter to have started */
	bool oversize;     /* the step's source was too long and is not kept */
	bool killed;       /* KILL was obeyed: the death to come is no accident */
	uint64_t begun_us; /* CLOCK_MONOTONIC at RUN */
	uint64_t spent_us; /* CPU time of the interpreter before the step */
	struct steps_mail *mail;
	struct wire_reader reader;
};

/** session_clock_us() - A clock in microseconds; 0 where it cannot be read */
uint64_t session_clock_us(clockid_t clock);

/** session_tell() - Send the client a frame of the current step; 0 or -errno */
int session_tell(struct session *s, uint16_t type, const void *bytes, size_t length,
		 struct err *e);

/**
 * session_drain() - Send what is in a pipe now, and no more
 * @w:		OUT or ERR; closed when nobody holds its other end any more
 *
 * Whoever holds the other end may write for ever.
 *
 * Return: 0 or -errno
 */
int session_drain(struct session *s, enum watch w, struct err *e);

/** session_drain_both() - The same for OUT and then ERR */
int session_drain_both(struct session *s, struct err *e);

/**
 * session_run() - Hand the mail to the interpreter, now or when that has started
 *
 * A step whose source was too long ends here, with a traceback that says so.
 *
 * Return: 0 or -errno
 */
int session_run(struct session *s, struct err *e);

/**
 * session_finish() - Sweep, drain, and send the last frame of a step
 * @done:	how, code, cpu_us and max_rss_bytes are the caller's; the rest is filled
 * in
 * @keep:	The interpreter where it lives on, 0 where it is dead
 *
 * Return: 0 or -errno
 */
int session_finish(struct session *s, struct wire_done *done, int keep, struct err *e);

/**
 * session_died() - Account for the interpreter's death, and start the next
 * @wstatus:	From wait4(2), as @used is
 *
 * Return: 0, -ECHILD (it never got as far as to start, so another would not either), or
 * -errno
 */
int session_died(struct session *s, int wstatus, const struct rusage *used,
		 struct err *e);

/** interpreter_start() - Fork an interpreter, with new pipes and a new channel; 0 or
 * -errno */
int interpreter_start(struct session *s, struct err *e);

/** interpreter_end() - Close what leads to the interpreter, kill it and reap it */
void interpreter_end(struct session *s);

#endif
