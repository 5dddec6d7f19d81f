/* SPDX-License-Identifier: MIT */
/*
 * session_done.c - what became of a step: its verdict, and the state it may have become
 *
 * Theory of operation
 *   A step has ended when it says DONE and rests (session_park.c), or when init tells
 *   that its process is gone. Its pipes are emptied of what they held then, and no more:
 *   who else holds them keeps nobody waiting. outcome_judge() finds the verdict, from the
 *   same evidence as a run's. A process that lives is a state from now on, and its branch
 *   is at it; if it has died, the branch stays where it was.
 *   What the step left running is killed first, which may take several turns
 *   (session_sweep.c): the answer counts it. Then states go that nobody can come back to.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "jail/serve/session/session.h"

#define EXITS_PAUSE_MS 10 /* pause after the end of a process that serve does not know */

/* Why did a step fail? The leaf and the file systems tell. */
static void look_for_reasons(struct session *s, struct outcome *o)
{
	struct cgroup_usage now = s->counted;

	o->full = tmpfs_usage_full(&s->tmpfs);
	if (!s->limited)
		return;
	o->cgroup = true;
	cgroup_usage(&s->cgroup, NULL, &now);
	cgroup_usage(&s->cgroup, &s->counted, &o->usage);
	/* the leaf counts the CPU time of the whole jail, not of this step */
	o->usage.user_us = o->usage.system_us = NO_LIMIT;
	s->counted = now;
}

static void judge(struct step *step, struct judgement *j)
{
	static struct outcome o;
	struct session *s = step->session;
	/* one that is barred was ended for what it left, and its word holds */
	bool said = step->have_done && (!step->have_exit || step->done.barred);

	o = (struct outcome){ .started = true, .killed = step->killed };
	o.have_exit = step->have_exit || step->have_done;
	o.exit.wstatus = step->exit.wstatus;
	o.exit.max_rss_bytes = step_memory(step);
	o.exit.user_us = step->cpu_used_us = limit_cpu_us(step);
	o.met = said ? step->done.met : 0;
	if (said && step->done.how == WIRE_HOW_EXCEPTION)
		o.exit.wstatus = 1 << 8; /* Python's exit status then */
	else if (said)
		o.exit.wstatus = (step->done.code & 0xff) << 8;
	if (o.exit.wstatus != 0 && s->phase == PHASE_OPEN)
		look_for_reasons(s, &o);
	outcome_judge(&o, s->serve->plan, j);
	/* the step had reached a limit, whatever it did with the SIGINT that followed */
	if (step->interrupted)
		j->verdict = step->killed;
	else if (said && step->done.how == WIRE_HOW_EXCEPTION)
		j->verdict = VERDICT_EXCEPTION;
	outcome_limits(&o, s->serve->plan, j);
}

/* Kill its process; it is known until init has reaped it. */
static void state_end(struct state *state)
{
	states_end(&state->session->states, state);
	park_end(state);
	state_hang_up(state);
	/* End of file alone would end the process. It stays in the table until init has
	 * reaped it. */
	limit_signal(state, SIGKILL);
}

bool done_drop(struct session *s)
{
	struct state *state = states_beyond(&s->states, 0);
	uint32_t *more =
		state ? realloc(s->dropped, (s->dropped_count + 1) * sizeof(*s->dropped))
		      : NULL;

	if (more) {
		s->dropped = more;
		s->dropped[s->dropped_count++] = state->number;
	}
	if (state)
		state_end(state);
	return state != NULL;
}

static void count_next(struct session *s);

/* where the value is not known, the upper bound of before stays */
static void take_bytes(struct session *s, void *owner, const struct spawn_answer *a)
{
	struct state *state = states_find(&s->states, (uint32_t)(uintptr_t)owner);

	s->counting = false;
	if (s->phase != PHASE_OPEN)
		return;
	if (state && a->errnum == 0)
		state->bytes = a->bytes;
	if (state)
		state->counted = true;
	count_next(s);
}

/* Ask for the memory of each kept state in turn. If they have more than --keep-memory,
 * the oldest goes. What it shared with others is theirs then: they are counted again when
 * its process is gone. */
