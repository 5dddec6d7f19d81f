/* SPDX-License-Identifier: MIT */
/*
 * session_image.h - the files of states, with --rollback-files; nothing without it
 *
 *	session_image.c  which files are there, which are kept, how others come
 *	session_hold.c   frames that wait for files
 */
#ifndef STEPJAIL_JAIL_SERVE_SESSION_SESSION_IMAGE_H
#define STEPJAIL_JAIL_SERVE_SESSION_SESSION_IMAGE_H

#include "jail/serve/session/session.h"

/* session_image.c */

#define NO_STATE UINT32_MAX

/** image_is_on() - Do files go back with variables in this session? */
bool image_is_on(const struct session *s);

/**
 * image_want() - Have the files of a state in /work, and those that are there in an image
 * @give_up:	No image of what is there is needed, where it is not the goal's
 *
 * For a moment at which no step and no file operation runs.
 *
 * Return: 0 (so it is), 1 (a job is under way), or -errno
 */
int image_want(struct session *s, uint32_t goal, bool give_up, struct err *e);

/** image_inherit() - A step is a state now, and the files are its own */
void image_inherit(struct state *state, uint32_t from);

/** image_roll_back() - A step died: put files back; false: DONE need not wait for it */
bool image_roll_back(struct step *step, const struct judgement *j, const char *reason,
		     int strays);

/** image_done() - A job has ended; @why it could not even begin, or NULL */
void image_done(struct step *job, const char *why);

/** image_drop() - This is one user less */
void image_drop(struct image **image);

/* session_hold.c */

struct request;

/**
 * hold_frame() - Are the files there that a frame needs?
 * @q:		The frame, checked but for what its own kind asks for
 *
 * Return: 0 (go on), 1 (it was put aside, and comes again when they are), or -errno:
 * refuse it
 */
int hold_frame(struct request *q, const struct wire_header *h,
	       const unsigned char *payload, struct err *e);

/** hold_wait() - Put a frame behind those that wait already; false: nothing waits */
bool hold_wait(struct session *s, const struct wire_header *h,
	       const unsigned char *payload);

/** hold_refuse() - The first that waits cannot have its files */
void hold_refuse(struct session *s, const char *text);

/** hold_resume() - Nothing is under way any more: take the frames that waited for that */
void hold_resume(struct session *s);

/** hold_end() - The session ends: nothing waits any more */
void hold_end(struct session *s);

#endif
