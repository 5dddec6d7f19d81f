/* SPDX-License-Identifier: MIT */
/*
 * mux.c - any bytes as a guest's frames, cut anywhere, as the relay of --wall vm has them
 *
 * The first byte says how large the pieces are. A second reader, which has the whole of
 * them, says what each stream gets and where the first frame is that is none; the mux
 * must agree, must send only frames that are whole, and must use a link that has lied no
 * more.
 */
#include <errno.h>
#include <sys/socket.h>

#include "jail/vm/guest/mux.h"
#include "tests/fuzz/fuzz.h"

#define TYPED 100 /* bytes of stdin, which go to the guest */
#define TURNS_MAX 64

static struct mux m;
static size_t controls;

/* what is expected */
static struct expected {
	uint8_t bytes[MUX_STREAMS][8192];
	size_t length[MUX_STREAMS];
	bool ended[MUX_STREAMS];
	uint32_t owed[MUX_STREAMS]; /* bytes that were sent and are not acknowledged */
	size_t controls;
} want;

static int on_control(struct mux *mux, const uint8_t *message, size_t length)
{
	HOLDS(mux == &m && message && length >= 1 && length <= MUX_CONTROL_MAX);
	controls++;
	return 0;
}

static bool expect_frame(const struct mux_head *h, const uint8_t *payload)
{
	uint32_t count;

	if (h->stream == MUX_CONTROL) {
		want.controls++;
		return h->kind == MUX_DATA && h->length >= 1 &&
		       h->length <= MUX_CONTROL_MAX;
	}
	switch (h->kind) {
	case MUX_DATA:
		if (h->stream == MUX_IN || want.ended[h->stream])
			return false;
		memcpy(want.bytes[h->stream] + want.length[h->stream], payload,
		       h->length);
		want.length[h->stream] += h->length;
		return true;
	case MUX_ACK:
		if (h->length != sizeof(count))
			return false;
		memcpy(&count, payload, sizeof(count));
		if (count > want.owed[h->stream])
			return false;
		want.owed[h->stream] -= count;
		return true;
	case MUX_END:
		want.ended[h->stream] = true;
		return h->length == 0;
	case MUX_CLOSED:
		return h->length == 0;
	default:
		return false;
	}
}

/* false: what comes is no frame */
static bool expect(const uint8_t *bytes, size_t size)
{
	struct mux_head h;

	while (size >= sizeof(h)) {
		memcpy(&h, bytes, sizeof(h));
		if (h.stream >= MUX_STREAMS || h.zero || h.length > MUX_FRAME_MAX)
			return false;
		if (size - sizeof(h) < h.length)
			return true;
		if (!expect_frame(&h, bytes + sizeof(h)))
			return false;
		bytes += sizeof(h) + h.length;
		size -= sizeof(h) + h.length;
	}
	return true;
}

/* frames that go to the guest; stdin is all that it gets, beside ACKs */
static void hear(int guest)
{
	static uint8_t sent[4 * MUX_FRAME_MAX];
	static size_t held;
	ssize_t n;
	size_t at = 0;

	held = 0;
	while ((n = recv(guest, sent + held, sizeof(sent) - held, MSG_DONTWAIT)) > 0)
		held += (size_t)n;
	while (at < held) {
		struct mux_head h;

		HOLDS(held - at >= sizeof(h));
		memcpy(&h, sent + at, sizeof(h));
		HOLDS(h.stream < MUX_STREAMS && !h.zero &&
		      held - at - sizeof(h) >= h.length);
		HOLDS(h.kind != MUX_DATA || (h.stream == MUX_IN && h.length <= TYPED));
		HOLDS(h.kind != MUX_ACK || h.length == sizeof(uint32_t));
		HOLDS(h.kind == MUX_DATA || h.kind == MUX_ACK || h.length == 0);
		at += sizeof(h) + h.length;
	}
}

static int turn(int guest)
{
	int r = 0;

	/* a turn reads once, and writes once to each stream */
	for (int i = 0; r == 0 && i < TURNS_MAX; i++) {
		r = mux_turn(&m, NULL, 0, 0);
		hear(guest);
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char typed[TYPED];
	int link[2], in[2], out[MUX_STREAMS], r = 0;
	size_t step = size ? 1 + bytes[0] * 16u : 1;
	bool right;

	if (size < 1 || size > sizeof(want.bytes[0]))
		return 0;
	bytes++;
	size--;
	memset(&want, 0, sizeof(want));
	controls = 0;
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, link) == 0);
	HOLDS(pipe(in) == 0 && write(in[1], typed, TYPED) == TYPED);
	memset(&m, 0, sizeof(m));
	mux_init(&m, link[0], on_control);
	m.pipe[MUX_IN].in = in[0];
	for (int i = MUX_OUT; i < MUX_STREAMS; i++) {
		out[i] = memfd_create("out", MFD_CLOEXEC);
		m.pipe[i].out = dup(out[i]);
	}
	HOLDS(turn(link[1]) == 0);
	want.owed[MUX_IN] = TYPED;

	right = expect(bytes, size);
	for (size_t at = 0; r == 0 && at < size; at += step) {
		size_t n = size - at < step ? size - at : step;

		HOLDS(send(link[1], bytes + at, n, MSG_NOSIGNAL) == (ssize_t)n);
		r = turn(link[1]);
	}
	HOLDS(right == (r == 0) && (right || r == -EPROTO));
	HOLDS(right == (m.link >= 0));
	/* what came before it is passed on all the same */
	for (int i = 0; i < TURNS_MAX; i++)
		(void)mux_turn(&m, NULL, 0, 0);
	HOLDS(mux_idle(&m));
	HOLDS(controls <= want.controls && (controls == want.controls || !right));
	for (int i = MUX_OUT; i < MUX_STREAMS; i++) {
		static uint8_t got[sizeof(want.bytes[0])];
		ssize_t n = pread(out[i], got, sizeof(got), 0);

		HOLDS(n == (ssize_t)want.length[i] &&
		      memcmp(got, want.bytes[i], (size_t)n) == 0);
		HOLDS((m.pipe[i].out < 0) == want.ended[i]);
		(void)close(out[i]);
		if (m.pipe[i].out >= 0)
			(void)close(m.pipe[i].out);
	}
	if (m.pipe[MUX_IN].in >= 0)
		(void)close(m.pipe[MUX_IN].in);
	(void)close(in[1]);
	(void)close(link[0]);
	(void)close(link[1]);
	return 0;
}
