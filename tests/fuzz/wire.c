/* SPDX-License-Identifier: MIT */
/*
 * wire.c - any bytes as a stream of frames, read whole and cut anywhere
 *
 * The first four bytes say where it is cut: a small generator gives the pieces' sizes.
 * The reader for event loops and the one that blocks must find the same frames and the
 * same end; and a frame that is sent again is the bytes that came.
 */
#include <errno.h>
#include <sys/socket.h>

#include "init/wire.h"
#include "tests/fuzz/fuzz.h"
#include "tests/wire_recv.h"

static struct wire_reader reader;

/* one frame out of @whole by the reader that blocks; its result is compared to @r */
static bool check_frame(int whole, int r, const unsigned char *payload,
			const struct wire_header *h)
{
	static unsigned char other[WIRE_PAYLOAD_MAX], sent[WIRE_HEADER_BYTES];
	struct wire_header got;
	int want = wire_recv(whole, &got, other, sizeof(other));

	if (r < 0) {
		HOLDS(want == r);
		return false;
	}
	HOLDS(want == 0);
	HOLDS(got.length == h->length && got.type == h->type && got.step == h->step);
	HOLDS(memcmp(other, payload, h->length) == 0);

	int again = memfd_create("again", MFD_CLOEXEC);

	HOLDS(wire_send(again, h->type, h->step, payload, h->length) == 0);
	HOLDS(lseek(again, 0, SEEK_END) == WIRE_HEADER_BYTES + (off_t)h->length);
	HOLDS(pread(again, sent, sizeof(sent), 0) == (ssize_t)sizeof(sent));
	wire_pack(h, other);
	HOLDS(memcmp(sent, other, sizeof(sent)) == 0);
	(void)close(again);
	return true;
}

/* take every frame that is there; false when the stream has ended, well or not */
static bool take_all(int cut, int whole)
{
	struct wire_header h = { 0 };
	int r;

	while ((r = wire_reader_fill(&reader, cut)) >= 0) {
		HOLDS(r <= 1);
		if (r == 0)
			continue;

		const unsigned char *payload = wire_reader_take(&reader, &h);

		HOLDS(h.length <= WIRE_PAYLOAD_MAX);
		HOLDS(check_frame(whole, 0, payload, &h));
	}
	if (r == -EAGAIN)
		return true;
	return check_frame(whole, r, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint32_t seed = 1;
	int ends[2], whole;
	bool open = true;

	if (size < sizeof(seed))
		return 0;
	(void)memcpy(&seed, bytes, sizeof(seed));
	bytes += sizeof(seed);
	size -= sizeof(seed);
	reader.have = 0;
	whole = fuzz_file(bytes, size);
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	      0);
	while (open && size) {
		size_t piece = seed % 61 + 1;

		seed = seed * 1664525 + 1013904223;
		piece = piece < size ? piece : size;
		HOLDS(send(ends[0], bytes, piece, MSG_NOSIGNAL) == (ssize_t)piece);
		bytes += piece;
		size -= piece;
		open = take_all(ends[1], whole);
	}
	(void)close(ends[0]);
	if (open)
		HOLDS(!take_all(ends[1], whole));
	(void)close(ends[1]);
	(void)close(whole);
	return 0;
}
