/* SPDX-License-Identifier: MIT */
/*
 * step.c - one step: code in, frames out, and an end to everything. See session.h.
 *
 * The step's limits are stepjail's to keep: interrupted at the limit, killed a grace
 * later. Here is a backstop behind them, for a stepjail that does not, and the task's own
 * deadline, at which there is no grace: nobody is going to read the rest.
 */
#include <stdio.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/session/report.h"
#include "init/serve_wire.h"

#define BACKSTOP_MS 10000 /* behind the limit and the grace */
#define LAST_MS 1000      /* for the end of a step that a signal ended */

static void queue_code(struct session *s, const char *code, size_t length)
{
	const struct serve_limits limits = {
		.branch = s->branch,
		.wall_ms = s->plan->step_ms,
		.cpu_ms = s->cpu_ms,
	};

	session_send_pieces(s, WIRE_CODE, s->id, s->branch, code, length);
	serve_queue(&s->serve, WIRE_RUN, s->id, &limits, sizeof(limits), NULL, 0);
	/* where nobody is there to answer, input() is to fail, and not to hang */
	if (s->serve.typed_fd < 0)
		session_send(s, WIRE_STDIN, NULL, 0);
}

void session_send_once(struct session *s, uint32_t id, const char *code, size_t length)
{
	const struct serve_limits limits = {
		.awaits = (uint32_t)length,
		.wall_ms = s->plan->step_ms,
		.cpu_ms = s->cpu_ms,
	};

	serve_queue(&s->serve, WIRE_ONCE, id, &limits, sizeof(limits), NULL, 0);
	session_send_pieces(s, WIRE_CODE, id, 0, code, length);
}

_Static_assert(WIRE_TRACE == WIRE_OUT + 3, "streams follow each other");

/* The step was not run, or the session is gone: 1, or -errno where no jail starts. What
 * had been lost before, a person at a prompt sees, who can go back. */
static int take_refusal(struct session *s, struct step *step,
			const struct session_frame *f, struct err *e)
{
	bool refused = f->type == WIRE_REFUSED;

	if (refused && s->plan->stateless)
		return serve_failed(&s->serve, s->reason, "stepjail gave no reason", e);
	if (refused &&
	    (s->plan->interactive || !report_says(f->json, "kind", "no-state")))
		step->facts.state = STATE_KEPT;
	memcpy(step->facts.reason, s->reason, sizeof(step->facts.reason));
	return 1;
}

static void take_media(struct session *s, const struct session_frame *f)
{
	const struct media_item *item =
		media_take(&s->media, f->type, f->bytes, f->length);

	if (item && media_is_said(item) && s->plan->heard)
		s->plan->heard(s->plan->heard_arg, WIRE_MEDIA, text_string(&item->bytes),
			       item->bytes.length);
}

/* 1 when it ends the step, 0, or -errno */
static int take_frame(struct session *s, struct step *step, const struct session_frame *f,
		      struct err *e)
{
	if (f->type == WIRE_REFUSED || f->type == WIRE_CLOSED)
		return take_refusal(s, step, f, e);
	if (f->type == WIRE_OPENED) { /* of ONCE, whose step begins with it */
		session_send(s, WIRE_STDIN, NULL, 0);
		return session_fits(f, e);
	}
	if (f->branch != s->branch)
		return 0;
	if (f->type == WIRE_MEDIA || f->type == WIRE_PIECE)
		take_media(s, f);
	if (f->type >= WIRE_OUT && f->type <= WIRE_TRACE) {
		clip_add(&step->streams[f->type - WIRE_OUT], f->bytes, f->length);
		if (s->plan->heard)
			s->plan->heard(s->plan->heard_arg, f->type, f->bytes, f->length);
	}
	if (f->type != WIRE_DONE)
		return 0;
	s->serve.breach = !report_step(f->json, step);
	s->done = cJSON_Duplicate(f->json, true);
	return !s->serve.breach;
}

uint64_t session_late_ms(const struct session *s)
{
	return units_now_ms() + s->plan->step_ms + SERVE_GRACE_MS + BACKSTOP_MS;
}

/* a line for the step's stdin; Ctrl-D is its end */
static void pass_typed(struct session *s)
{
	char line[4096];
	ssize_t n = read(s->serve.typed_fd, line, sizeof(line));

	session_send(s, WIRE_STDIN, line, n > 0 ? (size_t)n : 0);
	if (n <= 0)
		s->serve.typed_fd = -1;
	else if (s->plan->heard)
		s->plan->heard(s->plan->heard_arg, WIRE_STDIN, line, (size_t)n);
}

