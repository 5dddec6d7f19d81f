/* SPDX-License-Identifier: MIT */
/*
 * request.c - what a session is asked between steps: states, branches, files. See
 * session.h
 */
#include <stdlib.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/session/report.h"
#include "init/serve_wire.h"

#define RESPONSE_MS 30000
#define AHEAD ((size_t)4 * WIRE_PAYLOAD_MAX) /* bytes of a PUT that wait to be sent */

/* outputs of a step that has ended may still come: they are no answer */
static int next_answer(struct session *s, struct session_frame *f)
{
	uint64_t deadline_ms = units_now_ms() + RESPONSE_MS;

	while (units_left_ms(deadline_ms)) {
		int event = session_next(s, deadline_ms, f);

		if (session_interrupted(s, event))
			continue; /* it is over in a moment */
		if (event != SERVE_FRAME || f->type >= WIRE_OPENED)
			return event;
	}
	return SERVE_QUIET;
}

/* send a request, and wait for its one answer, a STATE; NULL with @e */
static const cJSON *ask(struct session *s, uint16_t type, const void *head,
			size_t head_bytes, struct err *e)
{
	struct session_frame f = { 0 };

	serve_queue(&s->serve, type, s->id, head, head_bytes, NULL, 0);

	int event = next_answer(s, &f);

	if (event == SERVE_FRAME && f.type == WIRE_STATE && cJSON_IsObject(f.json))
		return f.json;
	(void)session_failed(s, event, &f, e);
	return NULL;
}

int session_change(struct session *s, enum session_change change, uint32_t branch,
		   uint32_t state, struct err *e)
{
	const struct serve_state to = { branch, state };
	size_t bytes = change == SESSION_DROP ? sizeof(struct serve_at) : sizeof(to);

	return ask(s, (uint16_t)change, &to, bytes, e) ? 0 : -e->errnum;
}

const cJSON *session_status(struct session *s, struct err *e)
{
	const struct serve_at at = { s->branch };

	return ask(s, WIRE_STATUS, &at, sizeof(at), e);
}

void session_kill(struct session *s)
{
	session_send(s, WIRE_KILL, NULL, 0);
}

static int queue_path(struct session *s, uint16_t type, const char *path, struct err *e)
{
	struct serve_file file = { .branch = s->branch };
	size_t length = strlen(path);

	if (length > SESSION_PIECE - sizeof(file))
		return err_say(e, ENAMETOOLONG, "the path is too long");
	serve_queue(&s->serve, type, s->id, &file, sizeof(file), path, length);
	return 0;
}

/* keep the queue short; 0, or what came, which is no answer to look forward to */
static int send_some(struct session *s, struct err *e)
{
	uint64_t deadline_ms = units_now_ms() + RESPONSE_MS;
	struct session_frame f = { 0 };
	int event = SERVE_QUIET;

	while (event == SERVE_QUIET && serve_waiting(&s->serve) > AHEAD) {
		if (units_left_ms(deadline_ms) == 0)
			return session_failed(s, SERVE_QUIET, &f, e);
		/* short waits: what is sent does not count as an event */
		event = session_next(s, units_now_ms() + 10, &f);
	}
	return event == SERVE_QUIET ? 0 : session_failed(s, event, &f, e);
}

/* what a PUT was refused for may be said of each of its frames: END's answer is the
 * last */
static int end_put(struct session *s, bool drop, struct err *e)
{
	const struct serve_end end = { s->branch, drop };
	struct session_frame f = { 0 };
	int event;

	serve_queue(&s->serve, WIRE_END, s->id, &end, sizeof(end), NULL, 0);
	do
		event = next_answer(s, &f);
	while (event == SERVE_FRAME && f.type == WIRE_REFUSED &&
	       !report_says(f.json, "frame", "END"));
	if (event != SERVE_FRAME || f.type != WIRE_STATE)
		return session_failed(s, event, &f, e);
	return 0;
}

