/* SPDX-License-Identifier: MIT */
/*
 * step.c - one step: code in, frames out, and an end to everything. See session.h.
 *
 * The stages of a step that does not end by itself:
 *	RUNNING -(limit)-> INTERRUPTED -(grace)-> KILLED -(grace)-> the jail is ended
 * At the task's own deadline there is no grace: nobody is going to read the rest.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/extract.h"
#include "agent/session.h"
#include "agent/units.h"

#define RESTART_MS 10000 /* from a step's death to the fresh interpreter's STARTED */

enum stage { STAGE_RUNNING, STAGE_INTERRUPTED, STAGE_KILLED };

struct run {
	enum stage stage;
	uint64_t deadline_ms; /* the stage's */
	uint64_t started_ms;
	bool done;
	struct wire_done end;
};

static void queue_code(struct session *s, const char *code, size_t length)
{
	while (length) {
		size_t piece = length < WIRE_PAYLOAD_MAX ? length : WIRE_PAYLOAD_MAX;

		session_queue(s, WIRE_CODE, code, piece);
		code += piece;
		length -= piece;
	}
	session_queue(s, WIRE_RUN, NULL, 0);
}

/* returns 0, or -EBADMSG for a frame that an interpreter must not send */
static int take_frame(struct session *s, struct step *step, struct run *run)
{
	struct wire_header h;
	const unsigned char *payload = wire_reader_take(&s->reader, &h);

	if (h.type == WIRE_STARTED) {
		s->fresh = true;
		/* it died before this step, or in it: either way the variables are gone
		 */
		step->facts.state = STATE_VARIABLES;
		return 0;
	}
	if (h.type < WIRE_OUT || h.type > WIRE_DONE)
		return -EBADMSG;
	if (h.step != s->step)
		return 0; /* a late word of an earlier step */
	switch ((enum wire_type)h.type) {
	case WIRE_OUT:
		clip_add(&step->out, payload, h.length);
		return 0;
	case WIRE_ERR:
		clip_add(&step->err, payload, h.length);
		return 0;
	case WIRE_RESULT:
		clip_add(&step->result, payload, h.length);
		return 0;
	case WIRE_TRACE:
		clip_add(&step->trace, payload, h.length);
		return 0;
	default:
		break;
	}
	if (h.length != sizeof(run->end))
		return -EBADMSG;
	memcpy(&run->end, payload, sizeof(run->end));
	run->done = true;
	return run->end.how <= WIRE_HOW_DIED ? 0 : -EBADMSG;
}

/* the stage's time is over: go to the next; false when only the jail's end is left */
static bool next_stage(struct session *s, struct run *run)
{
	if (run->stage == STAGE_KILLED)
		return false;
	session_queue(s, run->stage == STAGE_RUNNING ? WIRE_INTERRUPT : WIRE_KILL, NULL,
		      0);
	run->stage++;
	run->deadline_ms = units_now_ms() + SESSION_GRACE_MS;
	return true;
}

/*
 * Until DONE, the jail's end, or the last stage's. Returns 1 when the step has ended and
 * the jail lives, 0 when the jail has to go (or is gone), -EINTR.
 */
static int run_to_end(struct session *s, struct step *step, struct run *run)
{
	for (;;) {
		uint64_t deadline_ms = run->deadline_ms;

		if (s->plan->deadline_ms < deadline_ms)
			deadline_ms = s->plan->deadline_ms;

		int event = session_pump(s, deadline_ms);

		if (event < 0)
			return event;
		if (event == SESSION_GONE)
			return 0;
		if (event == SESSION_FRAME && take_frame(s, step, run) < 0) {
			s->breach = true;
			return 0;
		}
		if (run->done)
			return 1;
		if (units_left_ms(s->plan->deadline_ms) == 0) {
			step->budget = true;
			return 0;
		}
		if (units_left_ms(run->deadline_ms) == 0 && !next_stage(s, run))
			return 0;
	}
}

