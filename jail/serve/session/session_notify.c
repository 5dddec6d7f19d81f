/* SPDX-License-Identifier: MIT */
/*
 * session_notify.c - violations and signals in a session: which step's, and whether they
 * may go on
 *
 * Theory of operation
 *   Each step and each state leads a kernel session (setsid(2)) of its own. A process
 *   belongs to a step or state if it is that process, has it as an ancestor, or is in its
 *   kernel session. Nobody can join another's, so this holds for orphans, too. An orphan
 *   that has begun a kernel session of its own belongs to nobody. A process that was just
 *   forked from a state is in that state's until it has said who it is.
 *   Numbers in a call are those of the jail's PID namespace. Their owner is found by a
 *   walk over the jail's processes and threads, the caller's own first. A walk may miss a
 *   child while other processes end, so it takes two to say that nobody has a number.
 *   What they cost is taken from the budget of answers.
 *   A signal may reach what belongs to the caller's own step, and what belongs to nobody
 *   while no other step runs that it could come from. A process group lies within one
 *   kernel session, and has the number of the process that began it, or of none: whoever
 *   owns that process owns the group. A number that nobody has is answered here, with
 *   ESRCH, as another process could get it before the kernel looks. A number of the
 *   caller's own process could be another's by then only if that process had ended and
 *   all other numbers had been given out since.
 *   A violation by a process that belongs to nobody is told in the answer to STATUS.
 *   Where violations kill, that process alone is killed.
 */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "jail/serve/session/session.h"
#include "jail/serve/rules/signal_judge.h"

#define ANCESTORS_MAX 32
#define LOOKS_MAX 1024    /* looks at processes and threads, for one call */
#define LOOKS_AN_ANSWER 4 /* so many looks cost as much as one answer in a flood */

/* Find the state that owns a process or thread, by its status file. NULL: none does. */
static struct state *owner_by_status(const struct session *s, char *text, size_t size)
{
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		struct state *state = sweep_of_pid(s, sweep_inside(text, "NStgid:"));
		pid_t above;

		if (!state)
			state = sweep_of_pid(s, sweep_inside(text, "NSsid:"));
		if (state)
			return state;
		above = (pid_t)procfs_number(text, "PPid:", 10);
		if (above <= 0 || above == s->init ||
		    procfs_read(above, "status", text, size) <= 0)
			return NULL;
	}
	return NULL;
}

static struct state *owner_of_thread(const struct session *s, pid_t thread)
{
	char text[4096];

	return procfs_read(thread, "status", text, sizeof(text)) > 0
		       ? owner_by_status(s, text, sizeof(text))
		       : NULL;
}

/* Is this number the caller's, as a thread or as a process? */
static bool is_own(void *owner, pid_t pid)
{
	const struct session *s = owner;
	char text[4096];

	if (procfs_read(s->caller, "status", text, sizeof(text)) <= 0)
		return false;
	return sweep_inside(text, "NSpid:") == pid ||
	       sweep_inside(text, "NStgid:") == pid;
}

/* a search for the process or thread that has this number in the jail */
struct sought {
	const struct session *s;
	pid_t pid;
	unsigned int looks; /* how many processes and threads were looked at */
	bool found;
	struct state *of;
};

static void look(struct sought *w, pid_t pid, const char *file, char *text, size_t size)
{
	w->looks++;
	if (procfs_read(pid, file, text, size) <= 0 ||
	    sweep_inside(text, "NSpid:") != w->pid)
		return;
	w->found = true;
	w->of = owner_by_status(w->s, text, size);
}

static void look_at_threads(struct sought *w, pid_t pid)
{
	cleanup_folder DIR *tasks = procfs_tasks(pid);
	const char *thread;

	while (tasks && !w->found && (thread = folder_next(tasks))) {
		char file[48], text[4096];

		(void)snprintf(file, sizeof(file), "task/%.16s/status", thread);
		look(w, pid, file, text, sizeof(text));
	}
}

static bool visit(void *owner, pid_t pid, pid_t above)
{
	struct sought *w = owner;
	char text[4096] = "";

	(void)above;
	if (w->found || w->looks > LOOKS_MAX)
		return false;
	look(w, pid, "status", text, sizeof(text));
	if (!w->found && procfs_number(text, "Threads:", 10) > 1)
		look_at_threads(w, pid);
	return !w->found;
}

/* Look at a process and at all below it. */
static void look_below(struct sought *w, pid_t process)
{
	struct walk k = { 0 };
	struct err e;

	if (process && visit(w, process, 0))
		(void)walk_each(&k, process, LOOKS_MAX, visit, w, &e);
	walk_end(&k);
}

/* Find the state that owns this number. Return: 0, -ESRCH (no process or thread has it),
 * or -EPERM (there are more processes than are looked at). */
