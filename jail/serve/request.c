/* SPDX-License-Identifier: MIT */
/*
 * request.c - what the client of `serve` asks for: see init/serve_wire.h
 *
 * One table: what each frame must look like, and who does it. Whatever is wrong with one
 * is REFUSED with a line, and changes nothing.
 */
#include <string.h>

#include "jail/serve/request.h"

static int check_new(struct request *q, struct err *e)
{
	const struct plan *p = q->serve->plan;

	if (q->number == 0)
		return refusal_say(&q->why, e, REFUSAL_BAD_FRAME,
				   "a session has a number that is not 0");
	if (q->session)
		return refusal_say(
			&q->why, e, REFUSAL_EXISTS,
			"session %u is there already: CLOSE it, or choose another number",
			q->number);
	if (q->serve->sessions < p->limit[LIMIT_SESSIONS])
		return 0;
	q->why.limit = "sessions";
	return refusal_say(
		&q->why, e, REFUSAL_LIMIT,
		"%llu sessions are open: CLOSE one, or start serve with more than --sessions %llu",
		(unsigned long long)q->serve->sessions,
		(unsigned long long)p->limit[LIMIT_SESSIONS]);
}

/* what the client asks for, or the policy's */
static int choose_limit(struct request *q, uint64_t asked, uint64_t most,
			const char *name, uint64_t *limit, struct err *e)
{
	*limit = asked ? asked : most;
	if (asked <= most)
		return 0;
	q->why.limit = name;
	return refusal_say(&q->why, e, REFUSAL_LIMIT,
			   "%s: %llu ms is more than --%s allows: %llu ms", q->why.frame,
			   (unsigned long long)asked, name, (unsigned long long)most);
}

static int choose_limits(struct request *q, struct step_limits *limits, struct err *e)
{
	const struct serve_limits *asked = &q->head.limits;
	const uint64_t *most = q->serve->plan->limit;
	int r = choose_limit(q, asked->wall_ms, most[LIMIT_WALL_MS], "wall-time",
			     &limits->wall_ms, e);

	return r < 0 ? r
		     : choose_limit(q, asked->cpu_ms, most[LIMIT_CPU_MS], "cpu-time",
				    &limits->cpu_ms, e);
}

/* OPEN and ONCE */
static int do_open(struct request *q, struct err *e)
{
	struct once once = { .source = -1 };
	int r = check_new(q, e);

	if (r == 0 && q->type == WIRE_ONCE) {
		r = choose_limits(q, &once.limits, e);
		if (r == 0)
			r = request_once(q, &once, e);
	}
	if (r == 0)
		r = session_open(q->serve, q->number, &once, e);
	io_close_fd(&once.source);
	return r;
}

static int check_idle(struct request *q, struct err *e)
{
	if (!q->branch->step)
		return 0;
	q->why.step = q->branch->step->number;
	return refusal_say(&q->why, e, REFUSAL_BUSY,
			   "branch %u runs step %u: wait for its DONE, or KILL it",
			   q->name, q->branch->step->number);
}

static int check_run(struct request *q, struct err *e)
{
	int r = check_idle(q, e);

	if (r < 0)
		return r;
	if (q->session->once.is)
		return refusal_say(&q->why, e, REFUSAL_OUT_OF_TURN,
				   "session %u was opened for one step: OPEN another",
				   q->number);
	if (q->head.limits.awaits)
		return refusal_say(&q->why, e, REFUSAL_BAD_FRAME,
				   "RUN brings the whole source: send no CODE after it");
	if (!q->branch->lost)
		return 0;
	return refusal_say(
		&q->why, e, REFUSAL_NO_STATE,
		"the state of branch %u was lost, its process has ended: ROLLBACK to state %u first",
		q->name, q->branch->head);
}

static int do_run(struct request *q, struct err *e)
{
	cleanup_fd int source = request_take_source(q, e);
	struct step_limits limits;
	int r = source < 0 ? source : check_run(q, e);

	if (r == 0)
		r = choose_limits(q, &limits, e);
	return r < 0 ? r
		     : request_asked(q, step_run(q->session, q->branch,
						 io_steal_fd(&source), &limits, e));
}

/* The step that runs on the branch. If the frame names a step, it must be that one. */
static int find_step(struct request *q, struct err *e)
{
	q->step = q->branch->step;
	if (q->step && (q->more == 0 || q->more == q->step->number))
		return 0;
	q->why.step = q->more;
	if (q->step)
		return refusal_say(&q->why, e, REFUSAL_NO_STEP,
				   "branch %u does not run step %u, but step %u", q->name,
				   q->more, q->step->number);
	return refusal_say(&q->why, e, REFUSAL_NO_STEP, "no step runs on branch %u",
			   q->name);
}

