/* SPDX-License-Identifier: MIT */
/*
 * wire.h - frames: a fixed header and a bounded payload
 *
 * Every word that crosses a wall crosses it in a frame. The same bytes go over a
 * socketpair or, for a microVM, a virtio-serial port, so the header's integers are
 * little-endian and nothing is passed beside the bytes.
 *
 *	offset  size  field
 *	0       4     length of the payload, at most WIRE_PAYLOAD_MAX
 *	4       2     type, one of enum wire_type
 *	6       2     zero; anything else is refused, so that it can mean something later
 *	8       4     step the frame belongs to, 0 for none
 *	12            payload
 *
 * Both ends treat the other's frames as hostile: a header is checked before its length is
 * used, and a payload has the exact size or the bound that its type names below.
 *
 * Three conversations use these frames: the one below, and those of a session, between
 * stepjail and the interpreters (init/step_wire.h) and between stepjail and its client
 * (init/serve_wire.h).
 *
 * launcher <-> jail (the child, then init, on the control socket; the program's process
 * on the gate, see jail/walls/gate.h)
 *	GO        to the jail   empty; to the child: the id maps are written; at the gate:
 *	                        the program may leave it
 *	STARTED   to launcher   empty; from a template's clone, before GO: it is there,
 *	                        and the kernel tells who sent this
 *	FAIL      to launcher   struct wire_fail: a stage failed, the program never ran
 *	READY     to launcher   empty; from init: it runs; at the gate: the program waits,
 *	                        all its walls up, and the step field is the Landlock
 *	                        ABI in force, 0 for none
 *	EXIT      to launcher   struct wire_exit: the program's end; the last frame. In a
 *	                        session: the end of any process, its pid in the step field
 */
#pragma once

#include <stddef.h>

#include "init/err.h"

#define WIRE_HEADER_BYTES 12
#define WIRE_PAYLOAD_MAX 65536 /* a pipe's worth; larger things go in pieces */

enum wire_type {
	WIRE_FAIL = 1,
	WIRE_READY,
	WIRE_GO,
	WIRE_EXIT,
	WIRE_CODE = 16,
	WIRE_RUN,
	WIRE_INTERRUPT,
	WIRE_KILL,
	WIRE_STARTED,
	WIRE_OUT,
	WIRE_ERR,
	WIRE_RESULT,
	WIRE_TRACE,
	WIRE_DONE,
	WIRE_FILE = 27, /* from here on: init/step_wire.h */
	WIRE_MEDIA, /* both ways of a session's wires, as is the next one: init/media.h */
	WIRE_PIECE,
	WIRE_OPEN = 40, /* from here on: init/serve_wire.h */
	WIRE_ONCE,
	WIRE_STDIN,
	WIRE_ROLLBACK,
	WIRE_BRANCH,
	WIRE_DROP,
	WIRE_PUT,
	WIRE_GET,
	WIRE_LIST,
	WIRE_STATUS,
	WIRE_CLOSE,
	WIRE_OPENED,
	WIRE_STATE,
	WIRE_DATA,
	WIRE_END,
	WIRE_REFUSED,
	WIRE_CLOSED,
	WIRE_WALL,
};

struct wire_header {
	uint32_t length;
	uint16_t type;
	uint32_t step;
};

/* WIRE_FAIL: both are ids the launcher has words for; text is printable ASCII or empty */
struct wire_fail {
	uint32_t stage;  /* index of the stage in the launcher's table */
	uint32_t errnum; /* positive errno */
	char text[ERR_TEXT_MAX];
};

/* WIRE_EXIT: how the program ended, and what the whole PID namespace used */
struct wire_exit {
	uint32_t wstatus; /* as waitpid(2) gives it */
	uint32_t strays;  /* 1 if processes are left over, which init then keeps for
			     the launcher to count; 0 if none is, and init exits */
	uint64_t user_us; /* CPU time of the program and the children it waited for */
	uint64_t system_us;
	uint64_t max_rss_bytes;
};

enum wire_how {
	WIRE_HOW_COMPLETED = 0, /* ran to its end */
	WIRE_HOW_EXCEPTION = 1, /* raised; the variables are kept */
	WIRE_HOW_EXIT = 2, /* raised SystemExit; code is its status; variables kept */
};

