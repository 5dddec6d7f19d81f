/* SPDX-License-Identifier: MIT */
/*
 * packets.c - any packets of the processes of a session, and any word of its init
 *
 * A record: who speaks, a type, a step, how many bytes follow, and these. From 240: a
 * step is asked for on a branch, or init tells of an end.
 */
#include "tests/fuzz/sessions.h"

static void run(uint8_t branch)
{
	const struct serve_limits limits = { .branch = branch };
	const struct serve_state at = { .branch = branch };

	/* where there is none, there is one now */
	ask(WIRE_BRANCH, 1, &at, sizeof(at));
	ask(WIRE_RUN, 1, &limits, sizeof(limits));
	(void)take_requests();
}

/* an end; of 0x7f, a stop, and of 0xff that it goes on */
static void tell_exit(uint8_t pid, uint8_t wstatus)
{
	const struct wire_exit exit = { .wstatus = wstatus == 0xff ? 0xffff : wstatus };

	(void)wire_send(inside.control[0], WIRE_EXIT, pid, &exit, sizeof(exit));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const uint16_t types[] = { WIRE_STARTED, WIRE_STARTED, WIRE_RESULT,
					  WIRE_TRACE,   WIRE_DONE,    WIRE_FAIL };
	const size_t known = sizeof(types) / sizeof(types[0]);

	begin();
	open_one(1);
	run(0);
	while (size >= 4 && inside.channels < CHANNELS_MAX - 2) {
		uint8_t who = bytes[0], type = bytes[1], step = bytes[2];
		uint8_t length = bytes[3];

		bytes += 4;
		size -= 4;
		if (who >= 248) {
			tell_exit(type, step);
		} else if (who >= 240) {
			run(type % 4);
		} else if (who >= 232) {
			/* its end closes */
			(void)shutdown(inside.channel[type % inside.channels], SHUT_RDWR);
		} else {
			length = length < size ? length : (uint8_t)size;
			say(who % inside.channels, type < known ? types[type] : type,
			    step, bytes, length);
			bytes += length;
			size -= length;
		}
		turn();
	}
	end();
	return 0;
}
