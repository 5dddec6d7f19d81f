/* SPDX-License-Identifier: MIT */
/*
 * request.c - what the client of `serve` asks for: see init/serve_wire.h
 *
 * One table: what each frame must look like, and who does it. Whatever is wrong with one
 * is REFUSED with a line, and changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/session.h"

#ifndef F_ADD_SEALS
#include <linux/fcntl.h>
#endif

/* a frame that has been looked at */
struct request {
	struct serve *serve;
	struct session *session;   /* NULL where there is none of its number */
	struct branch *branch;     /* the same */
	uint32_t number, name;     /* of both, as asked for */
	const unsigned char *body; /* behind the struct of its row */
	size_t length;
	union {
		struct serve_at at;
		struct serve_limits limits;
		struct serve_state state;
		struct serve_file file;
	} head;
};

/* ---- sources and data, in memfds */

static int append(int fd, const struct request *q, uint64_t have, uint64_t most,
		  const char *what, struct err *e)
{
	ssize_t n;

	if (have + q->length > most)
		return err_say(e, EFBIG, "%s: more than %llu bytes", what,
			       (unsigned long long)most);
	n = q->length ? pwrite(fd, q->body, q->length, (off_t)have) : 0;
	return n == (ssize_t)q->length ? 0 : err_set(e, n < 0 ? errno : EIO, "%s", what);
}

static int make_memfd(const char *name, struct err *e)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	return fd < 0 ? err_set(e, errno, "serve: memfd_create") : fd;
}