static int do_stdin(struct request *q, struct err *e)
{
	int r = step_input(q->step, q->body, q->length, e);

	if (r == -EFBIG)
		return request_failed(q, REFUSAL_LIMIT, "stdin", r);
	return r == -EPIPE ? request_failed(q, REFUSAL_OUT_OF_TURN, NULL, r) : r;
}

/* INTERRUPT and KILL */
static int do_cancel(struct request *q, struct err *e)
{
	(void)e;
	if (q->type == WIRE_KILL)
		limit_kill(q->step, VERDICT_CANCELLED);
	else
		limit_interrupt(q->step, VERDICT_CANCELLED);
	return 0;
}

static int find_state(struct request *q, struct err *e)
{
	if (states_find(&q->session->states, q->head.state.state))
		return 0;
	return refusal_say(
		&q->why, e, REFUSAL_NO_STATE,
		"there is no state %u, or no longer: STATUS lists the states that are kept; --keep-states and --keep-memory keep more",
		q->head.state.state);
}

static int do_rollback(struct request *q, struct err *e)
{
	int r = check_idle(q, e);

	if (r == 0)
		r = find_state(q, e);
	if (r < 0)
		return r;
	q->branch->head = q->head.state.state;
	q->branch->lost = false;
	done_prune(q->session);
	say_status(q->serve, q->session, q->name, true);
	return 0;
}

static int do_branch(struct request *q, struct err *e)
{
	int r = find_state(q, e);

	if (r < 0)
		return r;
	if (q->branch)
		return refusal_say(&q->why, e, REFUSAL_EXISTS,
				   "branch %u is there already", q->name);
	q->why.limit = "branches";
	if (states_fork(&q->session->states, q->name, q->head.state.state) < 0)
		return refusal_say(&q->why, e, REFUSAL_LIMIT,
				   "a session has at most %d branches: DROP one",
				   BRANCHES_MAX);
	say_status(q->serve, q->session, q->name, true);
	return 0;
}

static int do_drop(struct request *q, struct err *e)
{
	int r = check_idle(q, e);

	if (r < 0)
		return r;
	if (q->session->states.branches == 1)
		return refusal_say(
			&q->why, e, REFUSAL_OUT_OF_TURN,
			"branch %u is the session's only one: CLOSE the session",
			q->name);
	io_close_fd(&q->branch->source.fd);
	states_drop(&q->session->states, q->branch);
	q->branch = NULL;
	done_prune(q->session);
	say_status(q->serve, q->session, q->name, false);
	return 0;
}

static int no_session(struct request *q, struct err *e)
{
	return refusal_say(&q->why, e, REFUSAL_NO_SESSION,
			   "there is no session %u: OPEN it", q->number);
}

static int do_status(struct request *q, struct err *e)
{
	if (q->number && !q->session)
		return no_session(q, e);
	say_status(q->serve, q->session, q->name, false);
	return 0;
}

static int do_close(struct request *q, struct err *e)
{
	(void)e;
	q->session->ended = REFUSAL_CLOSED;
	session_end(q->session, "the client has closed it");
	return 0;
}

enum needs {
	NEEDS_NOTHING,
	NEEDS_SESSION, /* a session of that number, open or still starting */
	NEEDS_OPEN,    /* an open session */
	NEEDS_BRANCH,  /* an open session with that branch */
	NEEDS_STEP,    /* the same, and a step that runs there */
	NEEDS_SOURCE,  /* that branch, or a session that awaits the source of ONCE */
};

/* bytes of the struct that a payload begins with */
enum head {
	HEAD_AT = sizeof(struct serve_at),
	HEAD_LIMITS = sizeof(struct serve_limits),
	HEAD_STATE = sizeof(struct serve_state),
	HEAD_FILE = sizeof(struct serve_file),
};

/* what may follow the struct */
enum body {
	BODY_NONE,
	BODY_BYTES,
	BODY_NUMBER, /* a number of four bytes, or nothing, which counts as 0 */
};

