/* SPDX-License-Identifier: MIT */
/*
 * session_sweep.c - which processes of a session there are, and which may stay
 *
 * Whom a signal goes to is held by a pidfd before it is looked at once more: a number that
 * was given to somebody else meanwhile belongs to a process whose parent is not one of
 * this jail's. A step may be gone before it is looked at: it has no pidfd then, and gets no
 * signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/proc.h"
#include "jail/session.h"
#include "jail/watch.h"

#define ROUNDS 64         /* against a step that forks faster than it is ended */
#define DEATH_WAIT_MS 100 /* a process that is killed is gone long before */
#define COUNTED 64        /* strays, of whom one that dies slowly is known again */
#define BIRTH_WAIT_MS 100 /* likewise, one that was asked for is there */
/* of a session that has kept nobody waiting yet, it can only be slow; and so is what the
 * state makes that has run no step, of which file operations are asked */
#define SLOW_BIRTH_WAIT_MS 2000

pid_t sweep_inside(const char *text, const char *key)
{
	const char *at = posture_find(text, key), *end;

	if (!at)
		return -1;
	end = at + strcspn(at, "\n");
	while (end > at && end[-1] != '\t' && end[-1] != ' ')
		end--;
	return (pid_t)strtol(end, NULL, 10);
}

/* what /proc/PID/status says of it; false: it is gone */
static bool look(pid_t pid, pid_t *parent, pid_t *inside, char *state)
{
	char text[4096];
	const char *at;

	*parent = *inside = 0;
	*state = 'X';
	if (proc_read(pid, "status", text, sizeof(text)) <= 0)
		return false;
	at = posture_find(text, "State:\t");
	if (at)
		*state = *at;
	at = posture_find(text, "PPid:\t");
	if (at)
		*parent = (pid_t)strtol(at, NULL, 10);
	if (posture_find(text, "NSpid:"))
		*inside = sweep_inside(text, "NSpid:");
	return true;
}

static bool has_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return pidfd < 0 || poll(&p, 1, 0) != 0;
}

int sweep_adopt(struct state *state, uint32_t told, pid_t host, pid_t before,
		struct err *e)
{
	const struct session *s = state->session;
	cleanup_fd int pidfd = -1;
	pid_t parent = 0, inside = 0;
	char letter;

	if (host > 0)
		pidfd = (int)syscall(SYS_pidfd_open, host, 0);
	if (pidfd >= 0)
		(void)look(host, &parent, &inside, &letter);
	if (inside != (pid_t)told ||
	    (parent != s->run.jail.pid && (!before || parent != before))) {
		/* of one that has ended, init will tell, or has; and nobody else's end
		 * may be taken for it. One that moved and ended is not believed: the end
		 * of the one before is waited for already, and will come */
		if (!has_ended(pidfd) || told <= 1 || state->host ||
		    states_of_pid(&s->states, (pid_t)told))
			return err_say(e, EPERM,
				       "its process is not the one that it says it is");
		io_close_fd(&pidfd);
	}
	state->left = before;
	io_close_fd(&state->pidfd);
	state->pidfd = io_steal_fd(&pidfd);
	state->pid = (pid_t)told;
	state->host = host;
	return 0;
}

