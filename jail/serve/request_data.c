/* SPDX-License-Identifier: MIT */
/*
 * request_data.c - sources of steps, and files that go in and come out: see request.h
 *
 * Both wait in memfds until they are whole: a source goes to its step sealed, a file to
 * the process that writes it, in the jail.
 */
#include <string.h>
#include <sys/mman.h>

#include "jail/base/sys.h"
#include "jail/serve/request.h"

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
	int r = sys_seal(fd);

	return r < 0 ? err_set(e, -r, "serve: seal a source") : 0;
}

/* One more, unless one before it was refused. */
static void keep(struct pieces *p, const char *name, const struct request *q,
		 uint64_t most, const char *what)
{
	if (p->error.errnum)
		return;
	if (p->fd < 0)
		p->fd = make_memfd(name, &p->error);
	if (p->fd < 0 || append(p->fd, q, p->bytes, most, what, &p->error) < 0)
		io_close_fd(&p->fd);
	else
		p->bytes += q->length;
}

/* All of them; others may follow. Return: their memfd, or -errno */
static int take(struct pieces *p, struct err *e)
{
	int r = p->error.errnum ? -p->error.errnum : io_steal_fd(&p->fd);

	*e = p->error;
	p->bytes = 0;
	p->error.errnum = 0;
	return r;
}

static void keep_source(const struct request *q)
{
	keep(&q->branch->source, "step", q, STEP_SOURCE_MAX, "CODE: keep the source");
}

static int refuse_source(struct request *q, struct err *e)
{
	q->why.limit = "source";
	return refusal_say(&q->why, e, REFUSAL_LIMIT,
			   "%s: the source of a step has at most %u bytes",
			   q->type == WIRE_RUN ? "CODE" : "ONCE", STEP_SOURCE_MAX);
}

int request_take_source(struct request *q, struct err *e)
{
	cleanup_fd int source = -1;
	int r;

	keep_source(q); /* nothing of RUN itself: an empty one if there was no CODE */
	source = take(&q->branch->source, e);
	if (source == -EFBIG)
		return refuse_source(q, e);
	r = source < 0 ? source : seal(source, e);
	return r < 0 ? r : io_steal_fd(&source);
}

int request_once(struct request *q, struct once *once, struct err *e)
{
	uint32_t awaits = q->head.limits.awaits;
	int r;

	if (q->length + awaits > STEP_SOURCE_MAX)
		return refuse_source(q, e);
	once->source = make_memfd("step", e);
	r = once->source < 0 ? once->source
			     : append(once->source, q, 0, STEP_SOURCE_MAX, "ONCE", e);
	if (r == 0 && awaits == 0)
		r = seal(once->source, e);
	once->is = true;
	once->bytes = (uint32_t)q->length;
	once->awaits = awaits;
	return r;
}

/* A further piece of its source. It has no answer: an error ends the session. */
static void take_once(const struct request *q)
{
	struct session *s = q->session;
	struct once *o = &s->once;
	struct err e;
	int r = append(o->source, q, o->bytes, o->bytes + o->awaits, "ONCE: its CODE",
		       &e);

	if (r == -EFBIG)
		s->ended = REFUSAL_BAD_FRAME;
	if (r == 0) {
		o->bytes += (uint32_t)q->length;
		o->awaits -= (uint32_t)q->length;
	}
	if (r == 0 && o->awaits == 0)
		r = seal(o->source, &e);
	if (r < 0)
		session_end(s, "%s", e.text);
	else if (s->phase == PHASE_OPEN)
		step_once(s);
}

/* What is wrong with a piece is told in the answer to RUN: half a source must not run. */
int request_code(struct request *q, struct err *e)
{
	(void)e;
	if (q->session->once.awaits)
		take_once(q);
	else
		keep_source(q);
	return 0;
}

static int check_path(struct request *q, struct err *e)
{
	if (q->length && q->length <= STEP_PATH_MAX && !memchr(q->body, 0, q->length))
		return 0;
	return refusal_say(&q->why, e, REFUSAL_BAD_FRAME,
			   "a path has 1 to %u bytes, and no NUL among them",
			   STEP_PATH_MAX);
}

/* PUT, its DATA and its END have one answer: what is wrong is told at the END */
int request_put(struct request *q, struct err *e)
{
	struct put *put = &q->session->put;
	int r;

	if (put->under_way)
		return refusal_say(&q->why, e, REFUSAL_BUSY,
				   "PUT: another one is under way: END it first");
	put->under_way = true;
	put->branch = q->name;
	put->mode = q->head.file.mode ? q->head.file.mode : 0644;
	r = check_path(q, &put->file.error);
	if (r == 0 && (put->mode & ~0777u))
		r = refusal_say(&q->why, &put->file.error, REFUSAL_BAD_FRAME,
				"PUT: a mode is 0 to 0777");
	if (r < 0)
		return 0;
	put->path_bytes = q->length;
	memcpy(put->path, q->body, q->length);
	put->file.fd = make_memfd("put", &put->file.error);
	return 0;
}

static int no_put(struct request *q, struct err *e)
{
	return refusal_say(&q->why, e, REFUSAL_OUT_OF_TURN, "%s: no PUT is under way",
			   q->why.frame);
}

int request_data(struct request *q, struct err *e)
{
	if (!q->session->put.under_way)
		return no_put(q, e);
	keep(&q->session->put.file, "put", q, q->serve->plan->limit[LIMIT_WORK_BYTES],
	     "PUT, which --work-size bounds");
	return 0;
}

/* all of it was in memory: nothing was written in the jail */
static int drop_put(struct request *q)
{
	static const char json[] = "{\"bytes\":0,\"dropped\":true}";

	serve_put(q->serve, WIRE_STATE, q->number, q->name, json, sizeof(json) - 1);
	return 0;
}

int request_end(struct request *q, struct err *e)
{
	struct put *put = &q->session->put;
	cleanup_fd int file = -1;

	if (!put->under_way)
		return no_put(q, e);
	put->under_way = false;
	file = take(&put->file, e);
	if (q->more)
		return drop_put(q);
	if (file == -EFBIG)
		return request_failed(q, REFUSAL_LIMIT, "work-size", file);
	if (file == -EPERM) /* of its path or mode: refusal_say() */
		return request_failed(q, REFUSAL_BAD_FRAME, NULL, file);
	if (file < 0)
		return file;
	return request_asked(q, step_file(q->session, put->branch, KIND_PUT, put->mode,
					  put->path, put->path_bytes, io_steal_fd(&file),
					  e));
}

int request_read(struct request *q, struct err *e)
{
	enum step_kind kind = q->type == WIRE_GET ? KIND_GET : KIND_LIST;
	int r = check_path(q, e);

	return r < 0 ? r
		     : request_asked(
			       q, step_file(q->session, q->name, kind, q->head.file.mode,
					    (const char *)q->body, q->length, -1, e));
}