static void count_next(struct session *s)
{
	struct states *t = &s->states;

	for (unsigned int i = 0; i < t->count; i++)
		if (states_is_snapshot(t, t->state[i]) && !t->state[i]->counted) {
			s->counting = true;
			measure_ask(s, SPAWN_OWN, t->state[i], take_bytes,
				    (void *)(uintptr_t)t->state[i]->number);
			return;
		}
	if (states_bytes(t) <= s->serve->plan->limit[LIMIT_KEEP_BYTES] || !done_drop(s))
		return;
	for (unsigned int i = 0; i < t->count; i++)
		t->state[i]->bytes = sweep_bytes(t->state[i]);
}

void done_prune(struct session *s)
{
	const struct plan *p = s->serve->plan;
	struct states *t = &s->states;
	struct state *state;

	while ((state = states_unreachable(t)))
		state_end(state);
	while (states_beyond(t, p->limit[LIMIT_KEEP_STATES]))
		(void)done_drop(s);
	if (p->limit[LIMIT_KEEP_BYTES] == NO_LIMIT ||
	    states_bytes(t) <= p->limit[LIMIT_KEEP_BYTES])
		return;
	/* pages that a branch's newest state has changed since then belong to kept states
	 * alone */
	for (unsigned int i = 0; i < t->count; i++)
		t->state[i]->counted = false;
	if (!s->counting)
		count_next(s);
}

/* Make the step's process a state. Return: false where --keep-states leaves no place for
 * it. */
static bool become_state(struct step *step)
{
	struct session *s = step->session;
	struct branch *b = states_branch(&s->states, step->branch);
	struct state *state = step->state;

	state->parent = b->head;
	if (event_loop_listen(&s->serve->loop, &state->channel, EPOLLIN) < 0 ||
	    states_add(&s->states, state) < 0)
		return false;
	state->step = NULL;
	b->head = state->number;
	b->lost = false;
	return true;
}

/* Why is a step that has said DONE no state? */
static const char *why_ended(const struct step *step)
{
	if (step->done.barred & WIRE_MET_FILES)
		return "no step can follow it: the hard limit of open files that it has set is too low (RLIMIT_NOFILE)";
	if (step->done.barred)
		return "no step can follow it: its threads, or a limit that it has set, leave no room for another process (--pids)";
	return "its process ended, and did not wait for the next step";
}

static void done_file(struct step *step)
{
	struct session *s = step->session;
	bool late = step->killed == VERDICT_WALL_TIMEOUT;
	char json[64];
	int n;

	step_empty(step);
	if (!step->have_done || step->filed.errnum) {
		step_refuse(
			step,
			(struct refusal){ .kind = late              ? REFUSAL_LIMIT
						  : step->have_done ? REFUSAL_FILE
								    : REFUSAL_FAILED,
					  .limit = late ? "wall-time" : NULL },
			0,
			late               ? "it took longer than --wall-time"
			: !step->have_done ? "the process that did it has ended"
			: step->filed.errnum == EFBIG
				? "File too large: above --work-size, or the bound that was asked for"
				: strerror((int)step->filed.errnum));
		return;
	}
	n = snprintf(json, sizeof(json), "{\"bytes\":%llu}",
		     (unsigned long long)step->filed.bytes);
	serve_put(s->serve, step->kind == KIND_PUT ? WIRE_STATE : WIRE_END, s->number,
		  step->branch, json, (size_t)n);
	step_discard(step);
}

/* After the answer: the step's process is a state now. */
static void settle(struct step *step)
{
	struct state *state = step->state;

	state->waited_us += limit_waited_us(step);
	state->strays += step->strays > 0 ? (unsigned int)step->strays : 0;
	/* ONCE's jail ends right behind it */
	if (!state->session->once.is) {
		spawn_score(state, false);
		state->bytes = sweep_bytes(state);
	}
	step_forget(step);
}

/* Send DONE, the last frame of a step; free its state if the process is gone. */
static void tell(struct step *step, const struct judgement *j, bool lives,
		 const char *reason)
{
	struct session *s = step->session;
	bool open = s->phase == PHASE_OPEN;
	int strays = step->strays;

	say_done(step, j, lives, reason);
	/* send now, so that the client need not wait for what follows; an error comes
	 * again at the end of the turn */
	(void)queue_send(&s->serve->queue, s->serve->client.fd);
	if (lives)
		settle(step);
	else
		step_discard(step);
	if (!open)
		return;
	park_look(s);
	if (strays < 0)
		session_end(s, "processes that a step left behind cannot be ended");
	else if (s->once.is)
		session_end(s, "its one step has ended");
	else
		done_prune(s);
}