static int find_owner(struct session *s, pid_t pid, struct state **of)
{
	struct sought w = { .s = s, .pid = pid };
	unsigned int cost, paid;

	*of = sweep_of_pid(s, pid);
	if (*of || pid == 1)
		return 0;
	look_below(&w, (pid_t)procfs_status(s->caller, "Tgid:"));
	for (int i = 0; i < 2 && !w.found; i++)
		look_below(&w, s->init);
	*of = w.of;
	cost = w.looks / LOOKS_AN_ANSWER;
	paid = cost < s->refused.budget ? cost : s->refused.budget;
	s->refused.budget -= paid;
	s->refused.debt += cost - paid;
	return w.found ? 0 : w.looks > LOOKS_MAX ? -EPERM : -ESRCH;
}

/* Does a process without a known owner belong to this step? It does where no other step
 * runs. */
static bool is_alone(const struct session *s, const struct state *own)
{
	bool there = false;

	for (const struct step *step = s->steps; step; step = step->next) {
		if (step->kind != KIND_RUN)
			continue;
		if (there || (own && own != step->state))
			return false;
		there = true;
	}
	return there;
}

static int reaches(void *owner, pid_t pid, bool group)
{
	struct session *s = owner;
	const struct state *own;
	struct state *of;
	int r;

	if (!group && is_own(s, pid))
		return 0;
	r = find_owner(s, pid, &of);
	if (r < 0 && (r == -EPERM || !group))
		return r;
	own = owner_of_thread(s, s->caller);
	return (of ? of == own : pid != 1 && is_alone(s, own)) ? 0 : -EPERM;
}

static enum notify_answer decide(void *owner, const struct seccomp_notif *n)
{
	struct session *s = owner;
	const struct signal_judge judge = { reaches, is_own, s };
	int r;

	if (park_is_call(&n->data))
		return park_hear(s, n) ? NOTIFY_LATER : NOTIFY_CONTINUE;
	s->caller = (pid_t)n->pid;
	step_hear_births(s);
	r = signal_judge_call(&judge, &n->data);
	if (r == 0)
		return NOTIFY_CONTINUE;
	return r == -ESRCH ? NOTIFY_NO_PROCESS : NOTIFY_REFUSE;
}

static struct violations *charge(void *owner, pid_t thread)
{
	struct session *s = owner;
	const struct state *state;

	step_hear_births(s);
	state = owner_of_thread(s, thread);
	return state && state->step && state->step->kind == KIND_RUN
		       ? &state->step->refused
		       : &s->elsewhere;
}

/* The kernel holds the caller's thread, so its number cannot be another process's. Where
 * it cannot be killed, its session is ended: see UNSENT in spawn.h. */
static void kill_caller(struct session *s, const struct seccomp_notif *n)
{
	cleanup_fd int pidfd = -1;
	pid_t process = (pid_t)procfs_status((pid_t)n->pid, "Tgid:");

	if (process)
		pidfd = (int)syscall(SYS_pidfd_open, process, 0);
	if (violation_holds(s->listener.fd, n->id))
		spawn_signal(s, pidfd, SIGKILL);
}

static void kill_for_violation(void *owner, struct violations *charged,
			       const struct seccomp_notif *n)
{
	struct session *s = owner;

	for (struct step *step = s->steps; step; step = step->next)
		if (&step->refused == charged) {
			limit_kill(step, VERDICT_VIOLATION);
			return;
		}
	kill_caller(s, n);
}

static uint64_t since_ms(const struct session *s)
{
	return clock_now_ms() - s->start_ms;
}

/* A program that floods the listener waits for its answers. */
static void pace(struct session *s)
{
	uint64_t wait_ms = violation_wait_ms(&s->refused, since_ms(s));

	(void)event_loop_listen(&s->serve->loop, &s->listener, wait_ms ? 0 : EPOLLIN);
	if (wait_ms)
		event_loop_set(&s->serve->loop, &s->flood, clock_now_ms() + wait_ms);
}

static void ring_flood(struct bell *b)
{
	pace(b->owner);
}

static void serve_listener(struct port *p)
{
	struct session *s = p->owner;
	struct violations *v = &s->refused;
	int r;

	if (!(p->came & EPOLLIN)) { /* the last process behind this listener is gone */
		event_loop_close(&s->serve->loop, p);
		v->fd = -1;
		return;
	}
	pace(s);
	if (!p->events)
		return;
	r = violation_serve(v, s->serve->plan, since_ms(s));
	if (r < 0)
		session_end(s, "violations: answer a refused call: %s", strerror(-r));
	else if (p->fd >= 0)
		pace(s);
}

void notify_open(struct session *s, int listener)
{
	struct violations *v = &s->refused;

	s->policy = (struct notify_policy){ decide, charge, kill_for_violation, s };
	v->policy = &s->policy;
	s->elsewhere.fd = -1;
	s->flood = (struct bell){ .ring = ring_flood, .owner = s };
	v->fd = listener;
	s->listener = PORT(v->fd, serve_listener, s);
	if (event_loop_listen(&s->serve->loop, &s->listener, EPOLLIN) < 0)
		session_end(s, "serve: epoll_ctl");
}
