/* SPDX-License-Identifier: MIT */
/*
 * session_sweep.c - which processes of a session there are, and which may stay
 *
 * Theory of operation
 *   What a step leaves behind is killed before the step is answered. All processes below
 *   init are visited, a few in each turn of the loop. Walks are repeated until one finds
 *   no unknown process alive.
 *   Nothing waits for a death: a session whose strays are many, or die slowly, delays its
 *   own answers alone. A process that was asked for, and has not said who it is, looks
 *   like a stray: the walk waits until it speaks, or is late.
 *
 *   A pidfd is opened for a process before its parent is read, and it is signalled by
 *   that pidfd: if its number was reused meanwhile, the parent is none of this jail's. A
 *   step's process may be gone before it is looked at; then it has no pidfd, and is sent
 *   no signal.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "jail/serve/session/session.h"

#define ROUNDS 64        /* against a step that forks faster than it is ended */
#define VISITS_A_TURN 16 /* other sessions are to be served, too */
#define SOON_ROUNDS 10   /* a process that is killed is gone within so many, 1 ms each */
#define LATER_MS 5       /* then each pause is longer than the last: 10 s in all */
#define BIRTH_LOOK_MS 2
/* a process that was asked for has told its pid long before; one that has not delays its
 * own session alone */
#define BIRTH_WAIT_MS 2000

pid_t sweep_inside(const char *text, const char *key)
{
	const char *at = procfs_find(text, key), *end;

	if (!at)
		return -1;
	end = at + strcspn(at, "\n");
	while (end > at && end[-1] != '\t' && end[-1] != ' ')
		end--;
	return (pid_t)strtol(end, NULL, 10);
}

/* Read /proc/PID/status. Return: false where the process is gone. */
static bool look(pid_t pid, pid_t *parent, pid_t *inside)
{
	char text[4096];

	*parent = *inside = 0;
	if (procfs_read(pid, "status", text, sizeof(text)) <= 0)
		return false;
	*parent = (pid_t)procfs_number(text, "PPid:", 10);
	if (procfs_find(text, "NSpid:"))
		*inside = sweep_inside(text, "NSpid:");
	return true;
}

/* Have all threads of a process ended? The first may end before the others. */
static bool has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd < 0 || poll(&p, 1, 0) != 0;
}

int sweep_adopt(struct state *state, uint32_t told, pid_t host, struct err *e)
{
	const struct session *s = state->session;
	cleanup_fd int pidfd = host > 0 ? (int)syscall(SYS_pidfd_open, host, 0) : -1;
	/* before Linux 6.15, EINVAL says that no process has the number any more */
	bool ended = pidfd < 0 && (host <= 0 || errno == ESRCH || errno == EINVAL);
	pid_t parent = 0, inside = 0;

	/* while the kernel takes a process out of its tables, the numbers in its status
	 * are 0 */
	if (pidfd >= 0 && (!look(host, &parent, &inside) || !parent || !inside))
		ended = has_ended(pidfd);
	if (ended ? told <= 1
		  : inside != (pid_t)told || parent != s->init || sweep_known(s, host))
		return err_say(e, EPERM, "its process is not the one that it says it is");
	if (ended)
		io_close_fd(&pidfd);
	io_close_fd(&state->pidfd);
	state->pidfd = io_steal_fd(&pidfd);
	state->pid = ended ? -1 : (pid_t)told;
	state->told = ended ? (pid_t)told : 0;
	state->host = host;
	return 0;
}

static struct state *find(const struct session *s, pid_t pid,
			  bool (*is)(const struct state *state, pid_t pid))
{
	for (unsigned int i = 0; i < s->states.count; i++)
		if (is(s->states.state[i], pid))
			return s->states.state[i];
	for (const struct step *step = s->steps; step; step = step->next)
		if (is(step->state, pid))
			return step->state;
	return NULL;
}

static bool is_host(const struct state *state, pid_t pid)
{
	/* the pid of a process that has ended may be another's by now */
	return state->host == pid && !state->told &&
	       !(state->step && state->step->have_exit);
}

static bool is_inside(const struct state *state, pid_t pid)
{
	return state->pid == pid;
}

struct state *sweep_known(const struct session *s, pid_t host)
{
	return find(s, host, is_host);
}

struct state *sweep_of_pid(const struct session *s, pid_t pid)
{
	/* what is not known yet, or has ended, has none */
	return pid > 0 ? find(s, pid, is_inside) : NULL;
}

static void kill_stray(struct session *s, pid_t pid, pid_t above)
{
	cleanup_fd int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	pid_t parent, inside;

	if (fd < 0 || !look(pid, &parent, &inside) || has_ended(fd))
		return;
	s->sweep.left++;
	if (parent != above && parent != s->init)
		return;
	spawn_signal(s, fd, SIGKILL);
	s->sweep.found++;
}

/* Return: is the walk to go on below this process? */
static bool visit(void *owner, pid_t pid, pid_t above)
{
	struct session *s = owner;
	const struct state *state = sweep_known(s, pid);
	const struct step *step = state ? state->step : NULL;

	/* a running step keeps its processes */
	if (step && !step->sweeping)
		return false;
	if (!state)
		kill_stray(s, pid, above);
	return true;
}