/* what an exception says that there was too little of: the step's own word */
enum wire_met {
	WIRE_MET_MEMORY = 1u << 0,
	WIRE_MET_TASKS = 1u << 1, /* processes and threads */
	WIRE_MET_FILES = 1u << 2, /* that are open */
	WIRE_MET_FILE_SIZE = 1u << 3,
	WIRE_MET_DISK = 1u << 4,
};

/* WIRE_DONE: how a step ended */
struct wire_done {
	uint32_t how;  /* enum wire_how */
	uint32_t code; /* exit status */
	uint64_t wall_us;
	uint64_t cpu_us;
	uint64_t max_rss_bytes;
	uint32_t strays; /* threads and children the step left running */
	uint32_t met;    /* bits of enum wire_met: what its exception speaks of */
	uint32_t barred; /* bits of the same: why no step can follow it; 0: one can */
	uint32_t zero;
};

/*
 * Payload structs are sent as they lie in memory: fixed-size fields, no padding, and only
 * little-endian machines are supported (x86-64, aarch64).
 */
_Static_assert(sizeof(struct wire_exit) == 32, "no padding on the wire");
_Static_assert(sizeof(struct wire_done) == 48, "no padding on the wire");
_Static_assert(sizeof(struct wire_fail) == 8 + ERR_TEXT_MAX, "no padding on the wire");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames carry structs");

/**
 * wire_pack() - Write a header's 12 bytes
 * @h:		length at most WIRE_PAYLOAD_MAX
 * @bytes:	Gets WIRE_HEADER_BYTES bytes
 */
void wire_pack(const struct wire_header *h, unsigned char *bytes);

/**
 * wire_unpack() - Read and check a header
 * @bytes:	WIRE_HEADER_BYTES bytes from the other end
 * @h:		Filled on success only
 *
 * Return: 0, -EMSGSIZE (length over the bound), -EBADMSG (no such type, or the zero
 * field is not zero)
 */
int wire_unpack(const unsigned char *bytes, struct wire_header *h);

/**
 * wire_send() - Send one frame, whole, header and payload in one call where it fits
 * @fd:		Blocking stream; SIGPIPE is not raised on sockets
 * @type:	enum wire_type
 * @step:	Step id, 0 for none
 * @payload:	May be NULL when @length is 0
 * @length:	At most WIRE_PAYLOAD_MAX
 *
 * Return: 0, -EMSGSIZE, or -errno of sendmsg(2) or writev(2)
 */
int wire_send(int fd, uint16_t type, uint32_t step, const void *payload, size_t length);

/**
 * wire_wait_go() - Wait until the other end says GO
 * @fd:		Blocking stream
 *
 * Return: 0, or -EPIPE: it is gone, or says anything else
 */
int wire_wait_go(int fd);

/*
 * Reader for event loops: take what a non-blocking read gives, hand out whole frames.
 * One lives as long as its stream. No allocation; about 64 KiB.
 */
struct wire_reader {
	size_t have; /* bytes in buf */
	unsigned char buf[WIRE_HEADER_BYTES + WIRE_PAYLOAD_MAX];
};

/**
 * wire_reader_fill() - Read once from @fd into the reader
 * @r:		Zeroed before its first use
 * @fd:		Blocking or not
 *
 * Never reads past the frame that is being taken, so no byte of the next one is lost.
 *
 * Return: 1 (a frame is whole), 0 (not yet), -ENODATA (end of stream between frames),
 * -EPIPE (end within a frame), -EMSGSIZE, -EBADMSG, or -errno of read(2) (-EAGAIN too)
 */
int wire_reader_fill(struct wire_reader *r, int fd);

/**
 * wire_reader_take() - Take the whole frame that wire_reader_fill() announced
 * @r:		The reader; ready for the next frame afterwards
 * @h:		Filled
 *
 * Return: the payload, h->length bytes, valid until the next wire_reader_fill()
 */
const unsigned char *wire_reader_take(struct wire_reader *r, struct wire_header *h);