void done_step(struct step *step)
{
	struct session *s = step->session;
	const char *reason = s->phase == PHASE_OPEN ? NULL : s->reason;
	struct judgement j;
	bool lives = step->have_done && !step->have_exit && s->phase == PHASE_OPEN;

	if (step->kind != KIND_RUN) {
		done_file(step);
		return;
	}
	if (s->phase == PHASE_OPEN && !step->swept) {
		sweep_step(step);
		return;
	}
	if (lives && step->done.barred) {
		/* the next step needs its threads' places: end_of_step() goes on */
		limit_kill(step, NOT_KILLED);
		return;
	}
	/* the answer also says what the state that the branch goes back to shares */
	if (s->phase == PHASE_OPEN && (!lives || step->interrupted) && shared_ask(step))
		return;
	step_empty(step);
	judge(step, &j);
	if (lives && !become_state(step)) {
		reason = "there is no room for another state (--keep-states)";
		lives = false;
		step->have_shares = true;
		step->shares = SPAWN_SHARES_MEMORY | SPAWN_SHARES_OFFSETS;
		limit_signal(step->state, SIGKILL);
	}
	if (step->sent_fds && s->phase == PHASE_OPEN)
		reason = "it sent file descriptors over its channel";
	if (!lives && step->have_done && !reason)
		reason = why_ended(step);
	tell(step, &j, lives, reason);
}

/* the channel of a process that has ended may still hold packets of it */
static void hear_last_words(struct session *s, pid_t pid)
{
	struct state *state = sweep_of_pid(s, pid);

	if (!state)
		step_hear_births(s); /* STARTED, which tells the pid */
	else
		step_drain(state); /* DONE; or of a state's snapshot, which replaces it */
}

static void end_of_step(struct step *step, const struct wire_exit *exit)
{
	step->exit = *exit;
	step->have_exit = true;
	/* the pid may be another process's now */
	step->state->pid = -1;
	step->state->told = 0;
	limit_end(step);
	done_step(step);
}

/* End a step whose pid was not known. Return: false where none of them can be this
 * process. */
static bool end_unseen(struct session *s, pid_t pid, const struct wire_exit *exit)
{
	bool found = false;

	for (struct step *step = s->steps, *next; step && s->phase == PHASE_OPEN;
	     step = next) {
		next = step->next;
		if (step->state->told != pid)
			continue;
		found = true;
		step_drain(step->state);
		/* by now the step may have another process, or be forgotten */
		if (step->state->told == pid && step->state->step == step)
			end_of_step(step, exit);
	}
	return found;
}

void done_pause(struct session *s)
{
	event_loop_set(&s->serve->loop, &s->exits, clock_now_ms() + EXITS_PAUSE_MS);
}

void done_lost(struct state *state, const char *how)
{
	struct session *s = state->session;

	if (state->number == 0) {
		session_end(s, "the first interpreter has ended (%s)%s", how,
			    s->diagnostic);
		return;
	}
	bool ending = state->ending;

	if (!ending)
		states_lose(&s->states, state);
	states_remove(&s->states, state);
	state_free(state);
	if (ending && s->phase == PHASE_OPEN)
		done_prune(s);
}

void done_process(struct session *s, pid_t pid, const struct wire_exit *exit)
{
	struct state *state;
	char how[32] = "";

	hear_last_words(s, pid);
	if (s->phase != PHASE_OPEN)
		return;
	if (WIFSTOPPED(exit->wstatus) || WIFCONTINUED(exit->wstatus)) {
		park_told(s, pid, WIFSTOPPED(exit->wstatus));
		return;
	}
	state = sweep_of_pid(s, pid);
	if (state && state->step) {
		end_of_step(state->step, exit);
		return;
	}
	if (!state) {
		if (!end_unseen(s, pid, exit)) /* a stray */
			done_pause(s);
		return;
	}
	if (state->number == 0)
		(void)snprintf(how, sizeof(how), "wait status %#x", exit->wstatus);
	done_lost(state, how);
}
