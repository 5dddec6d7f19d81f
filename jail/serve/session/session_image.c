/* SPDX-License-Identifier: MIT */
/*
 * session_image.c - --rollback-files: what is in /work goes back with the variables
 *
 * Theory of operation
 *   An image is all of /work in a memfd, made and unpacked inside the jail by a child of
 *   state 0 (rootfs/interpreter/image.h). Here it is bytes that nobody looks into. At any time the
 *   files are those of one state, `at`; every other state has an image. So before a step
 *   runs, the state that it comes from gets one: what it has already, or its parent's, is
 *   compared with the files first, and shared when nothing has changed. When the step
 *   dies, the image is put back before DONE. When files of another state are wanted, those
 *   that are there are kept first, unless no branch can come back to them.
 *   None of that goes on while a step runs, or a file operation: see session_hold.c.
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
#include "jail/serve/session/session.h"
#include "jail/serve/session/session_image.h"
#include "jail/base/clock.h"

/* beside its contents: a record, a name, a link's aim; an extent for every other page */
#define ENTRY_BYTES 4608
#define EXTENT_SHARE 128

bool image_is_on(const struct session *s)
{
	return s->serve->plan->rollback_files == ANSWER_YES && !s->once.is;
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
	image->bytes = most < room ? most : room;
	image->fd = memfd_create("files", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (image->fd >= 0 && ftruncate(image->fd, (off_t)image->bytes) == 0)
		return image;
	(void)err_set(e, errno, "files: make a memfd");
	image_drop(&image);
	return NULL;
}

/* shut, and as long as it is */
static int seal(struct image *image, uint64_t bytes, struct err *e)
{
	if (bytes > image->bytes) /* the jail's word, and it has no such room */
		return err_set(e, EPROTO, "files: %llu bytes", (unsigned long long)bytes);
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

int image_want(struct session *s, uint32_t goal, bool give_up, struct err *e)
{
	s->files.goal = goal;
	s->files.give_up = give_up;
	return advance(s, e);
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
	if (job->killed == KILL_WALL)
		return err_say(e, ETIMEDOUT,
			       "files cannot be %s: it took longer than --wall-time",
			       act);
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
		dead->start_ms += clock_now_ms() - f->ended_ms;
	done_tell(dead, &f->judged, false, open ? f->reason : s->reason, f->strays);
}

void image_done(struct step *job, const char *why)
{
	struct session *s = job->session;
	struct files *f = &s->files;
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
		if (r < 0)
			hold_refuse(s, e.text);
	}
	hold_resume(s);
}

/* ---- steps */

void image_inherit(struct state *state, uint32_t from)
{
	struct session *s = state->session;
	const struct state *parent = states_find(&s->states, from);

	if (!image_is_on(s))
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

	if (!image_is_on(s) || s->phase != PHASE_OPEN || strays < 0 || !b)
		return false;
	limit_end(step);
	step->state->pid = -1; /* nobody else's end is its own */
	f->dead = step;
	f->judged = *j;
	f->reason = reason;
	f->strays = strays;
	f->ended_ms = clock_now_ms();
	f->at = NO_STATE;
	f->goal = b->head;
	if (advance(s, &e) > 0)
		return true;
	f->dead = NULL;
	(void)snprintf(step->files, sizeof(step->files), "lost: %.*s", ERR_TEXT_MAX - 8,
		       e.text);
	return false;
}