/* 0 with the step's facts, -EINTR, or -errno where no jail starts */
static int run_to_end(struct session *s, struct step *step, struct err *e)
{
	uint64_t late_ms = session_late_ms(s);
	unsigned int interrupts = 0;
	struct session_frame f = { 0 };
	struct err unheard;

	for (;;) {
		uint64_t deadline_ms =
			s->plan->deadline_ms < late_ms ? s->plan->deadline_ms : late_ms;
		int event = session_next(s, deadline_ms, &f);
		int r = event == SERVE_FRAME ? take_frame(s, step, &f, e) : 0;

		if (r)
			return r < 0 ? r : 0;
		if (event == SERVE_TYPED)
			pass_typed(s);
		if (session_interrupted(s, event)) /* first asked, then ended */
			session_send(s, interrupts++ ? WIRE_KILL : WIRE_INTERRUPT, NULL,
				     0);
		else if (event == -EINTR)
			return session_failed(s, event, &f, e);
		if (event == SERVE_GONE || s->serve.breach) {
			(void)session_failed(s, SERVE_GONE, &f, &unheard);
			return 0;
		}
		step->budget = units_left_ms(s->plan->deadline_ms) == 0;
		if (!step->budget && units_left_ms(late_ms))
			continue;
		step->facts.verdict = VERDICT_WALL_TIMEOUT;
		/* at the task's end its files may still be asked for, once the step is
		 * killed; a stepjail that kept no limit is believed nothing more */
		if (!step->budget)
			(void)session_failed(s, SERVE_QUIET, &f, &unheard);
		return 0;
	}
}

/* of an end that stepjail does not tell, the worst is true */
static void clear_step(struct step *step, uint64_t limit_ms)
{
	memset(step, 0, sizeof(*step));
	for (int i = 0; i < 4; i++)
		clip_clear(&step->streams[i]);
	step->facts = (struct verdict_facts){ .verdict = VERDICT_LAUNCHER_ERROR,
					      .state = STATE_LOST,
					      .code = -1,
					      .limit_ms = limit_ms };
}

/* the clocks are the agent's own options */
static void name_limit(const struct session *s, struct step *step)
{
	struct verdict_facts *f = &step->facts;
	uint64_t ms = s->plan->step_ms;
	bool wall = f->verdict == VERDICT_WALL_TIMEOUT;
	const char *option = wall && step->budget ? "--wall-time of the task"
			     : f->verdict == VERDICT_CPU_TIMEOUT && s->cpu_of_task
				     ? "--total-cpu-time of the task"
				     : NULL;

	if (option)
		(void)snprintf(f->limit, sizeof(f->limit), "%s", option);
	else if (wall)
		(void)snprintf(f->limit, sizeof(f->limit), "--step-time %" PRIu64 "%s",
			       ms % 1000 ? ms : ms / 1000, ms % 1000 ? "ms" : "s");
}

/* After a signal the step is killed. Its last bytes, and how it ended, are waited for,
 * but not long, nor beyond another signal. */
static void end_by_signal(struct session *s, struct step *step)
{
	struct stop *stop = s->serve.stop;
	int signal = stop->signal, r = 0;
	uint64_t deadline_ms = units_now_ms() + LAST_MS;
	struct session_frame f;
	struct err unheard;

	stop->signal = 0;
	session_send(s, WIRE_KILL, NULL, 0);
	while (r == 0 && session_next(s, deadline_ms, &f) == SERVE_FRAME)
		r = take_frame(s, step, &f, &unheard);
	stop->signal = signal;
	if (r <= 0 || f.type != WIRE_DONE)
		step->facts.verdict = VERDICT_CANCELLED;
	/* else it may have ended by itself, just then */
	step->stopped = step->facts.verdict == VERDICT_CANCELLED;
}

int session_step(struct session *s, const char *code, size_t length, struct step *step,
		 struct err *e)
{
	uint64_t started_ms = units_now_ms();

	clear_step(step, s->plan->step_ms);
	media_clear(&s->media);
	step->media = &s->media;
	cJSON_Delete(s->done);
	s->done = NULL;
	s->reason[0] = '\0';
	if (s->plan->stateless) {
		/* a session of the step's own */
		s->jails++;
		session_send_once(s, ++s->id, code, length);
	} else {
		queue_code(s, code, length);
	}

	int r = text_check(&s->serve.to_send, "the step's code", e);

	if (r == 0)
		r = run_to_end(s, step, e);
	s->serve.typed_fd = -1;
	if (r == -EINTR)
		end_by_signal(s, step);
	else if (r < 0)
		memcpy(step->facts.reason, s->reason, sizeof(step->facts.reason));
	step->wall_ms = units_now_ms() - started_ms;
	step->done = s->done;
	/* the task's time was up before the step's */
	if (step->wall_ms < step->facts.limit_ms)
		step->facts.limit_ms = step->wall_ms;
	if (step->facts.headed)
		s->state = step->facts.head;

	bool lost = step->facts.state == STATE_LOST;

	if (units_left_ms(s->plan->deadline_ms) == 0)
		step->budget = true;
	if (s->plan->stateless)
		step->facts.state = STATE_UNKEPT;
	name_limit(s, step);
	/* ready for the next step: a new session where this one is gone */
	if (r < 0 || step->budget || (!lost && (s->open || s->plan->stateless)))
		return r;
	return session_renew(s, e);
}

int session_peek(struct session *s, const char *code, size_t length, struct step *step,
		 struct err *e)
{
	const uint32_t branch = s->branch, state = s->state;
	struct media_list media = s->media;
	int r = session_change(s, SESSION_BRANCH, SESSION_PEEK, state, e);

	if (r < 0)
		return r;
	s->media = (struct media_list){ 0 };
	s->branch = SESSION_PEEK;
	r = session_step(s, code, length, step, e);
	media_clear(&s->media);
	s->media = media;
	if (r < 0 || step->facts.state == STATE_LOST)
		return r;
	s->branch = branch;
	s->state = state;
	return session_change(s, SESSION_DROP, SESSION_PEEK, 0, e);
}
