/* SPDX-License-Identifier: MIT */
/*
 * session_image.c - --rollback-files: what is in /work goes back with the variables
 *
 * Theory of operation
 *   An image is all of /work in a memfd, made and unpacked inside the jail by a child of
 *   state 0 (rootfs/image.h). Here it is bytes that nobody looks into. At any time the
 *   files are those of one state, `at`; every other state has an image. So before a step
 *   runs, the state that it comes from gets one: what it has already, or its parent's, is
 *   compared with the files first, and shared when nothing has changed. When the step
 *   dies, the image is put back before DONE. When files of another state are wanted, those
 *   that are there are kept first, unless no branch can come back to them.
 *   None of that goes on while a step runs, or a file operation. A frame that needs files
 *   which are not there yet is put aside, and so is every later one of the session, CLOSE
 *   excepted; then all of them are taken in their order, as if they came now.
 *   The pages of an image are the jail's, whose process writes them: the leaf counts them,
 *   and where there is none, all images together may have as many bytes as --memory says.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/request.h"
#include "jail/stand.h"

#define NO_STATE UINT32_MAX
#define HELD_BYTES_MAX (4u << 20)
/* beside its contents: a record, a name, a link's aim; an extent for every other page */
#define ENTRY_BYTES 4608
#define EXTENT_SHARE 128

static bool is_on(const struct session *s)
{
	return s->serve->plan->rollback_files == ANSWER_YES && !s->once;
}

void image_drop(struct image **image)
{
	struct image *i = *image;

	*image = NULL;
	if (!i || --i->users)
		return;
	io_close_fd(&i->fd);
	free(i);
}

static struct image *share(struct image *image)
{
	if (image)
		image->users++;
	return image;
}

/* ---- jobs */

static uint64_t bytes_of_all(const struct session *s)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < s->states.count; i++) {
		const struct image *image = s->states.state[i]->image;

		sum += image ? image->bytes / image->users : 0;
	}
	return sum;
}

/* as long as it may become; it takes memory only where it is written to */
static struct image *make(const struct session *s, struct err *e)
{
	const uint64_t *limit = s->serve->plan->limit;
	uint64_t work = limit[LIMIT_WORK_BYTES], all = bytes_of_all(s);
	uint64_t memory = limit[LIMIT_MEMORY_BYTES];
	uint64_t most = work + work / EXTENT_SHARE + limit[LIMIT_INODES] * ENTRY_BYTES;
	struct image *image = calloc(1, sizeof(*image));
	uint64_t room = memory > all ? memory - all : 0;