/* Are all children of this process known? */
bool sweep_has_none(const struct session *s, pid_t pid)
{
	struct found f = { 0 };
	bool none = found_add_children(&f, pid) == 0;

	for (unsigned int i = 0; none && i < f.count; i++)
		none = sweep_known(s, f.pid[i]) != NULL;
	free(f.pid);
	return none;
}

/* Has a step left no process? The usual case takes two files, as states that wait make no
 * process. Init is asked last: it gets the children of any process that ends meanwhile.
 */
static bool is_clean(const struct step *step)
{
	const struct session *s = step->session;

	return (step->have_exit || sweep_has_none(s, step->state->host)) &&
	       sweep_has_none(s, s->init);
}

static bool is_late(const struct step *step)
{
	const struct session *s = step->session;
	const struct state *state = step->state;
	uint64_t since_ms =
		state->woken_ms > s->sweep.start_ms ? state->woken_ms : s->sweep.start_ms;

	return clock_now_ms() >= since_ms + BIRTH_WAIT_MS;
}

/* A process that was asked for and has not told its pid would look like a stray. */
static bool awaits_births(struct session *s)
{
	step_hear_births(s);
	for (const struct step *step = s->steps; step; step = step->next)
		if (!step->state->host && step->state->channel.events && !is_late(step))
			return true;
	return false;
}

void sweep_stop(struct session *s)
{
	struct sweep *w = &s->sweep;

	w->under_way = false;
	event_loop_unset(&s->serve->loop, &w->look);
	walk_end(&w->walk);
}

static void finish(struct session *s, int strays)
{
	struct step *first = s->sweep.step, *step = first;

	sweep_stop(s);
	if (!first && strays < 0) {
		session_end(s, "processes that a state has made cannot be ended");
		return;
	}
	if (!first)
		s->restless += (unsigned int)strays;
	/* steps that ended during the walk have waited for the same one */
	while (s->phase == PHASE_OPEN) {
		for (step = step ? step : s->steps; step && !step->sweeping;)
			step = step->next;
		if (!step)
			return;
		park_swept(step, step == first ? strays : 0);
		step = NULL;
	}
}

/* Return: in how many ms to go on, or 0 when the walk is over */
static unsigned int walk_on(struct session *s)
{
	struct sweep *w = &s->sweep;
	struct err e;
	int r = walk_each(&w->walk, s->init, VISITS_A_TURN, visit, s, &e);

	if (r > 0)
		return 1;
	if (w->found > w->counted)
		w->counted = w->found;
	/* a process that ended before the walk came to it may have left children to init
	 */
	if (r == 0 && w->left == 0 && sweep_has_none(s, s->init)) {
		finish(s, (int)w->counted);
		return 0;
	}
	w->rounds++;
	if (r < 0 || w->rounds == ROUNDS) {
		finish(s, r < 0 ? -e.errnum : -EBUSY);
		return 0;
	}
	w->walk.at = w->left = w->found = 0;
	return w->rounds < SOON_ROUNDS ? 1 : LATER_MS * w->rounds;
}

static bool is_running(const struct session *s)
{
	for (const struct step *step = s->steps; step; step = step->next)
		if (step->kind == KIND_RUN)
			return true;
	return false;
}

static void ring_look(struct bell *b)
{
	struct session *s = b->owner;
	struct sweep *w = &s->sweep;
	unsigned int in_ms = BIRTH_LOOK_MS;
	bool waits = awaits_births(s);

	/* reading packets may have ended the session */
	if (!w->under_way)
		return;
	/* while a step runs, what it leaves is not a stray */
	if (!w->step && !w->all && is_running(s)) {
		finish(s, (int)w->counted);
		return;
	}
	if (!waits)
		in_ms = walk_on(s);
	if (in_ms)
		event_loop_set(&s->serve->loop, b, clock_now_ms() + in_ms);
}

static void begin(struct session *s, struct step *step)
{
	struct sweep *w = &s->sweep;

	if (!w->under_way) {
		w->look = (struct bell){ .ring = ring_look, .owner = s };
		w->under_way = true;
		w->all = false;
		w->step = NULL;
		w->rounds = w->counted = 0;
		w->start_ms = clock_now_ms();
	}
	if (step && !w->step) {
		s->restless += w->counted;
		w->counted = 0;
		w->step = step;
	}
	/* processes that the walk has passed may have made others since */
	w->walk.at = w->left = w->found = 0;
	event_loop_set(&s->serve->loop, &w->look, clock_now_ms());
}

void sweep_step(struct step *step)
{
	bool clean = !step->sweeping && is_clean(step);

	step->sweeping = true;
	if (clean)
		park_swept(step, 0);
	else
		begin(step->session, step);
}

void sweep_states(struct session *s, const struct state *rests)
{
	if (s->phase != PHASE_OPEN ||
	    (!rests && (is_running(s) || sweep_has_none(s, s->init))))
		return;
	begin(s, NULL);
	s->sweep.all = s->sweep.all || rests;
}

uint64_t sweep_bytes(const struct state *state)
{
	char text[256];
	unsigned long long all = 0, shared = 0;

	if (procfs_read(state->host, "statm", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*u %llu %llu", &all, &shared) != 2 || shared > all)
		return 0;
	return (all - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}
