/* SPDX-License-Identifier: MIT */
/*
 * step_wire.h - between stepjail and the interpreters of a session
 *
 * A state of a session is a process: an interpreter that waits, asleep, with the
 * variables that one step left. To run the next step stepjail asks it; it forks a process
 * that sleeps on in its place, as the state before, and runs the code itself. If it is
 * alive at the end it is the next state. So a session is one process from its first step
 * to its last, unless a branch comes back to a state before. Every such process is a
 * child of stepjail-init, which tells stepjail how each of them ends, and when all
 * threads of one have stopped or go on (WIRE_EXIT, the pid in the header's step field).
 *
 * Each interpreter has a channel of its own: a SOCK_SEQPACKET socket, a frame of
 * init/wire.h a packet. Fds travel beside a packet by SCM_RIGHTS, from stepjail alone: a
 * step that sends any is refused that, or on an older kernel killed, see
 * jail/serve/wire/packet.c. stepjail asks the kernel for the sender's credentials and
 * believes no other claim about who speaks.
 *
 * The first interpreter of a jail finds its channel on fd 0 and says STARTED, step 0.
 *
 * to an interpreter that waits
 *	RUN	the step's number; no payload; five fds, in the order of enum step_fd:
 *		fork the snapshot, which answers STARTED on this channel and has it from
 *		now on, and run the source, with the channel that came. Where it could
 *		not fork: FAIL, on this channel
 *	FILE	a number; struct step_file and the path; two fds, STEP_FD_CHANNEL and
 *		STEP_FD_DATA: fork, and let the child do it, in C, before anything of
 *		Python's runs. Its STARTED and DONE come by the channel that it brought
 * from a snapshot
 *	STARTED	the step's number, struct step_born: it is the state that was asked. What
 *		was its process runs the step, and goes on when this was sent
 * from the process of a step, on the channel that came with RUN
 *	RESULT	repr of the last expression, at most STEP_TEXT_MAX bytes of UTF-8
 *	TRACE	the formatted traceback, likewise
 *	MEDIA	struct media, name: something that the step shows, as init/media.h has it
 *	PIECE	bytes of it, at most MEDIA_PIECE_MAX. A frame of these two that breaks
 *		the rules of init/media.h is dropped
 *	DONE	struct wire_done, how being WIRE_HOW_COMPLETED, _EXCEPTION or _EXIT: this
 *		process is a state as soon as it waits, see STEP_REST; strays are the
 *		threads that it has beside the first. To FILE, struct step_filed, and the
 *		process ends
 * from an interpreter that waits
 *	FAIL	struct wire_fail: no child could be made; stage is 0. The channel that
 *		came with the request may be at its end before this comes
 *
 * To interrupt a step is to send its process SIGINT; to kill it, SIGKILL. An interpreter
 * that waits blocks all signals. An interpreter whose channel is at
 * its end exits, and so does one that is sent what is not above, or whose step has closed
 * its channel. A PUT is dropped by closing the channel that came with it before the
 * data's end.
 */
#pragma once

#include <errno.h>
#include <stdint.h>

#define STEP_SOURCE_MAX (1u << 20) /* bytes of one step's source */
#define STEP_TEXT_MAX (32u << 10)  /* bytes of a result or a traceback */
#define STEP_PATH_MAX 4096u

enum step_fd {
	STEP_FD_CHANNEL, /* the child's own */
	STEP_FD_STDIN,   /* of the step: the read end of a pipe, or /dev/null */
	STEP_FD_STDOUT,
	STEP_FD_STDERR,
	STEP_FD_SOURCE, /* sealed memfd: the step's UTF-8 source, whole */
	STEP_FDS,
	STEP_FD_DATA = STEP_FD_STDIN, /* of FILE: a pipe, or a memfd */
	STEP_FILE_FDS,
};

/*
 * The call by which an interpreter waits: kill(STEP_REST, 0), with all signals blocked.
 * In a session's filter stepjail is told of it, and the kernel holds the process until
 * stepjail answers, which it does when it has sent it something. A step has ended when it
 * has said DONE and is held so; of a process that says DONE and goes on, the step goes
 * on. Its errno tells what to do. A process with more threads is told at once to stop,
 * which it does by SIGSTOP: then all of them wait. Where nobody listens, one that has
 * said so in DONE does the same.
 */
#define STEP_REST INT32_MIN  /* no process has it: ESRCH, where nobody listens */
#define STEP_REST_OVER EINTR /* there is a request */
#define STEP_REST_STOP EAGAIN

/* WIRE_STARTED */
struct step_born {
	uint32_t pid; /* in the jail's PID namespace; the kernel tells the host's */
	uint32_t reserved;
};

enum step_file_op {
	STEP_FILE_PUT = 1,  /* write what comes by the fd to a file, made or replaced; the
				folders that it is to be in are made */
	STEP_FILE_GET = 2,  /* write the file to the fd */
	STEP_FILE_LIST = 3, /* write an entry a file, see init/serve_wire.h */
};

/* WIRE_FILE; the path follows, relative to /work or below it, without a NUL */
struct step_file {
	uint32_t op;        /* enum step_file_op */
	uint32_t mode;      /* PUT: permission bits */
	uint64_t max_bytes; /* of the data; more is EFBIG */
};

/* WIRE_DONE to a FILE */
struct step_filed {
	uint32_t errnum; /* 0, or why not */
	uint32_t reserved;
	uint64_t bytes; /* of data, so far */
};

_Static_assert(sizeof(struct step_born) == 8, "no padding on the wire");
_Static_assert(sizeof(struct step_file) == 16, "no padding on the wire");
_Static_assert(sizeof(struct step_filed) == 16, "no padding on the wire");
