/* SPDX-License-Identifier: MIT */
/*
 * played.c - templates without a process: see played.h
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/walls/gate.h"
#include "jail/base/fd_passing.h"
#include "jail/launch/posture.h"
#include "jail/serve/template/template.h"
#include "jail/walls/warm.h"
#include "tests/unit/played.h"
#include "tests/unit/suites.h"

struct played played[PLAYED_MAX];
int played_templates, played_cold, played_warm, played_refuses, played_warm_refuses;
int played_posture;
struct child played_child;

int __wrap_launch_jail(struct jail *j, struct parts *parts, struct err *e);
int __wrap_launch_jail(struct jail *j, struct parts *parts, struct err *e)
{
	struct played *p = &played[played_templates];
	int ends[2];

	j->plan = parts->plan;
	if (!parts->plan->template) {
		played_cold++;
		return 0;
	}
	ck_assert(!parts->plan->session);
	ck_assert_int_lt(played_templates++, PLAYED_MAX);
	*p = (struct played){ io_steal_fd(&j->stdio[0]), -1, -1 };
	for (int fd = 1; fd <= 2; fd++)
		io_close_fd(&j->stdio[fd]);
	if (played_refuses < 0)
		return err_say(e, -played_refuses, "it is not played");
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	j->control = ends[0];
	p->control = ends[1];
	return gate_make(&j->gate, &p->gate, e);
}

int __wrap_launch_prepare(struct jail *j, struct parts *parts,
			  const struct jail *template, struct child *c, struct err *e);
int __wrap_launch_prepare(struct jail *j, struct parts *parts,
			  const struct jail *template, struct child *c, struct err *e)
{
	(void)e;
	ck_assert_ptr_nonnull(template);
	j->plan = parts->plan;
	j->warm = true;
	*c = played_child;
	c->plan = parts->plan;
	c->sources = &parts->sources;
	c->stdio = j->stdio;
	return 0;
}

int __wrap_template_ask(struct template *t, struct jail *j, struct parts *parts,
			struct err *e);
int __wrap_template_ask(struct template *t, struct jail *j, struct parts *parts,
			struct err *e)
{
	ck_assert(t->ready);
	j->plan = parts->plan;
	if (played_warm_refuses < 0)
		return err_say(e, -played_warm_refuses, "no clone is played");
	j->warm = true;
	t->clones++;
	t->asked++;
	played_warm++;
	return 0;
}

int __real_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e);
int __wrap_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e);
int __wrap_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e)
{
	if (played_posture < 0)
		return err_say(e, -played_posture, "a wall is not played");
	return played_posture ? 0 : __real_posture_read(jail, ready, p, e);
}

int __real_proc_usage_check(pid_t init, struct err *e);
int __wrap_proc_usage_check(pid_t init, struct err *e);
int __wrap_proc_usage_check(pid_t init, struct err *e)
{
	/* a played jail has none */
	return init ? __real_proc_usage_check(init, e) : 0;
}

int played_hello(int which)
{
	char byte;
	int memory;

	ck_assert_int_eq(fd_passing_receive(played[which].channel, &byte, 1, &memory, 1),
			 1);
	return memory;
}

void played_answer(int which, int errnum, const char *text)
{
	struct warm_answer a = { .errnum = (uint32_t)errnum };

	(void)snprintf(a.text, sizeof(a.text), "%s", text);
	ck_assert_int_eq(fd_passing_send(played[which].channel, &a, sizeof(a), NULL, 0),
			 0);
}

int played_gone(int which)
{
	char byte;

	for (;;) {
		ssize_t n = recv(played[which].channel, &byte, 1, MSG_DONTWAIT);

		if (n <= 0)
			return n == 0 || errno != EAGAIN;
	}
}

void played_end(int which)
{
	io_close_fd(&played[which].channel);
	io_close_fd(&played[which].control);
	io_close_fd(&played[which].gate);
}

static void nothing(struct bell *b)
{
	(void)b;
}

void played_turn(struct event_loop *loop)
{
	for (int i = 0; i < 3; i++) {
		struct bell soon = { .ring = nothing };
		struct err e;

		event_loop_set(loop, &soon, 1);
		ck_assert_int_eq(event_loop_turn(loop, &e), 0);
		event_loop_unset(loop, &soon);
	}
}
