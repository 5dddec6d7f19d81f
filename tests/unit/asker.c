/* SPDX-License-Identifier: MIT */
/*
 * asker.c - a client of `serve`, and a session without a jail: see asker.h
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <cjson/cJSON.h>

#include "jail/plan/option.h"
#include "jail/serve/request.h"
#include "jail/serve/wire/channel.h"
#include "jail/serve/wire/packet.h"
#include "jail/base/fd_passing.h"
#include "tests/unit/asker.h"
#include "tests/unit/suites.h"

struct serve asker_serve;
struct session asker_session;
int asker_spawner;
unsigned char asker_payload[WIRE_PAYLOAD_MAX];
struct wire_header asker_answer;
uint32_t asker_branch;
char asker_text[WIRE_PAYLOAD_MAX];

static struct plan plan;
static struct state zero;
static int interpreter; /* state 0's end of its channel */

void asker_start(void)
{
	struct err e;
	int channel, spawner[2];

	unit_lives_on();
	ck_assert_int_eq(option_parse(&plan, (char *[]){ NULL }, &e), 0);
	plan.limit[LIMIT_WORK_BYTES] = ASKER_WORK_BYTES;
	plan.limit[LIMIT_SESSIONS] = 2;
	plan.cold = ANSWER_YES;
	plan.limit[LIMIT_WALL_MS] = plan.limit[LIMIT_CPU_MS] = 60000;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, spawner),
			 0);
	asker_spawner = spawner[1];
	asker_serve = (struct serve){ .plan = &plan,
				      .client.fd = -1,
				      .spawner.fd = spawner[0] };
	ck_assert_int_eq(event_loop_open(&asker_serve.loop, &e), 0);
	asker_session = (struct session){ .serve = &asker_serve,
					  .number = ASKER_SESSION,
					  .phase = PHASE_OPEN,
					  .next_step = 1,
					  .put.file.fd = -1,
					  .once.source = -1 };
	asker_serve.bucket[ASKER_SESSION % SERVE_BUCKETS] = &asker_session;
	asker_serve.sessions = 1;
	ck_assert_int_eq(channel_pair(&channel, &interpreter, &e), 0);
	zero = (struct state){ .session = &asker_session,
			       .pidfd = -1,
			       .channel.fd = channel };
	ck_assert_int_eq(states_add(&asker_session.states, &zero), 0);
	ck_assert_int_eq(states_fork(&asker_session.states, 0, 0), 0);
}

void asker_ask(uint32_t session, uint16_t type, size_t length)
{
	const struct wire_header h = { (uint32_t)length, type, session };

	ck_assert(!asker_answered());
	request_serve(&asker_serve, &h, asker_payload);
}

size_t asker_fill(uint32_t branch, size_t head, uint32_t word, const void *body,
		  size_t length)
{
	memset(asker_payload, 0, head);
	memcpy(asker_payload, &branch, sizeof(branch));
	if (head >= 8)
		memcpy(asker_payload + 4, &word, sizeof(word));
	if (length)
		memcpy(asker_payload + head, body, length);
	return head + length;
}

void asker_at(uint16_t type, uint32_t branch)
{
	asker_ask(ASKER_SESSION, type,
		  asker_fill(branch, sizeof(struct serve_at), 0, NULL, 0));
}

void asker_state(uint16_t type, uint32_t branch, uint32_t state)
{
	asker_ask(ASKER_SESSION, type,
		  asker_fill(branch, sizeof(struct serve_state), state, NULL, 0));
}

void asker_file(uint16_t type, uint32_t mode, const void *path, size_t length)
{
	asker_ask(ASKER_SESSION, type,
		  asker_fill(0, sizeof(struct serve_file), mode, path, length));
}

void asker_body(uint16_t type, const void *bytes, size_t length)
{
	asker_ask(ASKER_SESSION, type,
		  asker_fill(0, sizeof(struct serve_at), 0, bytes, length));
}

void asker_run(uint64_t wall_ms, uint64_t cpu_ms)
{
	const struct serve_limits limits = { .wall_ms = wall_ms, .cpu_ms = cpu_ms };

	memcpy(asker_payload, &limits, sizeof(limits));
	asker_ask(ASKER_SESSION, WIRE_RUN, sizeof(limits));
}

bool asker_answered(void)
{
	return queue_length(&asker_serve.queue) > 0;
}

void asker_take(void)
{
	struct queue *q = &asker_serve.queue;
	const unsigned char *at = q->bytes + q->start + WIRE_HEADER_BYTES;
	size_t n = queue_length(q);
	cJSON *object;

	ck_assert_uint_ge(n, WIRE_HEADER_BYTES + sizeof(struct serve_at));
	ck_assert_int_eq(wire_unpack(q->bytes + q->start, &asker_answer), 0);
	ck_assert_uint_eq(n, WIRE_HEADER_BYTES + asker_answer.length);
	memcpy(&asker_branch, at, sizeof(asker_branch));
	n -= WIRE_HEADER_BYTES + sizeof(struct serve_at);
	memcpy(asker_text, at + sizeof(struct serve_at), n);
	asker_text[n] = '\0';
	q->start = q->end = 0;
	object = cJSON_ParseWithLength(asker_text, n);
	ck_assert_msg(cJSON_IsObject(object), "%s", asker_text);
	cJSON_Delete(object);
}

void asker_refused(const char *words)
{
	asker_take();
	ck_assert_uint_eq(asker_answer.type, WIRE_REFUSED);
	ck_assert_msg(strstr(asker_text, words) != NULL, "%s, and not '%s'", asker_text,
		      words);
}

void asker_told(void)
{
	asker_take();
	ck_assert_msg(asker_answer.type == WIRE_STATE, "%s", asker_text);
}

struct wire_header asker_take_asked(void *bytes, size_t length, int *fds, size_t count)
{
	unsigned char
		packet[WIRE_HEADER_BYTES + sizeof(struct step_file) + STEP_PATH_MAX];
	struct wire_header h;

	ck_assert(!asker_answered());
	ck_assert_int_eq(fd_passing_receive(interpreter, packet,
					    WIRE_HEADER_BYTES + length, fds, count),
			 (int)count);
	ck_assert_int_eq(wire_unpack(packet, &h), 0);
	ck_assert_uint_eq(h.length, length);
	if (length)
		memcpy(bytes, packet + WIRE_HEADER_BYTES, length);
	return h;
}

void asker_asked_nothing(void)
{
	char byte;

	ck_assert_int_eq(recv(interpreter, &byte, 1, MSG_DONTWAIT | MSG_PEEK), -1);
	ck_assert_int_eq(errno, EAGAIN);
}
