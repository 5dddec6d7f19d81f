/* SPDX-License-Identifier: MIT */
/*
 * step.c - one step: code in, frames out, and an end to everything. See session.h.
 *
 * The step's limits are stepjail's to keep: interrupted at the limit, killed a grace
 * later. Here is a backstop behind them, for a stepjail that does not, and the task's own
 * deadline, at which there is no grace: nobody is going to read the rest.
 */
#include <errno.h>
#include <string.h>

#include "agent/base/units.h"
#include "agent/model/extract.h"
#include "agent/session/done.h"
#include "agent/session/session.h"
#include "init/serve_wire.h"

#define BACKSTOP_MS 10000 /* behind the limit and the grace */
#define GOODBYE_MS 1000

/* how a step went on until its end, or the session's */
enum ending {
	ENDING_DONE,    /* stepjail said how */
	ENDING_REFUSED, /* it was not run */
	ENDING_LOST,    /* for the want of the variables that it was to begin with */
	ENDING_CLOSED,  /* stepjail said that the session is gone */
	ENDING_GONE,    /* stepjail is gone, or makes no sense */
	ENDING_LATE,    /* stepjail kept no limit */
	ENDING_BUDGET,  /* the task's own deadline */
};

#define PIECE (WIRE_PAYLOAD_MAX - sizeof(struct serve_at))
#define PIECE_ONCE (WIRE_PAYLOAD_MAX - sizeof(struct serve_limits))

static void queue_pieces(struct session *s, uint32_t id, uint32_t branch,
			 const char *code, size_t length)
{
	const struct serve_at at = { branch };

	while (length) {
		size_t piece = length < PIECE ? length : PIECE;

		serve_queue(&s->serve, WIRE_CODE, id, &at, sizeof(at), code, piece);
		code += piece;
		length -= piece;
	}
}

static void queue_code(struct session *s, const char *code, size_t length)
{
	const struct serve_limits limits = {
		.branch = s->branch,
		.wall_ms = s->plan->serve.step_ms,
		.cpu_ms = s->cpu_ms,
	};

	queue_pieces(s, s->id, s->branch, code, length);
	serve_queue(&s->serve, WIRE_RUN, s->id, &limits, sizeof(limits), NULL, 0);
	/* nobody is there to answer a question: input() is to fail, and not to hang */
	session_send(s, WIRE_STDIN, NULL, 0);
}

void session_send_once(struct session *s, uint32_t id, const char *code, size_t length)
{
	size_t first = length < PIECE_ONCE ? length : PIECE_ONCE;
	const struct serve_limits limits = {
		.awaits = (uint32_t)(length - first),
		.wall_ms = s->plan->serve.step_ms,
		.cpu_ms = s->cpu_ms,
	};

	serve_queue(&s->serve, WIRE_ONCE, id, &limits, sizeof(limits), code, first);
	queue_pieces(s, id, 0, code + first, length - first);
}

static struct clip *clip_of(struct step *step, uint16_t type)
{
	switch ((enum wire_type)type) {
	case WIRE_OUT:
		return &step->out;
	case WIRE_ERR:
		return &step->err;
	case WIRE_RESULT:
		return &step->result;
	case WIRE_TRACE:
		return &step->trace;
	default:
		return NULL;
	}
}

/* true when it ends the step */
static bool take_frame(struct session *s, struct step *step,
		       const struct session_frame *f, enum ending *end)
{
	struct clip *clip = clip_of(step, f->type);

	if ((f->type == WIRE_MEDIA || f->type == WIRE_PIECE) && f->branch == s->branch) {
		const struct media_item *item =
			media_take(&s->media, f->type, f->bytes, f->length);

		if (item && media_is_said(item) && s->plan->heard)
			s->plan->heard(s->plan->heard_arg, WIRE_MEDIA,
				       text_string(&item->bytes), item->bytes.length);
	} else if (clip && f->branch == s->branch) {
		clip_add(clip, f->bytes, f->length);
		if (s->plan->heard)
			s->plan->heard(s->plan->heard_arg, f->type, f->bytes, f->length);
	} else if (f->type == WIRE_OPENED) { /* of ONCE, whose step begins with it */
		session_send(s, WIRE_STDIN, NULL, 0);
	} else if (f->type == WIRE_DONE && f->branch == s->branch) {
		s->serve.breach = !done_read(f->bytes, f->length, step);
		*end = s->serve.breach ? ENDING_GONE : ENDING_DONE;
		return true;
	} else if (f->type == WIRE_REFUSED || f->type == WIRE_CLOSED) {
		*end = f->type == WIRE_CLOSED ? ENDING_CLOSED
		       : done_says(f->bytes, f->length, "kind", "no-state")
			       ? ENDING_LOST
			       : ENDING_REFUSED;
		done_words(f->bytes, f->length, s->reason, sizeof(s->reason));
		return true;
	}
	return false;
}