int session_put(struct session *s, int fd, const char *path, struct err *e)
{
	char bytes[SESSION_PIECE];
	int r = queue_path(s, WIRE_PUT, path, e);
	struct err unheard;
	ssize_t n = 0;

	for (off_t at = 0; r == 0 && (n = pread(fd, bytes, SESSION_PIECE, at)) > 0;
	     at += n) {
		session_send(s, WIRE_DATA, bytes, (size_t)n);
		r = send_some(s, e);
	}
	if (n < 0)
		r = err_set(e, errno, "it cannot be read");
	if (r == 0)
		return end_put(s, false, e);
	/* half a file is of no use */
	if (s->open && r != -EINTR)
		(void)end_put(s, true, &unheard);
	return r;
}

int session_put_bytes(struct session *s, const struct text *bytes, const char *path,
		      struct err *e)
{
	int r = queue_path(s, WIRE_PUT, path, e);

	if (r == 0) {
		session_send_pieces(s, WIRE_DATA, s->id, s->branch, bytes->bytes,
				    bytes->length);
		r = text_check(&s->serve.to_send, "the file for a jail", e);
	}
	return r < 0 ? r : end_put(s, false, e);
}

int session_get(struct session *s, enum session_place place, const char *path,
		int (*take)(void *arg, const char *bytes, size_t length, struct err *e),
		void *arg, struct err *e)
{
	struct session_frame f = { 0 };
	int failed = 0;
	int r = queue_path(s, (uint16_t)place, path, e);

	if (r < 0)
		return r;
	for (;;) {
		int event = next_answer(s, &f);

		if (event == SERVE_FRAME && f.type == WIRE_END)
			return failed;
		if (event != SERVE_FRAME || f.type != WIRE_DATA)
			return session_failed(s, event, &f, e);
		/* what follows is read all the same: the answer to the next request is
		 * behind it */
		if (failed == 0)
			failed = take(arg, f.bytes, f.length, e);
	}
}

static int take_text(void *arg, const char *bytes, size_t length, struct err *e)
{
	text_add(arg, bytes, length);
	return text_check(arg, "what the session sends", e);
}

int session_get_text(struct session *s, enum session_place place, const char *path,
		     struct text *bytes, struct err *e)
{
	int r = session_get(s, place, path, take_text, bytes, e);

	if (r == -E2BIG && place == SESSION_FOLDER)
		return err_say(e, E2BIG, "it has more entries than %s of names",
			       units_say_size(bytes->max).text);
	return r;
}

/* "KIND SIZE MTIME NAME" and a NUL */
int session_entry_next(const struct text *list, size_t *at, struct session_entry *entry)
{
	const char *line = text_string(list) + *at;
	char *end = NULL;

	if (*at >= list->length)
		return 0;
	*at += strlen(line) + 1;

	uint64_t size_bytes =
		line[0] && line[1] == ' ' ? strtoull(line + 2, &end, 10) : 0;

	const char *name =
		end && end != line + 2 && *end == ' ' ? strchr(end + 1, ' ') : NULL;

	if (!name)
		return -EBADMSG;
	*entry = (struct session_entry){ line[0], size_bytes, strtoull(end + 1, NULL, 10),
					 name + 1 };
	return 1;
}

/* until the step of session_aside() is at its end */
static int hear_aside(struct session *s, struct text *out, struct err *e)
{
	uint64_t deadline_ms = session_late_ms(s);
	const struct serve_at at = { 0 };
	struct session_frame f = { 0 };

	for (;;) {
		int event = session_next(s, deadline_ms, &f);

		if (session_interrupted(s, event)) {
			serve_queue(&s->serve, WIRE_CLOSE, s->aside, &at, sizeof(at),
				    NULL, 0);
			return err_say(e, ECANCELED, "interrupted");
		}
		if (event != SERVE_FRAME || f.type == WIRE_REFUSED ||
		    (f.type == WIRE_CLOSED && !f.aside))
			return session_failed(s, event, &f, e);
		if (f.aside && (f.type == WIRE_DONE || f.type == WIRE_CLOSED))
			return 0;
		if (f.aside && f.type == WIRE_OUT)
			text_add(out, f.bytes, f.length);
	}
}

int session_aside(struct session *s, const char *code, size_t length, struct text *out,
		  struct err *e)
{
	s->aside = UINT32_MAX - s->asides++;
	session_send_once(s, s->aside, code, length);

	int r = text_check(&s->serve.to_send, "the code for a jail", e);

	if (r == 0)
		r = hear_aside(s, out, e);
	s->aside = 0;
	return r;
}
