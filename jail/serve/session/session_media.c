/* SPDX-License-Identifier: MIT */
/*
 * session_media.c - what a step shows beside its output: see init/media.h
 *
 * Theory of operation
 *   A frame that is not the next one that init/media.h allows is dropped, as all else is
 *   that no interpreter says; what follows counts as if it had not come. So the client is
 *   handed well-formed items only, in order, and no more than --media-limit. What is in
 *   them is the step's word.
 *   While the client does not read, the channel of a step that shows something is not
 *   read either: the step waits in sendmsg(2). What lies in its socket is taken all the
 *   same when the step rests, or has ended, for its DONE is behind it; LATE_BYTES is more
 *   than a socket holds, so an honest step loses nothing, and another one does not fill
 *   serve's memory by seeming to rest.
 */
#include <string.h>

#include "jail/serve/session/session.h"

#define LATE_BYTES (1u << 20)

/* the last part of a path, which can be shown; a hidden file, "." and ".." are none */
static bool is_name(const unsigned char *name, size_t length)
{
	if (length > MEDIA_NAME_MAX || (length && name[0] == '.'))
		return false;
	while (length) {
		uint32_t point = 0;
		int n = json_decode(name, length, &point);

		if (n == 0 || point < ' ' || point == '/' ||
		    (point >= 0x7f && point < 0xa0))
			return false;
		name += n;
		length -= (size_t)n;
	}
	return true;
}

/* a form of the object that came last, or the first one of the next */
static bool is_next(const struct media_seen *seen, const struct media *m)
{
	if (m->object == seen->objects)
		return m->object < MEDIA_OBJECTS_MAX;
	return seen->objects && m->object == seen->objects - 1 && m->from == seen->from &&
	       !(seen->kinds >> m->kind & 1);
}

static bool is_media(struct media_seen *seen, const unsigned char *payload, size_t length,
		     uint64_t limit_bytes)
{
	struct media m;

	if (length < sizeof(m))
		return false;
	memcpy(&m, payload, sizeof(m));
	if (m.kind < MEDIA_TEXT || m.kind >= MEDIA_KINDS || m.from < MEDIA_FROM_DISPLAY ||
	    m.from > MEDIA_FROM_FIGURE ||
	    (m.kind == MEDIA_TEXT && m.from == MEDIA_FROM_RESULT) ||
	    (m.flags & ~MEDIA_LEFT_OUT) || m.reserved || m.bytes == 0 || seen->due ||
	    !is_next(seen, &m) || !is_name(payload + sizeof(m), length - sizeof(m)))
		return false;
	if (!(m.flags & MEDIA_LEFT_OUT) && m.bytes > limit_bytes - seen->bytes)
		return false;
	if (m.object == seen->objects) {
		seen->objects++;
		seen->kinds = 0;
		seen->from = m.from;
	}
	seen->kinds |= 1u << m.kind;
	if (m.flags & MEDIA_LEFT_OUT)
		seen->left_out++;
	else
		seen->bytes += seen->due = m.bytes;
	return true;
}

bool media_is_right(struct media_seen *seen, const struct wire_header *h,
		    const void *payload, uint64_t limit_bytes)
{
	uint64_t now = seen->due < MEDIA_PIECE_MAX ? seen->due : MEDIA_PIECE_MAX;

	if (limit_bytes == 0)
		return false;
	if (h->type == WIRE_MEDIA)
		return is_media(seen, payload, h->length, limit_bytes);
	if (h->type != WIRE_PIECE || now == 0 || h->length != now)
		return false;
	seen->due -= now;
	return true;
}

void media_take(struct step *step, const struct wire_header *h,
		const unsigned char *payload)
{
	struct serve *serve = step->session->serve;

	if (step->kind != KIND_RUN || step->have_done || step->shot ||
	    step->media.late > LATE_BYTES ||
	    !media_is_right(&step->media.seen, h, payload,
			    serve->plan->limit[LIMIT_MEDIA_BYTES]))
		return;
	/* its pipes are no way around a client that does not read */
	if (h->type == WIRE_MEDIA && !step->media.late)
		step_empty(step);
	serve_put(serve, h->type, step->session->number, step->branch, payload,
		  h->length);
	if (queue_length(&serve->queue) <= QUEUE_HIGH)
		return;
	step->media.late += h->length;
	step->media.held = serve->media_held = true;
	(void)event_loop_listen(&serve->loop, &step->state->channel, 0);
}

void media_resume(struct step *step)
{
	/* of one that has lost something nothing more is taken */
	if (step->media.late <= LATE_BYTES)
		step->media.late = 0;
	if (!step->media.held)
		return;
	step->media.held = false;
	(void)event_loop_listen(&step->session->serve->loop, &step->state->channel,
				EPOLLIN);
}
