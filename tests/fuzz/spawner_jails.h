/* SPDX-License-Identifier: MIT */
/*
 * spawner_jails.h - for the fuzzer of the spawner: jails and templates that are played
 *
 * Each launch is looked at: by which plan, and how many there are. Link as
 * spawner_calls.h.
 */
#pragma once

#include "tests/fuzz/spawner_calls.h"

static struct played *played_of(const struct jail *j)
{
	for (int i = 0; i < launched; i++)
		if (jails[i].jail == j)
			return &jails[i];
	return NULL;
}

static void close_stdio(struct jail *j)
{
	for (int fd = 0; fd <= 2; fd++)
		io_close_fd(&j->stdio[fd]);
}

/* by the one plan, and no more of them than there may be */
static int launch(struct jail *j, const struct parts *by, struct err *e)
{
	struct played *p = &jails[launched];
	uint64_t alive = 0;
	int ends[2];

	HOLDS(by == &parts && memcmp(&parts, &parts_before, sizeof(parts)) == 0);
	HOLDS(memcmp(&plan, &plan_before, sizeof(plan)) == 0);
	HOLDS(j->stdio[0] >= 0 && j->stdio[1] >= 0 && j->stdio[2] >= 0);
	for (int i = 0; i < launched; i++)
		alive += jails[i].jail != NULL;
	HOLDS(alive < plan.limit[LIMIT_SESSIONS]);
	j->plan = &plan;
	close_stdio(j);
	if (launch_errnum || launched == JAILS_MAX)
		return err_say(e, launch_errnum ? launch_errnum : EAGAIN, "not played");
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
	j->control = ends[0];
	*p = (struct played){ .jail = j,
			      .control = ends[1],
			      .process = launched % PROCESSES,
			      .end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) };
	launched++;
	HOLDS(gate_make(&j->gate, &p->gate, e) == 0);
	HOLDS(fcntl(p->control, F_SETFL, O_NONBLOCK) == 0);
	HOLDS(fcntl(p->gate, F_SETFL, O_NONBLOCK) == 0);
	return 0;
}

static void be_there(struct jail *j)
{
	const struct played *p = played_of(j);

	j->pid = process[p->process];
	j->pidfd = fcntl(p->end, F_DUPFD_CLOEXEC, 3);
	HOLDS(j->pidfd >= 0);
}

int __wrap_launch_jail(struct jail *j, struct parts *by, struct err *e);
int __wrap_launch_jail(struct jail *j, struct parts *by, struct err *e)
{
	int r = launch(j, by, e);

	if (r == 0)
		be_there(j);
	return r;
}

int __wrap_launch_go(struct jail *j, struct err *e);
int __wrap_launch_go(struct jail *j, struct err *e)
{
	HOLDS(played_of(j));
	return launch_errnum ? err_say(e, launch_errnum, "it may not go") : 0;
}

static void let_end(struct played *p)
{
	if (p->jail && p->killed && prompt)
		HOLDS(eventfd_write(p->end, 1) == 0);
}

void __wrap_launch_kill(const struct jail *j);
void __wrap_launch_kill(const struct jail *j)
{
	struct played *p = played_of(j);

	if (!p)
		return;
	p->killed = true;
	let_end(p);
}

bool __wrap_launch_gone(struct jail *j);
bool __wrap_launch_gone(struct jail *j)
{
	struct played *p = played_of(j);

	if (p && j->pid > 0 && !prompt)
		return false;
	/* nobody forgets a jail that was not killed */
	HOLDS(!p || p->killed);
	j->pid = 0;
	if (p) {
		io_close_fd(&p->control);
		io_close_fd(&p->gate);
		io_close_fd(&p->end);
		p->jail = NULL;
	}
	return true;
}

int __wrap_posture_early(const struct jail *jail, const struct gate_ready *ready,
			 struct posture *p, struct err *e);
int __wrap_posture_early(const struct jail *jail, const struct gate_ready *ready,
			 struct posture *p, struct err *e)
{
	(void)jail;
	(void)ready;
	(void)p;
	(void)e;
	return 0;
}

int __wrap_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e);
int __wrap_posture_read(const struct jail *jail, const struct gate_ready *ready,
			struct posture *p, struct err *e)
{
	(void)jail;
	(void)p;
	return ready->landlock == 7 ? 0 : err_say(e, EPERM, "posture: a wall is missing");
}

int __wrap_proc_usage_check(pid_t init, struct err *e);
int __wrap_proc_usage_check(pid_t init, struct err *e)
{
	(void)init;
	(void)e;
	return 0;
}

struct tmpfs_usage __wrap_tmpfs_usage_open(pid_t init);
struct tmpfs_usage __wrap_tmpfs_usage_open(pid_t init)
{
	(void)init;
	return TMPFS_USAGE_NONE;
}

/* the kernel would tell this process */
int __real_gate_receive(int outside, struct gate_ready *ready, struct err *e);
int __wrap_gate_receive(int outside, struct gate_ready *ready, struct err *e);
int __wrap_gate_receive(int outside, struct gate_ready *ready, struct err *e)
{
	int r = __real_gate_receive(outside, ready, e);

	for (int i = 0; r > 0 && i < launched; i++)
		if (jails[i].jail && jails[i].jail->gate == outside)
			ready->program = process[jails[i].process];
	return r;
}