/* Ctrl-C at a prompt's step: first an interrupt, then no more patience */
static bool pass_on_interrupt(struct session *s, unsigned int *count)
{
	if (!s->plan->interactive || s->serve.stop->signal != SIGINT)
		return false;
	s->serve.stop->signal = 0;
	session_send(s, (*count)++ ? WIRE_KILL : WIRE_INTERRUPT, NULL, 0);
	return true;
}

uint64_t session_late_ms(const struct session *s)
{
	return units_now_ms() + s->plan->serve.step_ms + SERVE_GRACE_MS + BACKSTOP_MS;
}

/* returns 0 with the ending, or -EINTR */
static int run_to_end(struct session *s, struct step *step, enum ending *end)
{
	uint64_t late_ms = session_late_ms(s);
	unsigned int interrupts = 0;
	struct session_frame f;

	for (;;) {
		uint64_t deadline_ms =
			s->plan->deadline_ms < late_ms ? s->plan->deadline_ms : late_ms;
		int event = session_next(s, deadline_ms, &f);

		if (event == -EINTR && !pass_on_interrupt(s, &interrupts))
			return event;
		if (event == SERVE_FRAME && take_frame(s, step, &f, end))
			return 0;
		*end = ENDING_GONE;
		if (event == SERVE_GONE)
			return 0;
		*end = ENDING_BUDGET;
		if (units_left_ms(s->plan->deadline_ms) == 0)
			return 0;
		*end = ENDING_LATE;
		if (units_left_ms(late_ms) == 0)
			return 0;
	}
}

/* the facts of an end that stepjail did not tell */
static void judge(struct session *s, struct step *step, enum ending end)
{
	struct verdict_facts *f = &step->facts;

	if (end == ENDING_DONE)
		return;
	step->budget = end == ENDING_BUDGET;
	f->verdict = end == ENDING_LATE || end == ENDING_BUDGET ? VERDICT_WALL_TIMEOUT
								: VERDICT_LAUNCHER_ERROR;
	/* at a prompt a person sees why, and what can be gone back to */
	f->state = end == ENDING_REFUSED || (end == ENDING_LOST && s->plan->interactive)
			   ? STATE_KEPT
			   : STATE_LOST;
	memcpy(f->reason, s->reason, sizeof(f->reason));
}

/* ready for the next step: a new session where this one is gone, in a new stepjail where
 * that can no longer be believed */
static int mend(struct session *s, struct step *step, enum ending end, struct err *e)
{
	bool lost = step->facts.state == STATE_LOST;

	if (units_left_ms(s->plan->deadline_ms) == 0)
		step->budget = true;
	/* at the task's end its files may still be asked for, once the step is killed */
	if (end >= ENDING_GONE && end != ENDING_BUDGET) {
		serve_end(&s->serve,
			  end == ENDING_GONE && !s->serve.breach ? GOODBYE_MS : 0);
		s->open = false;
	}
	if (s->plan->stateless) {
		if (s->open)
			session_send(s, WIRE_CLOSE, NULL, 0);
		s->open = false;
		step->facts.state = STATE_UNKEPT;
	}
	if (step->budget || (!lost && (s->open || s->plan->stateless)))
		return 0;
	return session_renew(s, e);
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
	uint64_t started_ms = units_now_ms();
	enum ending end = ENDING_GONE;
	int r;

	clear_step(step, s->plan->serve.step_ms);
	media_clear(&s->media);
	step->media = &s->media;
	s->reason[0] = '\0';
	if (s->plan->stateless) {
		/* a session of the step's own */
		s->jails++;
		session_send_once(s, ++s->id, code, length);
	} else {
		queue_code(s, code, length);
	}
	if (s->serve.to_send.failed)
		return text_check(&s->serve.to_send, "the step's code", e);
	r = run_to_end(s, step, &end);
	if (r == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	step->wall_ms = units_now_ms() - started_ms;
	judge(s, step, end);
	/* the task's time was up before the step's */
	if (step->wall_ms < step->facts.limit_ms)
		step->facts.limit_ms = step->wall_ms;
	if (end == ENDING_REFUSED && s->plan->stateless)
		return serve_failed(&s->serve, s->reason, "stepjail gave no reason", e);
	if (step->facts.headed)
		s->state = step->facts.head;
	return mend(s, step, end, e);
}
