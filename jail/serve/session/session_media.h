/* SPDX-License-Identifier: MIT */
/*
 * session_media.h - what a step shows beside its output, held to init/media.h
 */
#ifndef STEPJAIL_JAIL_SERVE_SESSION_SESSION_MEDIA_H
#define STEPJAIL_JAIL_SERVE_SESSION_SESSION_MEDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "init/media.h"
#include "jail/serve/session/session_types.h"

/**
 * media_is_right() - May a step send this frame now?
 * @seen:	Counts it, if so
 * @limit_bytes:	That a step may show; 0: nothing at all
 *
 * Return: false when it is none, or not the next one; @seen is as it was
 */
bool media_is_right(struct media_seen *seen, const struct wire_header *h,
		    const void *payload, uint64_t limit_bytes);

/** media_take() - A MEDIA or PIECE of a running step: to the client, or dropped */
void media_take(struct step *step, const struct wire_header *h,
		const unsigned char *payload);

/** media_resume() - The client reads again */
void media_resume(struct step *step);

#endif
