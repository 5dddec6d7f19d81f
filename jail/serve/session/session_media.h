/* SPDX-License-Identifier: MIT */
/*
 * session_media.h - what a step shows beside its output, held to init/media.h
 */
#ifndef STEPJAIL_JAIL_SERVE_SESSION_SESSION_MEDIA_H
#define STEPJAIL_JAIL_SERVE_SESSION_SESSION_MEDIA_H

#include <stdbool.h>
#include <stdint.h>

#include "init/media.h"
#include "init/wire.h"

/* what a step has shown so far; zeroed at first */
struct media_seen {
	uint32_t objects;
	uint32_t left_out; /* forms that were too large */
	uint64_t bytes;    /* of all others, as they were announced */
	uint64_t due;      /* of these, that have not come: of the last one */
	uint32_t kinds;    /* of the last object, a bit each */
	uint16_t from;
};

/* and how it goes on to the client */
struct media_flow {
	struct media_seen seen;
	size_t late; /* bytes that were taken since the client did not read any more */
	bool held;   /* the step's channel is not read until it does */
};

struct step;

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