static void judge_done(const struct run *run, struct verdict_facts *f)
{
	static const enum verdict by_how[] = {
		[WIRE_HOW_COMPLETED] = VERDICT_COMPLETED,
		[WIRE_HOW_EXCEPTION] = VERDICT_EXCEPTION,
		[WIRE_HOW_EXIT] = VERDICT_EXITED,
	};

	if (run->end.how != WIRE_HOW_DIED) {
		f->verdict = by_how[run->end.how];
		f->code = (int)(run->end.code & 0xff);
		f->soft = true;
	} else if (WIFSIGNALED((int)run->end.code)) {
		f->verdict = VERDICT_SIGNALED;
		f->signal = WTERMSIG((int)run->end.code);
		f->state = STATE_VARIABLES;
	} else {
		f->verdict = VERDICT_EXITED;
		f->code = WEXITSTATUS((int)run->end.code);
		f->state = STATE_VARIABLES;
	}
	/* noted before the signal was sent: a timeout is never taken for anything else */
	if (run->stage != STAGE_RUNNING)
		f->verdict = VERDICT_WALL_TIMEOUT;
}

/* after a death inside the jail: wait for the fresh interpreter; 1, 0 (jail lost), -EINTR
 */
static int await_restart(struct session *s, struct step *step, struct run *run)
{
	uint64_t deadline_ms = units_now_ms() + RESTART_MS;

	if (s->plan->deadline_ms < deadline_ms)
		deadline_ms = s->plan->deadline_ms;
	while (!s->fresh) {
		int event = session_pump(s, deadline_ms);

		if (event < 0)
			return event;
		if (event == SESSION_FRAME && take_frame(s, step, run) < 0)
			return 0;
		if (event == SESSION_GONE || units_left_ms(deadline_ms) == 0)
			return 0;
	}
	return 1;
}

/* end the jail, take its reason unless we have one, and make a new one where time is left
 */
static int replace_jail(struct session *s, struct step *step, const struct run *run,
			struct err *e)
{
	bool ours = run->stage != STAGE_RUNNING || step->budget;
	struct verdict_facts facts = step->facts;

	session_end_jail(s, ours || s->breach ? 0 : RESTART_MS / 2, &facts);
	if (ours) {
		facts.verdict = VERDICT_WALL_TIMEOUT;
		facts.soft = false;
	} else if (s->breach) {
		facts.verdict = VERDICT_CANCELLED;
	} else if (run->done && step->facts.verdict != VERDICT_COMPLETED &&
		   (facts.verdict == VERDICT_COMPLETED ||
		    facts.verdict == VERDICT_EXITED)) {
		facts = step->facts; /* what the step itself did says more */
	}
	facts.state = STATE_ALL;
	step->facts = facts;
	if (units_left_ms(s->plan->deadline_ms) == 0)
		step->budget = true;
	s->breach = false;
	s->fresh = false;
	return step->budget ? 0 : session_start_jail(s, e);
}

static void clear_step(struct step *step, uint64_t limit_ms)
{
	clip_clear(&step->out);
	clip_clear(&step->err);
	clip_clear(&step->trace);
	clip_clear(&step->result);
	step->facts = (struct verdict_facts){ .limit_ms = limit_ms };
	step->cpu_ms = 0;
	step->max_rss_bytes = 0;
	step->strays = 0;
	step->budget = false;
}

int session_step(struct session *s, const char *code, size_t length, struct step *step,
		 struct err *e)
{
	uint64_t now_ms = units_now_ms();
	struct run run = {
		.started_ms = now_ms,
		.deadline_ms = now_ms + s->plan->step_ms,
	};

	clear_step(step, s->plan->step_ms);
	s->step++;
	s->fresh = false;
	queue_code(s, code, length);
	if (s->to_send.failed)
		return text_check(&s->to_send, "the step's code", e);

	int r = run_to_end(s, step, &run);

	step->wall_ms = units_now_ms() - run.started_ms;
	if (r == 1) {
		judge_done(&run, &step->facts);
		step->cpu_ms = run.end.cpu_us / 1000;
		step->max_rss_bytes = run.end.max_rss_bytes;
		step->strays = run.end.strays;
		if (run.end.how == WIRE_HOW_DIED)
			r = await_restart(s, step, &run);
	}
	if (r == 0)
		r = replace_jail(s, step, &run, e);
	if (r == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return r < 0 ? r : 0;
}