int __wrap_measurer_start(struct measurers *all, uint32_t jail, uint32_t tag,
			  enum spawn_measure kind, int dir, pid_t pid);
int __wrap_measurer_start(struct measurers *all, uint32_t jail, uint32_t tag,
			  enum spawn_measure kind, int dir, pid_t pid)
{
	HOLDS(kind < SPAWN_MEASURES && is_asked(pid));
	HOLDS(process_of(dir) >= 0 && process[process_of(dir)] == pid);
	if (launch_errnum)
		return -launch_errnum;
	all->done(all, jail, tag, &(struct measured){ .bytes = 1 });
	return 0;
}

static void say_ready(const struct played *p, uint32_t landlock)
{
	unsigned char head[WIRE_HEADER_BYTES];
	int netlink = eventfd(0, EFD_CLOEXEC), listener = eventfd(0, EFD_CLOEXEC);
	struct err e;

	wire_pack(&(struct wire_header){ .type = WIRE_READY, .step = landlock }, head);
	(void)gate_hand_over(p->gate, GATE_NETLINK, &netlink, &e);
	(void)gate_hand_over(p->gate, GATE_LISTENER, &listener, &e);
	(void)send(p->gate, head + GATE_FDS, sizeof(head) - GATE_FDS,
		   MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void jail_says(uint8_t which, uint8_t what, uint8_t value)
{
	struct played *p = launched ? &jails[which % launched] : NULL;
	const struct wire_fail fail = { .errnum = value, .text = "a stage" };

	if (!p || !p->jail)
		return;
	switch (what % 8) {
	case 0:
		(void)wire_send(p->control, WIRE_READY, 0, NULL, 0);
		break;
	case 1:
		say_ready(p, 7);
		break;
	case 2: /* all that there is to say */
		if (p->jail->warm)
			(void)send(p->control, "S", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		(void)wire_send(p->control, WIRE_READY, 0, NULL, 0);
		say_ready(p, 7);
		break;
	case 3:
		say_ready(p, value);
		break;
	case 4:
		(void)wire_send(p->control, WIRE_FAIL, 0, &fail, sizeof(fail));
		break;
	case 5:
		(void)send(p->control, &value, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
		break;
	case 6:
		io_close_fd(&p->control);
		break;
	default:
		io_close_fd(&p->gate);
	}
}

int __wrap_template_start(struct template *t, const struct parts *by, char *const *argv,
			  int out, struct err *e);
int __wrap_template_start(struct template *t, const struct parts *by, char *const *argv,
			  int out, struct err *e)
{
	HOLDS(by == &parts && strcmp(argv[0], "/bin/interpreter") == 0 && !argv[1]);
	HOLDS(out == STDERR_FILENO);
	*t = (struct template){ .up = STARTUP_NONE, .channel = -1, .events = -1 };
	t->start_ms = now_ms;
	for (int i = 0; i < TEMPLATES_MAX && !launch_errnum; i++) {
		if (templates[i].t)
			continue;
		t->events = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		templates[i].t = t;
		return 0;
	}
	return err_say(e, EAGAIN, "no template is played");
}

void __real_template_close(struct template *t);
void __wrap_template_close(struct template *t);
void __wrap_template_close(struct template *t)
{
	for (int i = 0; i < TEMPLATES_MAX; i++)
		if (templates[i].t == t)
			templates[i].t = NULL;
	__real_template_close(t);
}

int __wrap_template_serve(struct template *t, struct err *e);
int __wrap_template_serve(struct template *t, struct err *e)
{
	eventfd_t count;
	int at = 0;

	while (templates[at].t != t)
		HOLDS(++at < TEMPLATES_MAX);
	HOLDS(eventfd_read(t->events, &count) == 0);
	if (templates[at].says % 4 == 3) {
		t->ready = false;
		return err_say(e, EPIPE, "template: it has ended");
	}
	if (t->ready && t->asked) {
		t->asked--;
		(void)err_say(e, EAGAIN, "template: no clone");
		t->made(t, templates[at].says % 4 == 2 ? e : NULL);
	}
	t->ready = true;
	return 1;
}

int __wrap_template_ask(struct template *t, struct jail *j, struct parts *by,
			struct err *e);
int __wrap_template_ask(struct template *t, struct jail *j, struct parts *by,
			struct err *e)
{
	int r = launch(j, by, e);

	if (r < 0)
		return r;
	HOLDS(t->ready);
	j->warm = true;
	t->clones++;
	t->asked++;
	return 0;
}

int __wrap_template_meet(const struct template *t, struct jail *j, struct err *e);
int __wrap_template_meet(const struct template *t, struct jail *j, struct err *e)
{
	char byte = 0;
	ssize_t n = recv(j->control, &byte, 1, MSG_DONTWAIT);

	(void)t;
	if (n < 0)
		return 0;
	if (byte != 'S')
		return err_say(e, EPERM, "template: not its clone");
	be_there(j);
	return 1;
}

static void template_says(uint8_t which, uint8_t what)
{
	struct template *t = templates[which % TEMPLATES_MAX].t;

	templates[which % TEMPLATES_MAX].says = what;
	if (t)
		HOLDS(eventfd_write(t->events, 1) == 0);
}
