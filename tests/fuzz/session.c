/* SPDX-License-Identifier: MIT */
/*
 * session.c - any bytes from stepjail, in the agent: one step to its end
 *
 * No jail is started: what a step that goes wrong would make anew is refused here.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "agent/base/units.h"
#include "agent/session/session.h"
#include "tests/fuzz/fuzz.h"

/* linked with --wrap=session_renew */
int __wrap_session_renew(struct session *s, struct err *e);
int __wrap_session_renew(struct session *s, struct err *e)
{
	(void)s;
	return err_say(e, ENOENT, "no jail here");
}

static void check_step(const struct step *step)
{
	struct text words = { 0 };

	HOLDS((int)step->facts.verdict >= 0 && step->facts.verdict < VERDICT_COUNT);
	HOLDS((int)step->facts.state >= 0 && step->facts.state < STATE_COUNT);
	HOLDS(step->facts.code >= -1 && step->facts.code <= 255); /* -1: none */
	HOLDS(step->facts.signal >= 0 && step->facts.signal <= 255);
	verdict_words(&step->facts, &words);
	for (size_t i = 0; i < words.length; i++)
		HOLDS(words.bytes[i] >= ' ' && words.bytes[i] < 0x7f);
	text_free(&words);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct session s;
	static struct step step;
	const struct jail_options jail = { .rootfs = "core" };
	struct session_plan plan = {
		.jail = &jail,
		.step_ms = 10000,
		.deadline_ms = units_now_ms() + 60000,
	};
	struct stop stop = { .fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	struct err e = { 0 };
	int ends[2], r;

	if (size > 150000)
		return 0;
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	HOLDS(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
	(void)memset(&s, 0, sizeof(s));
	(void)memset(&step, 0, sizeof(step));
	s.plan = &plan;
	serve_init(&s.serve, &stop);
	s.serve.socket = ends[0];
	s.id = 1;
	s.open = true;
	HOLDS(send(ends[1], bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size);
	/* what the step sends is not read: the other side's half is all that is closed */
	HOLDS(shutdown(ends[1], SHUT_WR) == 0);
	r = session_step(&s, "pass", 4, &step, &e);
	if (r < 0)
		fuzz_error(&e, r);
	check_step(&step);
	session_close(&s);
	(void)close(ends[1]);
	(void)close(stop.fd);
	return 0;
}
