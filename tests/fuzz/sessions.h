/* SPDX-License-Identifier: MIT */
/*
 * sessions.h - for the fuzzers of `serve`: jails that are played, and what must hold of
 * it
 *
 * The spawner gives sockets alone; whatever says that it is a process of the jail is
 * believed. Link with --wrap=sweep_adopt, --wrap=sweep_step.
 */
#pragma once

#include <cjson/cJSON.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "init/init.h"
#include "init/io.h"
#include "jail/plan/option.h"
#include "jail/serve/request.h"
#include "jail/watch/confine.h"
#include "jail/serve/wire/channel.h"
#include "jail/serve/wire/packet.h"
#include "jail/serve/session/session.h"
#include "tests/fuzz/fuzz.h"

#define CHANNELS_MAX 64

/* the jails' ends: a channel for each state, and the control socket of each session */
static struct {
	int channel[CHANNELS_MAX];
	uint32_t step[CHANNELS_MAX]; /* that it was made for */
	int of[CHANNELS_MAX];        /* the state that was asked for it */
	int channels;
	int control[CHANNELS_MAX];
	int controls;
} inside;

static struct serve serve;
static const struct tree root;
static const struct confinement confinement;
static struct plan plan;
static int spawner; /* its end of the socket that the supervisor asks it by */
static int first_free;

/* a jail's ends, as the spawner hands them over */
static void hand_over(struct session *s)
{
	struct spawn_answer a = { .kind = SPAWN_OPENED,
				  .number = s->jail,
				  .program = getpid() };
	int fds[SPAWN_FDS], ends[2];
	struct err e;

	for (int i = 0; i < SPAWN_FDS; i++)
		fds[i] = -1;
	HOLDS(inside.channels < CHANNELS_MAX && inside.controls < CHANNELS_MAX);
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	      0);
	fds[SPAWN_CONTROL] = ends[0];
	inside.control[inside.controls++] = ends[1];
	HOLDS(channel_pair(&fds[SPAWN_CHANNEL], &inside.channel[inside.channels], &e) ==
	      0);
	inside.step[inside.channels++] = 0;
	HOLDS(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
	fds[SPAWN_DIAGNOSTICS] = ends[0];
	(void)close(ends[1]);
	fds[SPAWN_FACTS] = memfd_create("facts", MFD_CLOEXEC);
	HOLDS(io_write_all(fds[SPAWN_FACTS], "},\"warm\":true", 13) == 0);
	session_opened(s, &a, fds);
	for (int i = 0; i < SPAWN_FDS; i++)
		io_close_fd(&fds[i]);
}

static struct session *of_jail(uint32_t jail)
{
	for (unsigned int i = 0; i < SERVE_BUCKETS; i++)
		for (struct session *s = serve.bucket[i]; s; s = s->next)
			if (s->jail == jail)
				return s;
	return NULL;
}

/* an answer of any kind, and now and then a second one, or one that nobody asked for */
static void answer(struct session *s, uint32_t tag)
{
	static uint32_t last;
	struct spawn_answer a = { .kind = SPAWN_MEASURED, .tag = tag };

	last = last * 1103515245 + 12345;
	a.errnum = last >> 16 & 1 ? 0 : last >> 17 & 1 ? EBUSY : ETIMEDOUT;
	a.bytes = last >> 18 & 3;
	measure_came(s, &a);
	a.tag += last >> 20 & 1;
	measure_came(s, &a);
}

/* what the spawner is asked for, it does */
static void spawn(void)
{
	struct spawn_request q;

	while (recv(spawner, &q, sizeof(q), MSG_DONTWAIT) == sizeof(q)) {
		struct session *s = of_jail(q.number);

		HOLDS(s && q.kind >= SPAWN_OPEN && q.kind <= SPAWN_MEASURE);
		if (q.kind == SPAWN_OPEN)
			hand_over(s);
		else if (q.kind == SPAWN_END)
			session_ended(s, NULL);
		else if (q.kind == SPAWN_MEASURE)
			answer(s, q.tag);
	}
}

