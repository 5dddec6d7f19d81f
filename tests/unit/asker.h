/* SPDX-License-Identifier: MIT */
/*
 * asker.h - a client of `serve`, and a session without a jail
 *
 * Its state 0 is a channel, whose other end is read here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jail/serve/session/session.h"

#define ASKER_SESSION 7
#define ASKER_WORK_BYTES 1000 /* --work-size; of sessions, there may be two */

extern struct serve asker_serve;
extern struct session asker_session;
extern int asker_spawner;
/* what the spawner is asked is read here */ /* open, its branch 0 at state 0 */
extern unsigned char asker_payload[WIRE_PAYLOAD_MAX];

/* the last answer */
extern struct wire_header asker_answer;
extern uint32_t asker_branch;
extern char asker_text[WIRE_PAYLOAD_MAX];

/** asker_start() - A fixture */
void asker_start(void);

/** asker_ask() - Ask with what lies in the payload */
void asker_ask(uint32_t session, uint16_t type, size_t length);

/** asker_fill() - A payload of @head bytes, its first two words, and a body; its
 * length */
size_t asker_fill(uint32_t branch, size_t head, uint32_t word, const void *body,
		  size_t length);

/* of the session: with a branch alone, a state, a path, or bytes; and RUN */
void asker_at(uint16_t type, uint32_t branch);
void asker_state(uint16_t type, uint32_t branch, uint32_t state);
void asker_file(uint16_t type, uint32_t mode, const void *path, size_t length);
void asker_body(uint16_t type, const void *bytes, size_t length);
void asker_run(uint64_t wall_ms, uint64_t cpu_ms);

/** asker_answered() - Does something wait for the client? */
bool asker_answered(void);

/** asker_take() - The one frame that does, whose text is an object of JSON */
void asker_take(void);

/** asker_refused() - The same: REFUSED, in these words */
void asker_refused(const char *words);

/** asker_told() - The same: STATE */
void asker_told(void);

/** asker_take_asked() - What state 0 was asked for: bytes behind the header, and fds */
struct wire_header asker_take_asked(void *bytes, size_t length, int *fds, size_t count);

/** asker_asked_nothing() - Fail the test if it was asked for something */
void asker_asked_nothing(void);