static int seal(int fd, struct err *e)
{
	if (fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_set(e, errno, "serve: seal a source");
	return 0;
}

/* ---- the requests */

static int check_new(const struct request *q, struct err *e)
{
	const struct plan *p = q->serve->plan;

	if (q->number == 0)
		return err_say(e, EINVAL, "a session has a number that is not 0");
	if (q->session)
		return err_say(e, EEXIST,
			       "session %u is there already: CLOSE it, or choose another "
			       "number",
			       q->number);
	if (q->serve->sessions >= p->limit[LIMIT_SESSIONS])
		return err_say(e, EMFILE,
			       "%llu sessions are open: CLOSE one, or start serve with "
			       "more than --sessions %llu",
			       (unsigned long long)q->serve->sessions,
			       (unsigned long long)p->limit[LIMIT_SESSIONS]);
	return 0;
}

static int do_open(struct request *q, struct err *e)
{
	int r = check_new(q, e);

	return r < 0 ? r : session_open(q->serve, q->number, -1, e);
}

static int do_once(struct request *q, struct err *e)
{
	cleanup_fd int source = -1;
	int r = check_new(q, e);

	if (r < 0)
		return r;
	source = make_memfd("step", e);
	r = source < 0 ? source : append(source, q, 0, STEP_SOURCE_MAX, "ONCE", e);
	if (r == 0)
		r = seal(source, e);
	return r < 0 ? r : session_open(q->serve, q->number, io_steal_fd(&source), e);
}

static int do_code(struct request *q, struct err *e)
{
	struct branch *b = q->branch;
	int r;

	if (b->source < 0)
		b->source = make_memfd("step", e);
	r = b->source < 0 ? b->source
			  : append(b->source, q, b->source_bytes, STEP_SOURCE_MAX,
				   "CODE: the source of one step", e);
	if (r == 0) {
		b->source_bytes += (uint32_t)q->length;
		return 0;
	}
	/* half a source is none */
	io_close_fd(&b->source);
	b->source_bytes = 0;
	return r;
}

/* what the client asks for, or the policy's */
static int choose_limit(uint64_t asked, uint64_t most, const char *name, uint64_t *limit,
			struct err *e)
{
	if (asked > most)
		return err_say(e, ERANGE,
			       "RUN: %llu ms is more than --%s allows: %llu ms",
			       (unsigned long long)asked, name, (unsigned long long)most);
	*limit = asked ? asked : most;
	return 0;
}

static int check_idle(const struct request *q, struct err *e)
{
	if (!q->branch->step)
		return 0;
	return err_say(e, EBUSY, "branch %u runs step %u: wait for its DONE, or KILL it",
		       q->name, q->branch->step->number);
}

/* the source of the next step, sealed; an empty one if there was no CODE */
static int take_source(struct branch *b, struct err *e)
{
	cleanup_fd int source = io_steal_fd(&b->source);
	int r;

	b->source_bytes = 0;
	if (source < 0)
		source = make_memfd("step", e);
	r = source < 0 ? source : seal(source, e);
	return r < 0 ? r : io_steal_fd(&source);
}

static int check_run(const struct request *q, uint64_t *wall_ms, uint64_t *cpu_ms,
		     struct err *e)
{
	const uint64_t *most = q->serve->plan->limit;
	int r = check_idle(q, e);

	if (r == 0 && q->branch->lost)
		r = err_say(e, ENOENT,
			    "the state of branch %u was lost, its process has ended: "
			    "ROLLBACK to state %u first",
			    q->name, q->branch->head);
	if (r == 0)
		r = choose_limit(q->head.limits.wall_ms, most[LIMIT_WALL_MS], "wall-time",
				 wall_ms, e);
	return r < 0 ? r
		     : choose_limit(q->head.limits.cpu_ms, most[LIMIT_CPU_MS], "cpu-time",
				    cpu_ms, e);
}

static int do_run(struct request *q, struct err *e)
{
	cleanup_fd int source = take_source(q->branch, e);
	uint64_t wall_ms = 0, cpu_ms = 0;
	int r = source < 0 ? source : check_run(q, &wall_ms, &cpu_ms, e);

	return r < 0 ? r
		     : step_run(q->session, q->branch, io_steal_fd(&source), wall_ms,
				cpu_ms, e);
}

static int running(const struct request *q, struct step **step, struct err *e)
{
	*step = q->branch->step;
	if (*step)
		return 0;
	return err_say(e, ESRCH, "no step runs on branch %u", q->name);
}

static int do_stdin(struct request *q, struct err *e)
{
	struct step *step;
	int r = running(q, &step, e);

	return r < 0 ? r : step_input(step, q->body, q->length, e);
}

static int do_interrupt(struct request *q, struct err *e)
{
	struct step *step;
	int r = running(q, &step, e);

	if (r < 0)
		return r;
	if (!step->state->host) /* before it could be interrupted */
		limit_kill(step, KILL_CANCELLED);
	else
		limit_interrupt(step, KILL_CANCELLED);
	return 0;
}

static int do_kill(struct request *q, struct err *e)
{
	struct step *step;
	int r = running(q, &step, e);

	if (r == 0)
		limit_kill(step, KILL_CANCELLED);
	return r;
}

static int find_state(const struct request *q, struct err *e)
{
	if (states_find(&q->session->states, q->head.state.state))
		return 0;
	return err_say(e, ENOENT,
		       "there is no state %u any more, if there ever was: "
		       "--keep-states, --keep-memory, and STATUS, which lists them",
		       q->head.state.state);
}

static void answer_status(struct request *q)
{
	say_status(q->serve, q->session, q->name);
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
	answer_status(q);
	return 0;
}

static int do_branch(struct request *q, struct err *e)
{
	int r = find_state(q, e);

	if (r == 0 && q->branch)
		r = err_say(e, EEXIST, "branch %u is there already", q->name);
	if (r == 0 && states_fork(&q->session->states, q->name, q->head.state.state) < 0)
		r = err_say(e, E2BIG, "a session has at most %d branches: DROP one",
			    BRANCHES_MAX);
	if (r == 0)
		answer_status(q);
	return r;
}

static int do_drop(struct request *q, struct err *e)
{
	int r = check_idle(q, e);

	if (r == 0 && q->session->states.branches == 1)
		r = err_say(e, EBUSY,
			    "branch %u is the session's only one: CLOSE the session",
			    q->name);
	if (r < 0)
		return r;
	io_close_fd(&q->branch->source);
	states_drop(&q->session->states, q->branch);
	q->branch = NULL;
	done_prune(q->session);
	answer_status(q);
	return 0;
}

static int check_path(const struct request *q, struct err *e)
{
	if (q->length == 0 || q->length > STEP_PATH_MAX || memchr(q->body, 0, q->length))
		return err_say(e, EINVAL,
			       "a path has 1 to %u bytes, and no NUL among them",
			       STEP_PATH_MAX);
	return 0;
}

static int do_put(struct request *q, struct err *e)
{
	struct put *put = &q->session->put;
	int r = check_path(q, e);

	if (r == 0 && put->data >= 0)
		r = err_say(e, EBUSY, "PUT: another one is under way: END it first");
	if (r == 0 && (q->head.file.mode & ~0777u))
		r = err_say(e, EINVAL, "PUT: a mode has nine bits");
	if (r < 0)
		return r;
	put->data = make_memfd("put", e);
	if (put->data < 0)
		return put->data;
	put->bytes = 0;
	put->branch = q->name;
	put->mode = q->head.file.mode ? q->head.file.mode : 0644;
	put->path_bytes = q->length;
	memcpy(put->path, q->body, q->length);
	return 0;
}

static int do_data(struct request *q, struct err *e)
{
	struct put *put = &q->session->put;
	int r;

	if (put->data < 0)
		return err_say(e, EINVAL, "DATA: no PUT is under way");
	r = append(put->data, q, put->bytes, q->serve->plan->limit[LIMIT_WORK_BYTES],
		   "PUT, which --work-size bounds", e);
	if (r < 0)
		io_close_fd(&put->data);
	else
		put->bytes += q->length;
	return r;
}

static int do_end(struct request *q, struct err *e)
{
	struct put *put = &q->session->put;
	int r;

	if (put->data < 0)
		return err_say(e, EINVAL, "END: no PUT is under way");
	r = step_file(q->session, put->branch, KIND_PUT, put->mode, put->path,
		      put->path_bytes, put->data, e);
	io_close_fd(&put->data);
	return r;
}

static int do_get(struct request *q, struct err *e)
{
	int r = check_path(q, e);

	return r < 0 ? r
		     : step_file(q->session, q->name, KIND_GET, 0, (const char *)q->body,
				 q->length, -1, e);
}

static int do_list(struct request *q, struct err *e)
{
	int r = check_path(q, e);

	return r < 0 ? r
		     : step_file(q->session, q->name, KIND_LIST, 0, (const char *)q->body,
				 q->length, -1, e);
}

static int do_status(struct request *q, struct err *e)
{
	if (q->number && !q->session)
		return err_say(e, ENOENT, "there is no session %u: OPEN it", q->number);
	answer_status(q);
	return 0;
}

static int do_close(struct request *q, struct err *e)
{
	(void)e;
	session_end(q->session, "the client has closed it");
	return 0;
}

enum needs {
	NEEDS_NOTHING,
	NEEDS_SESSION, /* of that number, whether it stands or not */
	NEEDS_OPEN,    /* one that stands */
	NEEDS_BRANCH,  /* and has a branch of that name */
};

static const struct row {
	uint16_t type;
	const char *name;
	size_t head; /* bytes of the struct that the payload begins with */
	bool body;   /* may more follow? */
	enum needs needs;
	int (*act)(struct request *q, struct err *e);
} rows[] = {
	{ WIRE_OPEN, "OPEN", sizeof(struct serve_at), false, NEEDS_NOTHING, do_open },
	{ WIRE_ONCE, "ONCE", sizeof(struct serve_at), true, NEEDS_NOTHING, do_once },
	{ WIRE_CODE, "CODE", sizeof(struct serve_at), true, NEEDS_BRANCH, do_code },
	{ WIRE_RUN, "RUN", sizeof(struct serve_limits), false, NEEDS_BRANCH, do_run },
	{ WIRE_STDIN, "STDIN", sizeof(struct serve_at), true, NEEDS_BRANCH, do_stdin },
	{ WIRE_INTERRUPT, "INTERRUPT", sizeof(struct serve_at), false, NEEDS_BRANCH,
	  do_interrupt },
	{ WIRE_KILL, "KILL", sizeof(struct serve_at), false, NEEDS_BRANCH, do_kill },
	{ WIRE_ROLLBACK, "ROLLBACK", sizeof(struct serve_state), false, NEEDS_BRANCH,
	  do_rollback },
	{ WIRE_BRANCH, "BRANCH", sizeof(struct serve_state), false, NEEDS_OPEN,
	  do_branch },
	{ WIRE_DROP, "DROP", sizeof(struct serve_at), false, NEEDS_BRANCH, do_drop },
	{ WIRE_PUT, "PUT", sizeof(struct serve_file), true, NEEDS_OPEN, do_put },
	{ WIRE_GET, "GET", sizeof(struct serve_file), true, NEEDS_OPEN, do_get },
	{ WIRE_LIST, "LIST", sizeof(struct serve_file), true, NEEDS_OPEN, do_list },
	{ WIRE_DATA, "DATA", sizeof(struct serve_at), true, NEEDS_OPEN, do_data },
	{ WIRE_END, "END", sizeof(struct serve_at), false, NEEDS_OPEN, do_end },
	{ WIRE_STATUS, "STATUS", sizeof(struct serve_at), false, NEEDS_NOTHING,
	  do_status },
	{ WIRE_CLOSE, "CLOSE", sizeof(struct serve_at), false, NEEDS_SESSION, do_close },
};

static int check(struct request *q, const struct row *row, struct err *e)
{
	enum session_phase phase = q->session ? q->session->phase : PHASE_CLOSING;

	if (row->needs == NEEDS_NOTHING)
		return 0;
	if (!q->session)
		return err_say(e, ENOENT, "there is no session %u: OPEN it", q->number);
	if (phase == PHASE_CLOSING)
		return err_say(e, ESHUTDOWN, "session %u is ending: wait for CLOSED",
			       q->number);
	if (row->needs == NEEDS_SESSION)
		return 0;
	if (phase != PHASE_OPEN)
		return err_say(e, EAGAIN,
			       "session %u does not stand yet: wait for OPENED",
			       q->number);
	if (row->needs == NEEDS_BRANCH && !q->branch)
		return err_say(e, ENOENT, "session %u has no branch %u: BRANCH makes one",
			       q->number, q->name);
	return 0;
}

static int act(struct request *q, const struct wire_header *h,
	       const unsigned char *payload, struct err *e)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		int r;

		if (row->type != h->type)
			continue;
		if (h->length < row->head || (h->length > row->head && !row->body))
			return err_say(e, EBADMSG,
				       "%s: %u bytes of payload, and it has %zu%s",
				       row->name, h->length, row->head,
				       row->body ? " or more" : "");
		memcpy(&q->head, payload, row->head);
		q->body = payload + row->head;
		q->length = h->length - row->head;
		r = check(q, row, e);
		return r < 0 ? r : row->act(q, e);
	}
	return err_say(e, EBADMSG, "a frame of type %u is not the client's to send",
		       h->type);
}

void request_serve(struct serve *s, const struct wire_header *h,
		   const unsigned char *payload)
{
	struct request q = { .serve = s, .number = h->step };
	struct serve_at at = { 0 };
	struct err e;

	if (h->length >= sizeof(at))
		memcpy(&at, payload, sizeof(at));
	q.name = at.branch;
	q.session = session_find(s, h->step);
	if (q.session && q.session->phase == PHASE_OPEN)
		q.branch = states_branch(&q.session->states, at.branch);
	if (act(&q, h, payload, &e) < 0)
		say_error(s, h->step, at.branch, WIRE_REFUSED, "error", e.text);
}