int __wrap_sweep_adopt(struct state *state, uint32_t told, pid_t host, struct err *e);
int __wrap_sweep_adopt(struct state *state, uint32_t told, pid_t host, struct err *e)
{
	HOLDS(host == getpid());
	HOLDS(!state->host && state->pidfd < 0);
	if (told <= 1 || sweep_of_pid(state->session, (pid_t)told))
		return err_say(e, EPERM, "another process");
	state->pid = (pid_t)told;
	state->host = host;
	/* what is sent with it reaches nobody */
	state->pidfd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return 0;
}

void __wrap_sweep_step(struct step *step);
void __wrap_sweep_step(struct step *step)
{
	HOLDS(step->session->phase == PHASE_OPEN);
	park_swept(step, 0);
}

static int lowest_free(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	HOLDS(fd >= 0);
	(void)close(fd);
	return fd;
}

static void begin(void)
{
	static char *const none[] = { NULL };
	struct err e;
	int ends[2];

	if (!plan.rootfs) {
		HOLDS(option_parse(&plan, none, &e) == 0);
		plan.session = true;
		plan.limit[LIMIT_SESSIONS] = 4;
		plan.limit[LIMIT_KEEP_STATES] = 3;
	}
	/* serve has blocked it, with all signals */
	(void)signal(SIGPIPE, SIG_IGN);
	first_free = lowest_free();
	(void)memset(&serve, 0, sizeof(serve));
	(void)memset(&inside, 0, sizeof(inside));
	serve.plan = &plan;
	serve.root = &root;
	serve.confinement = &confinement;
	serve.client.fd = -1;
	HOLDS(event_loop_open(&serve.loop, &e) == 0);
	HOLDS(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
	serve.spawner.fd = ends[0];
	spawner = ends[1];
}

static void check_frame(const struct wire_header *h, const unsigned char *payload)
{
	static const uint16_t json[] = { WIRE_DONE, WIRE_OPENED,  WIRE_STATE,
					 WIRE_END,  WIRE_REFUSED, WIRE_CLOSED };
	static const uint16_t bytes[] = { WIRE_OUT, WIRE_ERR, WIRE_RESULT, WIRE_TRACE,
					  WIRE_DATA };
	bool known = false;

	HOLDS(h->length >= sizeof(struct serve_at));
	for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		known = known || bytes[i] == h->type;
	for (size_t i = 0; i < sizeof(json) / sizeof(json[0]); i++) {
		cJSON *object;

		if (json[i] != h->type)
			continue;
		known = true;
		object = cJSON_ParseWithLength((const char *)payload +
						       sizeof(struct serve_at),
					       h->length - sizeof(struct serve_at));
		HOLDS(cJSON_IsObject(object));
		cJSON_Delete(object);
	}
	HOLDS(known);
}

/* what the client would read */
static void check_queue(void)
{
	struct queue *q = &serve.queue;

	while (queue_length(q)) {
		struct wire_header h;

		HOLDS(queue_length(q) >= WIRE_HEADER_BYTES);
		HOLDS(wire_unpack(q->bytes + q->start, &h) == 0);
		q->start += WIRE_HEADER_BYTES;
		HOLDS(queue_length(q) >= h.length);
		check_frame(&h, q->bytes + q->start);
		q->start += h.length;
	}
	q->start = q->end = 0;
}

static void check_session(struct session *s)
{
	struct states *t = &s->states;
	unsigned int snapshots = 0;

	if (s->phase != PHASE_OPEN)
		return;
	HOLDS(t->branches >= 1 && t->branches <= BRANCHES_MAX);
	HOLDS(states_find(t, 0));
	for (unsigned int i = 0; i < t->branches; i++) {
		const struct branch *b = &t->branch[i];

		HOLDS(states_find(t, b->head));
		HOLDS(!b->step || b->step->branch == b->name);
		HOLDS(b->source.bytes <= STEP_SOURCE_MAX);
	}
	for (unsigned int i = 0; i < t->count; i++) {
		HOLDS(!t->state[i]->step);
		snapshots += states_is_snapshot(t, t->state[i]);
	}
	HOLDS(snapshots <= plan.limit[LIMIT_KEEP_STATES]);
	for (struct step *step = s->steps; step; step = step->next)
		HOLDS(step->state->step == step && step->session == s);
}

static void nothing(struct bell *b)
{
	(void)b;
}

static void turn(void)
{
	struct err e;

	/* everything that is there, and no waiting for more */
	for (int i = 0; i < 3; i++) {
		struct bell soon = { .ring = nothing };

		event_loop_set(&serve.loop, &soon, 1);
		HOLDS(event_loop_turn(&serve.loop, &e) == 0);
		spawn();
		event_loop_unset(&serve.loop, &soon);
	}
	check_queue();
	for (unsigned int i = 0; i < SERVE_BUCKETS; i++)
		for (struct session *s = serve.bucket[i]; s; s = s->next)
			check_session(s);
}

static void end(void)
{
	serve_end(&serve, 0);
	turn();
	HOLDS(serve.sessions == 0);
	for (int i = 0; i < inside.channels; i++)
		io_close_fd(&inside.channel[i]);
	for (int i = 0; i < inside.controls; i++)
		io_close_fd(&inside.control[i]);
	queue_end(&serve.queue);
	(void)close(serve.loop.epoll);
	(void)close(serve.spawner.fd);
	(void)close(spawner);
	/* no fd is left */
	HOLDS(lowest_free() == first_free);
}

static void ask(uint16_t type, uint32_t session, const void *payload, size_t length)
{
	static unsigned char copy[WIRE_PAYLOAD_MAX];
	const struct wire_header h = { (uint32_t)length, type, session };

	memcpy(copy, payload, length);
	request_serve(&serve, &h, copy);
}

static void say(int channel, uint16_t type, uint32_t step, const void *payload,
		size_t length)
{
	unsigned char bytes[WIRE_HEADER_BYTES + STEP_TEXT_MAX];

	if (channel >= inside.channels || length > STEP_TEXT_MAX)
		return;
	wire_pack(&(struct wire_header){ (uint32_t)length, type, step }, bytes);
	memcpy(bytes + WIRE_HEADER_BYTES, payload, length);
	(void)send(inside.channel[channel], bytes, WIRE_HEADER_BYTES + length,
		   MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* a session that is open */
static void open_one(uint32_t number)
{
	const struct step_born born = { .pid = INIT_PROGRAM_PID };
	const uint32_t branch = 0;
	struct session *s;

	if (session_find(&serve, number))
		return;
	ask(WIRE_OPEN, number, &branch, sizeof(branch));
	s = session_find(&serve, number);
	if (!s)
		return;
	spawn();
	say(inside.channels - 1, WIRE_STARTED, 0, &born, sizeof(born));
	turn();
	HOLDS(s->phase == PHASE_OPEN);
}

/* the requests that wait at a channel: what comes with them is kept, or closed */
static int take_requests(void)
{
	int taken = 0;

	for (int i = 0; i < inside.channels; i++) {
		unsigned char bytes[WIRE_HEADER_BYTES + sizeof(struct step_file) +
				    STEP_PATH_MAX];
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(STEP_FDS * sizeof(int))];
		struct iovec iov = { bytes, sizeof(bytes) };
		struct msghdr msg = { .msg_iov = &iov,
				      .msg_iovlen = 1,
				      .msg_control = control,
				      .msg_controllen = sizeof(control) };
		struct wire_header h;
		int fds[STEP_FDS];
		size_t count;

		if (inside.channels == CHANNELS_MAX ||
		    recvmsg(inside.channel[i], &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <=
			    0)
			continue;
		HOLDS(wire_unpack(bytes, &h) == 0);
		HOLDS(CMSG_FIRSTHDR(&msg));
		count = (CMSG_FIRSTHDR(&msg)->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		HOLDS(count ==
		      (h.type == WIRE_RUN ? (size_t)STEP_FDS : (size_t)STEP_FILE_FDS));
		memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&msg)), count * sizeof(int));
		for (size_t k = 1; k < count; k++)
			(void)close(fds[k]);
		inside.step[inside.channels] = h.step;
		inside.of[inside.channels] = i;
		inside.channel[inside.channels++] = fds[0];
		taken++;
	}
	return taken;
}
