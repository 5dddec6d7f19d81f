/* SPDX-License-Identifier: MIT */
/*
 * session.c - a session of `stepjail serve`: its beginning, end and frames. See
 * session.h; steps are in step.c, requests in request.c.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/session/done.h"
#include "agent/session/session.h"
#include "init/serve_wire.h"

#define START_MS 30000  /* from OPEN to OPENED */
#define GOODBYE_MS 1000 /* for stepjail to end by itself and say why */

void session_send(struct session *s, uint16_t type, const void *bytes, size_t length)
{
	const struct serve_at at = { s->branch };

	serve_queue(&s->serve, type, s->id, &at, sizeof(at), bytes, length);
}

static bool is_ours(uint16_t type)
{
	return (type >= WIRE_OUT && type <= WIRE_DONE) || type == WIRE_MEDIA ||
	       type == WIRE_PIECE || (type >= WIRE_OPENED && type <= WIRE_CLOSED);
}

int session_next(struct session *s, uint64_t deadline_ms, struct session_frame *f)
{
	struct wire_header h;
	struct serve_at at;

	do {
		int event = serve_pump(&s->serve, deadline_ms);

		if (event != SERVE_FRAME && event != SERVE_QUIET)
			return event;
		if (event == SERVE_QUIET)
			continue;

		const unsigned char *payload = wire_reader_take(&s->serve.reader, &h);

		if (!is_ours(h.type) || h.length < sizeof(at)) {
			s->serve.breach = true;
			return SERVE_GONE;
		}
		if (h.step != s->id && !(s->aside && h.step == s->aside))
			continue; /* a late word of an earlier session */
		memcpy(&at, payload, sizeof(at));
		*f = (struct session_frame){
			.aside = h.step != s->id,
			.type = h.type,
			.branch = at.branch,
			.bytes = (const char *)payload + sizeof(at),
			.length = h.length - sizeof(at),
		};
		/* STDIN, INTERRUPT or KILL came when the step had just ended */
		if (f->type == WIRE_REFUSED &&
		    done_says(f->bytes, f->length, "kind", "no-step"))
			continue;
		if (f->aside)
			return SERVE_FRAME;
		if (f->type == WIRE_OPENED) {
			text_clear(&s->opened);
			text_add(&s->opened, f->bytes, f->length);
		}
		if (f->type == WIRE_CLOSED) {
			s->open = false;
			done_words(f->bytes, f->length, s->reason, sizeof(s->reason));
		}
		return SERVE_FRAME;
	} while (units_left_ms(deadline_ms));
	return SERVE_QUIET;
}

/* what came in place of OPENED */
static int not_opened(struct session *s, int event, const struct session_frame *f,
		      struct err *e)
{
	char words[SESSION_REASON_BYTES] = "";

	if (event == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	if (event == SERVE_FRAME && (f->type == WIRE_REFUSED || f->type == WIRE_CLOSED)) {
		done_words(f->bytes, f->length, words, sizeof(words));
		return serve_failed(&s->serve, words, "stepjail gave no reason", e);
	}

	bool breach = s->serve.breach || event == SERVE_FRAME;

	serve_end(&s->serve, event == SERVE_GONE && !breach ? GOODBYE_MS : 0);
	if (event == SERVE_QUIET)
		return serve_failed(&s->serve, NULL,
				    "stepjail kept silent for 30 seconds", e);
	if (breach)
		return serve_failed(&s->serve, "what stepjail sent makes no sense", "",
				    e);
	return serve_failed(&s->serve, NULL, "stepjail ended and gave no reason", e);
}

static int put_files(struct session *s, struct err *e)
{
	for (size_t i = 0; i < s->plan->file_count; i++) {
		const struct session_file *f = &s->plan->files[i];
		int r = lseek(f->fd, 0, SEEK_SET) < 0
				? err_set(e, errno, "it cannot be read again")
				: session_put(s, f->fd, f->path, e);

		if (r < 0)
			return err_within(e, "the jail's /work/%s: ", f->path);
	}
	return 0;
}

/* OPEN, and wait for OPENED */
static int begin(struct session *s, struct err *e)
{
	uint64_t deadline_ms = units_now_ms() + START_MS;
	struct session_frame f = { 0 };

	s->branch = 0;
	s->state = 0;
	s->id++;
	s->jails++;
	session_send(s, WIRE_OPEN, NULL, 0);

	int event = session_next(s, deadline_ms, &f);

	if (event != SERVE_FRAME || f.type != WIRE_OPENED ||
	    !done_is_object(f.bytes, f.length))
		return not_opened(s, event, &f, e);
	s->open = true;
	return put_files(s, e);
}

int session_renew(struct session *s, struct err *e)
{
	int r = 0;

	if (s->open)
		session_send(s, WIRE_CLOSE, NULL, 0);
	s->open = false;
	if (s->serve.child.pid <= 0)
		r = serve_start(&s->serve, &s->plan->serve, e);
	if (r < 0)
		serve_end(&s->serve, 0);
	else if (!s->plan->stateless) /* or each step begins one */
		r = begin(s, e);
	return r;
}

int session_open(struct session *s, const struct session_plan *plan, struct stop *stop,
		 struct err *e)
{
	memset(s, 0, sizeof(*s));
	s->plan = plan;
	serve_init(&s->serve, stop);
	return session_renew(s, e);
}

void session_close(struct session *s)
{
	if (s->plan)
		serve_end(&s->serve, 0);
	s->plan = NULL;
	s->open = false;
	text_free(&s->opened);
	media_clear(&s->media);
}
