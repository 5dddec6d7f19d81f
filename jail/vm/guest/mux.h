/* SPDX-License-Identifier: MIT */
/*
 * mux.h - streams between host and guest, over one virtio-serial port
 *
 * Both ends run the same code: stepjail-vm-relay on the host, init.c in the guest. A
 * frame is struct mux_head and @length bytes. Each stream goes one way and has a
 * window of its own: a sender has at most MUX_WINDOW bytes under way, and an ACK says
 * how many of them the other end has passed on. So a stream whose reader is slow
 * holds up no other one, and no end needs more memory than a window for each stream.
 * The other end is hostile: a frame that is none ends the link with -EPROTO.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MUX_WINDOW 65536u
#define MUX_FRAME_MAX 16384u
#define MUX_CONTROL_MAX 256u

enum mux_stream {
	MUX_CONTROL,
	MUX_IN,
	MUX_OUT,
	MUX_ERR,
	MUX_REPORT,
	MUX_FILES,
	MUX_STREAMS
};
enum mux_kind {
	MUX_DATA = 1, /* bytes of the stream; of MUX_CONTROL: one message */
	MUX_END,      /* there will be no more of them */
	MUX_ACK,      /* a uint32_t: so many were passed on */
	MUX_CLOSED,   /* nobody reads this stream any more */
};

/* messages of MUX_CONTROL: a letter, and what belongs to it */
#define MUX_READY 'R'  /* guest: it waits for the request */
#define MUX_TAKEN 'T'  /* guest: it has the request */
#define MUX_EXIT 'E'   /* guest: a byte, the exit status. Streams have ended before */
#define MUX_SIGNAL 'S' /* host: a byte, the number of a signal for the command */

struct mux_head {
	uint8_t stream, kind;
	uint16_t zero;
	uint32_t length;
};

struct mux_pipe {
	int in;  /* its bytes are sent; -1 for none, or when it has ended */
	int out; /* received bytes are written there; likewise */
	uint32_t credit, passed; /* may be sent; were written and not acknowledged */
	uint32_t from, held;     /* of bytes: received, not written yet */
	bool ended;              /* the other end sends no more */
	bool gone;               /* nobody reads: received bytes are dropped */
	bool half;               /* @out is a socket, of which half is shut at the end */
	uint8_t bytes[MUX_WINDOW];
};

struct mux {
	int link;
	/* Return: 0, or what mux_turn() is to return: negative for what is no message */
	int (*control)(struct mux *m, const uint8_t *message, size_t length);
	struct mux_pipe pipe[MUX_STREAMS];
	size_t received, unsent;
	uint8_t rx[sizeof(struct mux_head) + MUX_FRAME_MAX];
	uint8_t tx[4 * MUX_FRAME_MAX];
};

/** mux_init() - No stream has an fd, and each has a whole window */
void mux_init(struct mux *m, int link,
	      int (*control)(struct mux *m, const uint8_t *message, size_t length));

/** mux_say() - Queue a message of MUX_CONTROL; one that does not fit is dropped */
void mux_say(struct mux *m, const void *message, size_t length);

/** mux_idle() - Has everything that was read or received been passed on? */
bool mux_idle(const struct mux *m);

/** mux_sent() - Have all streams of this end come to their end, and gone out? */
bool mux_sent(const struct mux *m);

/**
 * mux_turn() - Wait for something, and do what can be done
 * @others:	More fds to wait for; their revents are filled in
 * @count:	At most 4
 * @timeout_ms:	As of poll(2)
 *
 * Return: 0, what control() has returned, -EPROTO (the other end lies), or -EPIPE (it is
 * gone, and all that it said was read). After one that is negative the link is used no
 * more, and what has come by it is still passed on.
 */
int mux_turn(struct mux *m, struct pollfd *others, size_t count, int timeout_ms);