	if (!image) {
		(void)err_set(e, ENOMEM, "files: an image");
		return NULL;
	}
	image->users = 1;
	image->fd = memfd_create("files", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (image->fd >= 0 &&
	    ftruncate(image->fd, (off_t)(most < room ? most : room)) == 0)
		return image;
	(void)err_set(e, errno, "files: make a memfd");
	image_drop(&image);
	return NULL;
}

/* shut, and as long as it is */
static int seal(struct image *image, uint64_t bytes, struct err *e)
{
	image->bytes = bytes;
	if (ftruncate(image->fd, (off_t)bytes) < 0 ||
	    fcntl(image->fd, F_ADD_SEALS,
		  F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return err_set(e, errno, "files: seal an image");
	return 0;
}

/* takes @image, whatever this returns; 1: it is under way */
static int begin(struct session *s, enum step_kind kind, struct image *image,
		 struct err *e)
{
	struct files *f = &s->files;
	int r = image ? step_file(s, 0, kind, 0, ".", 1, image->fd, e) : -e->errnum;

	if (r < 0) {
		image_drop(&image);
		return r;
	}
	f->job = s->steps;
	f->image = image;
	return 1;
}

/* the next job on the way to the goal; 1: it is under way, 0: there is none */
static int advance(struct session *s, struct err *e)
{
	struct files *f = &s->files;
	const struct state *at = states_find(&s->states, f->at);
	const struct state *goal = states_find(&s->states, f->goal);

	if (at && !f->exact && !f->give_up) {
		if (at->image && !f->differs)
			return begin(s, KIND_COMPARE, share(at->image), e);
		return begin(s, KIND_IMAGE, make(s, e), e);
	}
	if (f->at == f->goal)
		return 0;
	if (!goal || !goal->image)
		return err_say(e, ENOENT, "the files of state %u are not there any more",
			       f->goal);
	/* until it is done they are nobody's */
	f->at = NO_STATE;
	return begin(s, KIND_RESTORE, share(goal->image), e);
}

static int judge(struct session *s, const struct step *job, const char *why,
		 struct err *e)
{
	struct files *f = &s->files;
	struct state *at = states_find(&s->states, f->at);
	const char *act = job->kind == KIND_RESTORE ? "put back" : "kept";
	int errnum = (int)job->filed.errnum, r;

	if (why)
		return err_say(e, EIO, "files cannot be %s: %s", act, why);
	if (!job->have_done)
		return err_say(e, EIO,
			       "files cannot be %s: the process that did it was killed: "
			       "--memory?",
			       act);
	if (errnum == EFBIG && job->kind == KIND_IMAGE)
		return err_say(e, EFBIG,
			       "files cannot be kept: with those of other states they "
			       "are more than --memory, or by hard links and many holes "
			       "more than --work-size: remove some, or ROLLBACK");
	if (errnum == ESTALE && job->kind == KIND_COMPARE) {
		f->differs = true;
		return 0;
	}
	if (errnum)
		return err_set(e, errnum, "files cannot be %s", act);
	if (job->kind == KIND_IMAGE) {
		r = seal(f->image, job->filed.bytes, e);
		if (r < 0 || !at)
			return r;
		image_drop(&at->image);
		at->image = share(f->image);
	}
	if (job->kind == KIND_RESTORE)
		f->at = f->goal;
	f->exact = true;
	f->differs = false;
	return 0;
}

static void tell_dead(struct session *s, int r, const struct err *e)
{
	struct files *f = &s->files;
	struct step *dead = f->dead;
	bool open = s->phase == PHASE_OPEN;

	f->dead = NULL;
	if (r < 0)
		(void)snprintf(dead->files, sizeof(dead->files), "lost: %.*s",
			       ERR_TEXT_MAX - 8, e->text);
	else
		(void)snprintf(dead->files, sizeof(dead->files), "rolled back");
	/* that is no time of the step's */
	if (dead->start_ms)
		dead->start_ms += stand_now_ms() - f->ended_ms;
	done_tell(dead, &f->judged, false, open ? f->reason : s->reason, f->strays);
}

/* ---- frames that wait */

static bool is_busy(const struct session *s)
{
	for (const struct step *step = s->steps; step; step = step->next)
		if (step->kind != KIND_RUN)
			return true;
	return false;
}

static struct held *copy(const struct wire_header *h, const unsigned char *payload)
{
	struct held *held = malloc(sizeof(*held) + h->length);

	if (held) {
		held->next = NULL;
		held->head = *h;
		memcpy(held->payload, payload, h->length);
	}
	return held;
}

/* what was sent before it is used up, as if its own row had refused it */
static void use_up(struct session *s, uint16_t type, uint32_t branch)
{
	struct branch *b = states_branch(&s->states, branch);
	cleanup_fd int source = -1;
	struct err unused;

	if (type == WIRE_RUN && b)
		source = request_take_source(b, &unused);
	if (type != WIRE_END)
		return;
	s->put.under_way = false;
	io_close_fd(&s->put.data);
}

static void refuse(struct session *s, const struct wire_header *h,
		   const unsigned char *payload, const char *text)
{
	struct serve_at at = { 0 };

	if (h->length >= sizeof(at))
		memcpy(&at, payload, sizeof(at));
	use_up(s, h->type, at.branch);
	say_error(s->serve, s->number, at.branch, WIRE_REFUSED, "error", text);
}

static struct held *pop(struct files *f)
{
	struct held *held = f->held;

	if (held) {
		f->held = held->next;
		f->held_bytes -= held->head.length;
	}
	if (!f->held)
		f->last = &f->held;
	return held;
}

/* it was the first, and is so again */
static int push_first(struct files *f, const struct wire_header *h,
		      const unsigned char *payload, struct err *e)
{
	struct held *held = copy(h, payload);

	if (!held)
		return err_set(e, ENOMEM, "serve: a frame");
	held->next = f->held;
	if (!f->held)
		f->last = &held->next;
	f->held = held;
	f->held_bytes += h->length;
	return 1;
}

bool image_wait(struct session *s, const struct wire_header *h,
		const unsigned char *payload)
{
	struct files *f = &s->files;
	struct held *held;

	if (f->replaying || s->phase != PHASE_OPEN || (!f->job && !f->held) ||
	    h->type == WIRE_CLOSE || h->type == WIRE_OPEN || h->type == WIRE_ONCE)
		return false;
	held = f->held_bytes + h->length <= HELD_BYTES_MAX ? copy(h, payload) : NULL;
	if (!held) {
		refuse(s, h, payload,
		       "files are being kept or put back, and too much waits for that: "
		       "wait for the answer before");
		return true;
	}
	if (!f->held)
		f->last = &f->held;
	*f->last = held;
	f->last = &held->next;
	f->held_bytes += h->length;
	return true;
}

void image_resume(struct session *s)
{
	struct files *f = &s->files;
	struct held *held;

	if (f->replaying)
		return;
	f->replaying = true;
	while (s->phase == PHASE_OPEN && !f->job && !is_busy(s) && (held = pop(f))) {
		request_serve(s->serve, &held->head, held->payload);
		free(held);
	}
	f->replaying = false;
}

void image_done(struct step *job, const char *why)
{
	struct session *s = job->session;
	struct files *f = &s->files;
	struct held *first;
	struct err e = { 0 };
	int r = s->phase == PHASE_OPEN ? judge(s, job, why, &e)
				       : err_say(&e, ESHUTDOWN, "%s", s->reason);

	f->job = NULL;
	image_drop(&f->image);
	state_free(job->state);
	step_forget(job);
	if (f->dead) {
		tell_dead(s, r, &e);
	} else if (s->phase == PHASE_OPEN) {
		if (r == 0)
			r = advance(s, &e);
		if (r > 0)
			return;
		first = r < 0 ? pop(f) : NULL;
		if (first)
			refuse(s, &first->head, first->payload, e.text);
		free(first);
	}
	image_resume(s);
}

void image_end(struct session *s)
{
	struct held *held;

	while ((held = pop(&s->files)))
		free(held);
}

/* ---- what a frame needs */

static const struct step *running(const struct session *s)
{
	const struct step *step = s->steps;

	while (step && step->kind != KIND_RUN)
		step = step->next;
	return step;
}

/* will a branch be able to come back to what is there, when this one has gone? */
static bool is_needed(struct request *q, uint32_t goal)
{
	struct states *t = &q->session->states;
	const struct state *at = states_find(t, q->session->files.at);
	uint32_t head = q->branch->head;
	bool needed;

	q->branch->head = goal;
	needed = at && states_is_reached(t, at);
	q->branch->head = head;
	return needed;
}

/* whose files does it need? NO_STATE for nobody's: what is wrong with it is told later */
static uint32_t choose_goal(const struct request *q, uint16_t type)
{
	const struct session *s = q->session;
	const struct branch *b = q->branch;

	switch (type) {
	case WIRE_RUN:
		return b->step || b->lost ? NO_STATE : b->head;
	case WIRE_ROLLBACK:
		return b->step || !states_find(&s->states, q->head.state.state)
			       ? NO_STATE
			       : q->head.state.state;
	case WIRE_END:
		if (!s->put.under_way || s->put.error.errnum)
			return NO_STATE;
		return b ? b->head : s->files.at;
	case WIRE_GET:
	case WIRE_LIST:
		/* a step that runs may be watched by its files */
		return !b || b->step ? NO_STATE : b->head;
	default:
		return NO_STATE;
	}
}

static int refuse_beside(const struct step *step, struct err *e)
{
	return err_say(e, EBUSY,
		       "branch %u runs step %u, and with --rollback-files one thing is "
		       "done at a time in a session: wait for its DONE, or KILL it",
		       step->branch, step->number);
}

static int hold(struct request *q, uint32_t goal, const struct wire_header *h,
		const unsigned char *payload, struct err *e)
{
	struct session *s = q->session;
	struct files *f = &s->files;
	const struct step *beside = running(s);
	bool run = h->type == WIRE_RUN;
	int r;

	if (beside)
		return refuse_beside(beside, e);
	if (f->at != goal || (run && !f->exact)) {
		if (is_busy(s))
			return push_first(f, h, payload, e);
		f->goal = goal;
		f->give_up = h->type == WIRE_ROLLBACK && !is_needed(q, goal);
		r = advance(s, e);
		if (r != 0)
			return r < 0 ? r : push_first(f, h, payload, e);
	}
	if (run || h->type == WIRE_END)
		f->exact = false;
	return 0;
}

int image_hold(struct request *q, const struct wire_header *h,
	       const unsigned char *payload, struct err *e)
{
	struct session *s = q->session;
	uint32_t goal = NO_STATE;
	int r;

	if (s && s->phase == PHASE_OPEN && is_on(s))
		goal = choose_goal(q, h->type);
	if (goal == NO_STATE)
		return 0;
	r = hold(q, goal, h, payload, e);
	if (r < 0)
		use_up(s, h->type, q->name);
	return r;
}

/* ---- steps */

void image_inherit(struct state *state, uint32_t from)
{
	struct session *s = state->session;
	const struct state *parent = states_find(&s->states, from);

	if (!is_on(s))
		return;
	s->files.at = state->number;
	s->files.exact = s->files.differs = false;
	state->image = share(parent ? parent->image : NULL);
}

bool image_roll_back(struct step *step, const struct judgement *j, const char *reason,
		     int strays)
{
	struct session *s = step->session;
	struct files *f = &s->files;
	const struct branch *b = states_branch(&s->states, step->branch);
	struct err e;

	if (!is_on(s) || s->phase != PHASE_OPEN || strays < 0 || !b)
		return false;
	limit_end(step);
	step->state->pid = -1; /* nobody else's end is its own */
	f->dead = step;
	f->judged = *j;
	f->reason = reason;
	f->strays = strays;
	f->ended_ms = stand_now_ms();
	f->at = NO_STATE;
	f->goal = b->head;
	if (advance(s, &e) > 0)
		return true;
	f->dead = NULL;
	(void)snprintf(step->files, sizeof(step->files), "lost: %.*s", ERR_TEXT_MAX - 8,
		       e.text);
	return false;
}
