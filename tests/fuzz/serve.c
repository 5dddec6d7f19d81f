/* SPDX-License-Identifier: MIT */
/*
 * serve.c - any frames of a client of `serve`, to sessions that are played
 *
 * A record: a type, a session, a branch, how many bytes follow, and these. Types are
 * those that a client may send, in their order, and then any number. 200 and above: a
 * session is opened, or the interpreters do what they were asked for, and well.
 */
#include "tests/fuzz/sessions.h"

static void answer_all(uint8_t how)
{
	static uint32_t pid = 100;
	int before = inside.channels;

	(void)take_requests();
	for (int i = before; i < inside.channels; i++) {
		const struct step_born born = { .pid = pid++ };
		const struct wire_done done = { .how = how % 4 };
		const struct step_filed filed = { .errnum = how % 3 };
		bool file = inside.step[i] >> 31;

		say(file ? i : inside.of[i], WIRE_STARTED, inside.step[i], &born,
		    sizeof(born));
		if (file)
			say(i, WIRE_DONE, inside.step[i], &filed, sizeof(filed));
		else if (how & 8)
			say(i, WIRE_DONE, inside.step[i], &done, sizeof(done));
	}
	turn();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const uint16_t types[] = { WIRE_OPEN,   WIRE_ONCE,     WIRE_CODE,
					  WIRE_RUN,    WIRE_STDIN,    WIRE_INTERRUPT,
					  WIRE_KILL,   WIRE_ROLLBACK, WIRE_BRANCH,
					  WIRE_DROP,   WIRE_PUT,      WIRE_GET,
					  WIRE_LIST,   WIRE_DATA,     WIRE_END,
					  WIRE_STATUS, WIRE_CLOSE };
	const size_t known = sizeof(types) / sizeof(types[0]);

	begin();
	while (size >= 4 && inside.controls < CHANNELS_MAX / 4 &&
	       inside.channels < CHANNELS_MAX / 2) {
		uint8_t type = bytes[0], session = bytes[1] % 5, length = bytes[3];
		unsigned char payload[4 + 255] = { bytes[2] % 4 };

		bytes += 4;
		size -= 4;
		if (type >= 220) {
			answer_all(session + type);
			continue;
		}
		if (type >= 200) {
			open_one(session);
			continue;
		}
		length = length < size ? length : (uint8_t)size;
		memcpy(payload + 4, bytes, length);
		bytes += length;
		size -= length;
		ask(type < known ? types[type] : type, session, payload,
		    type & 64 ? length : 4U + length);
		turn();
	}
	end();
	return 0;
}