static const struct row {
	uint16_t type;
	const char *name;
	size_t head;
	enum body body;
	enum needs needs;
	int (*act)(struct request *q, struct err *e);
} rows[] = {
	{ WIRE_OPEN, "OPEN", HEAD_AT, BODY_NONE, NEEDS_NOTHING, do_open },
	{ WIRE_ONCE, "ONCE", HEAD_LIMITS, BODY_BYTES, NEEDS_NOTHING, do_open },
	{ WIRE_CODE, "CODE", HEAD_AT, BODY_BYTES, NEEDS_SOURCE, request_code },
	{ WIRE_RUN, "RUN", HEAD_LIMITS, BODY_NONE, NEEDS_BRANCH, do_run },
	{ WIRE_STDIN, "STDIN", HEAD_AT, BODY_BYTES, NEEDS_STEP, do_stdin },
	{ WIRE_INTERRUPT, "INTERRUPT", HEAD_AT, BODY_NUMBER, NEEDS_STEP, do_cancel },
	{ WIRE_KILL, "KILL", HEAD_AT, BODY_NUMBER, NEEDS_STEP, do_cancel },
	{ WIRE_ROLLBACK, "ROLLBACK", HEAD_STATE, BODY_NONE, NEEDS_BRANCH, do_rollback },
	{ WIRE_BRANCH, "BRANCH", HEAD_STATE, BODY_NONE, NEEDS_OPEN, do_branch },
	{ WIRE_DROP, "DROP", HEAD_AT, BODY_NONE, NEEDS_BRANCH, do_drop },
	{ WIRE_PUT, "PUT", HEAD_FILE, BODY_BYTES, NEEDS_OPEN, request_put },
	{ WIRE_GET, "GET", HEAD_FILE, BODY_BYTES, NEEDS_OPEN, request_read },
	{ WIRE_LIST, "LIST", HEAD_FILE, BODY_BYTES, NEEDS_OPEN, request_read },
	{ WIRE_DATA, "DATA", HEAD_AT, BODY_BYTES, NEEDS_OPEN, request_data },
	{ WIRE_END, "END", HEAD_AT, BODY_NUMBER, NEEDS_OPEN, request_end },
	{ WIRE_STATUS, "STATUS", HEAD_AT, BODY_NONE, NEEDS_NOTHING, do_status },
	{ WIRE_CLOSE, "CLOSE", HEAD_AT, BODY_NONE, NEEDS_SESSION, do_close },
};

static int check(struct request *q, const struct row *row, struct err *e)
{
	enum session_phase phase = q->session ? q->session->phase : PHASE_CLOSING;

	if (row->needs == NEEDS_NOTHING)
		return 0;
	if (!q->session)
		return no_session(q, e);
	if (phase == PHASE_CLOSING)
		return refusal_say(&q->why, e, REFUSAL_ENDING,
				   "session %u is ending: wait for CLOSED", q->number);
	if (row->needs == NEEDS_SESSION ||
	    (row->needs == NEEDS_SOURCE && q->session->once.awaits))
		return 0;
	if (phase != PHASE_OPEN)
		return refusal_say(&q->why, e, REFUSAL_NOT_OPEN,
				   "session %u is not open yet: wait for OPENED",
				   q->number);
	if (row->needs < NEEDS_BRANCH || q->branch)
		return row->needs == NEEDS_STEP ? find_step(q, e) : 0;
	return refusal_say(&q->why, e, REFUSAL_NO_BRANCH,
			   "session %u has no branch %u: BRANCH makes one", q->number,
			   q->name);
}

static int bad_size(struct request *q, const struct row *row, uint32_t length,
		    struct err *e)
{
	static const char *const more[] = { "", " or more", " or 4 more" };

	/* RUN uses up its source, whatever it is refused for */
	if (row->type == WIRE_RUN && q->branch) {
		io_close_fd(&q->branch->source.fd);
		q->branch->source = (struct pieces){ .fd = -1 };
	}
	return refusal_say(&q->why, e, REFUSAL_BAD_FRAME,
			   "%s: %u bytes of payload, and it has %zu%s", row->name, length,
			   row->head, more[row->body]);
}

static bool is_size(const struct row *row, uint32_t length)
{
	return length == row->head || (row->body == BODY_BYTES && length > row->head) ||
	       (row->body == BODY_NUMBER && length == row->head + sizeof(uint32_t));
}

static const struct row *find_row(uint16_t type)
{
	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i].type == type)
			return &rows[i];
	return NULL;
}

static int act(struct request *q, const struct wire_header *h,
	       const unsigned char *payload, struct err *e)
{
	const struct row *row = find_row(h->type);
	int r;

	if (!row)
		return refusal_say(&q->why, e, REFUSAL_BAD_FRAME,
				   "a client may not send a frame of type %u", h->type);
	q->why.frame = row->name;
	if (!is_size(row, h->length))
		return bad_size(q, row, h->length, e);
	memcpy(&q->head, payload, row->head);
	q->body = payload + row->head;
	q->length = h->length - row->head;
	if (row->body == BODY_NUMBER && q->length)
		memcpy(&q->more, q->body, sizeof(q->more));
	r = check(q, row, e);
	return r < 0 ? r : row->act(q, e);
}

void request_serve(struct serve *s, const struct wire_header *h,
		   const unsigned char *payload)
{
	struct request q = { .serve = s, .type = h->type, .number = h->step };
	struct serve_at at = { 0 };
	struct err e;

	if (h->length >= sizeof(at))
		memcpy(&at, payload, sizeof(at));
	q.name = at.branch;
	q.session = session_find(s, h->step);
	if (q.session && q.session->phase == PHASE_OPEN)
		q.branch = states_branch(&q.session->states, at.branch);
	if (act(&q, h, payload, &e) < 0)
		say_refused(s, h->step, at.branch, &q.why, e.text);
}