void sweep_left(const struct state *state)
{
	cleanup_fd int fd = -1;
	pid_t parent, inside;
	char letter;

	if (!state->left || sweep_known(state->session, state->left))
		return;
	fd = (int)syscall(SYS_pidfd_open, state->left, 0);
	if (fd >= 0 && look(state->left, &parent, &inside, &letter) &&
	    parent == state->session->run.jail.pid)
		(void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

struct sweep {
	struct session *s;
	int killed; /* in this round */
	int strays; /* in all */
	pid_t counted[COUNTED];
};

struct state *sweep_known(const struct session *s, pid_t host)
{
	for (unsigned int i = 0; i < s->states.count; i++)
		if (s->states.state[i]->host == host)
			return s->states.state[i];
	for (const struct step *step = s->steps; step; step = step->next)
		if (step->state->host == host)
			return step->state;
	for (const struct step *step = s->ahead; step; step = step->next)
		if (step->state->host == host)
			return step->state;
	return NULL;
}

static bool was_left(const struct session *s, pid_t host)
{
	for (unsigned int i = 0; i < s->states.count; i++)
		if (s->states.state[i]->left == host)
			return true;
	for (const struct step *step = s->steps; step; step = step->next)
		if (step->state->left == host)
			return true;
	return false;
}

static void kill_stray(struct sweep *w, pid_t pid, pid_t above)
{
	cleanup_fd int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd gone = { .fd = fd, .events = POLLIN };
	pid_t parent, inside;
	char letter;

	if (fd < 0 || !look(pid, &parent, &inside, &letter) || letter == 'Z' ||
	    letter == 'X' || (parent != above && parent != w->s->run.jail.pid))
		return;
	if (syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0) < 0)
		return;
	w->killed++;
	/* what a step has moved out of ends by itself, and is none */
	if (w->counted[pid % COUNTED] != pid)
		w->strays += !was_left(w->s, pid);
	w->counted[pid % COUNTED] = pid;
	(void)poll(&gone, 1, DEATH_WAIT_MS);
}

/* is what is below it to be looked at, too? */
static bool visit(void *owner, pid_t pid, pid_t above)
{
	struct sweep *w = owner;
	const struct state *state = sweep_known(w->s, pid);

	/* a running step's own */
	if (state && state->step && !state->step->have_done && !state->step->have_exit &&
	    !state->step->waits)
		return false;
	if (!state)
		kill_stray(w, pid, above);
	return true;
}

/* are all of this process's children known? It has one thread, or there is more to see */
bool sweep_has_none(const struct session *s, pid_t pid)
{
	char file[48], text[4096];
	const char *at = text;

	(void)snprintf(file, sizeof(file), "task/%d/children", pid);
	if (proc_read(pid, file, text, sizeof(text)) < 0)
		return false;
	for (char *end;; at = end) {
		pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			return true;
		if (!sweep_known(s, child))
			return false;
	}
}

/* the usual end of a step, at the price of two files: states that wait make no process */
static bool is_clean(const struct session *s, const struct state *fresh)
{
	return sweep_has_none(s, s->run.jail.pid) &&
	       (!fresh || sweep_has_none(s, fresh->host));
}

static bool is_born(const struct step *step)
{
	struct pollfd p = { .fd = step->state->channel.fd, .events = POLLIN };
	struct session *s = step->session;
	int wait_ms =
		step->kind == KIND_RUN && s->silent ? BIRTH_WAIT_MS : SLOW_BIRTH_WAIT_MS;

	if (step->state->host || p.fd < 0)
		return true;
	if (poll(&p, 1, wait_ms) > 0)
		step_receive_one(step->state);
	else
		s->silent = true;
	/* it may be forgotten by now */
	return step->state->host || step->state->channel.fd < 0;
}

/* a process that was asked for, and has not said who it is, would look like a stray */
static void await_births(struct session *s)
{
	for (struct step *step = s->steps, *next; step; step = next) {
		next = step->next;
		/* of a step whose state has gone there is nobody to wait for */
		if (step->state)
			(void)is_born(step);
	}
	for (struct step *step = s->ahead, *next; step; step = next) {
		next = step->next;
		if (!is_born(step))
			ahead_forget(step);
	}
}

int sweep_strays(struct session *s, const struct state *fresh)
{
	struct sweep w = { .s = s };
	struct err e;

	if (is_clean(s, fresh))
		return 0;
	await_births(s);
	for (int i = 0; i < ROUNDS; i++) {
		w.killed = 0;
		if (watch_each(s->run.jail.pid, visit, &w, &e) < 0)
			return -e.errnum;
		if (w.killed == 0)
			return w.strays;
	}
	return -EBUSY;
}

uint64_t sweep_bytes(const struct state *state, bool exact)
{
	char text[4096];
	unsigned long long all = 0, shared = 0;
	const char *clean, *dirty;

	if (exact) {
		if (proc_read(state->host, "smaps_rollup", text, sizeof(text)) <= 0)
			return 0;
		clean = posture_find(text, "Private_Clean:");
		dirty = posture_find(text, "Private_Dirty:");
		return (clean ? strtoull(clean, NULL, 10) * 1024 : 0) +
		       (dirty ? strtoull(dirty, NULL, 10) * 1024 : 0);
	}
	if (proc_read(state->host, "statm", text, sizeof(text)) <= 0 ||
	    sscanf(text, "%*u %llu %llu", &all, &shared) != 2 || shared > all)
		return 0;
	return (all - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

void sweep_oom(struct state *state, bool running)
{
	const char *score = running ? "1000" : state->session->serve->oom_base;

	if (state->oom >= 0) { /* the process's own, whatever its number is now */
		(void)!pwrite(state->oom, score, strlen(score), 0);
		return;
	}

	cleanup_fd int dir = proc_open(state->host);

	/* while it lives, its number is nobody else's, so the folder is its own */
	if (dir < 0 || has_ended(state->pidfd))
		return;
	/* kept, as one that waits hides it; nothing depends on it but who is taken first */
	state->oom = proc_open_at(dir, "oom_score_adj", O_WRONLY);
	if (state->oom >= 0)
		(void)io_write_text(state->oom, score);
}
