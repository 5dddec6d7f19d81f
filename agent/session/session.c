/* SPDX-License-Identifier: MIT */
/*
 * session.c - a session of `stepjail serve`: its beginning, end and frames. See
 * session.h; steps are in step.c, requests in request.c.
 */

#include "agent/base/units.h"
#include "agent/base/version.h"
#include "agent/session/report.h"
#include "agent/session/session.h"
#include "init/serve_wire.h"

#define START_MS 30000  /* from OPEN to OPENED */
#define GOODBYE_MS 1000 /* for stepjail to end by itself and say why */

void session_send(struct session *s, uint16_t type, const void *bytes, size_t length)
{
	const struct serve_at at = { s->branch };

	serve_queue(&s->serve, type, s->id, &at, sizeof(at), bytes, length);
}

void session_send_pieces(struct session *s, uint16_t type, uint32_t id, uint32_t branch,
			 const char *bytes, size_t length)
{
	const struct serve_at at = { branch };

	while (length) {
		size_t piece = length < SESSION_PIECE ? length : SESSION_PIECE;

		serve_queue(&s->serve, type, id, &at, sizeof(at), bytes, piece);
		bytes += piece;
		length -= piece;
	}
}

static bool is_ours(uint16_t type)
{
	return (type >= WIRE_OUT && type <= WIRE_DONE) || type == WIRE_MEDIA ||
	       type == WIRE_PIECE || (type >= WIRE_OPENED && type <= WIRE_WALL);
}

static bool is_json(uint16_t type)
{
	return type == WIRE_DONE || (type >= WIRE_OPENED && type != WIRE_DATA);
}

bool session_interrupted(struct session *s, int event)
{
	if (event != -EINTR || !s->plan->interactive || s->serve.stop->signal != SIGINT)
		return false;
	s->serve.stop->signal = 0;
	return true;
}

/* true where the frame is one for whoever waits */
static bool take_frame(struct session *s, const struct session_frame *f)
{
	/* STDIN, INTERRUPT or KILL came when the step had just ended */
	if (f->type == WIRE_REFUSED && report_says(f->json, "kind", "no-step"))
		return false;
	if (f->type == WIRE_REFUSED || f->type == WIRE_CLOSED)
		report_words(f->json, s->reason, sizeof(s->reason));
	if (f->aside)
		return true;
	if (f->type == WIRE_OPENED) {
		cJSON_Delete(s->opened);
		s->opened = cJSON_Duplicate(f->json, true);
	}
	if (f->type == WIRE_CLOSED)
		s->open = false;
	return true;
}

int session_next(struct session *s, uint64_t deadline_ms, struct session_frame *f)
{
	struct wire_header h;
	struct serve_at at;

	do {
		int event = serve_pump(&s->serve, deadline_ms);

		if (event == SERVE_QUIET)
			continue;
		if (event != SERVE_FRAME)
			return event;

		const unsigned char *payload = wire_reader_take(&s->serve.reader, &h);

		if (!is_ours(h.type) || h.length < sizeof(at)) {
			s->serve.breach = true;
			return SERVE_GONE;
		}
		if (h.type == WIRE_WALL && !s->wall)
			s->wall = json_parse((const char *)payload + sizeof(at),
					     h.length - sizeof(at));
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
		cJSON_Delete(s->json);
		s->json = is_json(f->type) ? json_parse(f->bytes, f->length) : NULL;
		f->json = s->json;
		if (take_frame(s, f))
			return SERVE_FRAME;
	} while (units_left_ms(deadline_ms));
	return SERVE_QUIET;
}

int session_failed(struct session *s, int event, const struct session_frame *f,
		   struct err *e)
{
	bool breach = s->serve.breach || event == SERVE_FRAME;

	if (event == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	if (event == SERVE_FRAME && f->type == WIRE_REFUSED)
		return err_say(e, EPERM, "%s",
			       s->reason[0] ? s->reason : "stepjail refused that");
	if (event == SERVE_FRAME && f->type == WIRE_CLOSED)
		return err_say(e, ENOTCONN, "the session has ended%s%s",
			       s->reason[0] ? ": " : "", s->reason);
	serve_end(&s->serve, event == SERVE_GONE && !breach ? GOODBYE_MS : 0);
	s->open = false;
	if (event == SERVE_QUIET)
		return err_say(e, ENOTCONN,
			       "stepjail did not answer in time, and was ended");
	if (breach)
		return err_say(e, ENOTCONN,
			       "stepjail sent an invalid frame, and was ended");
	return err_say(e, ENOTCONN, "stepjail has ended, and the session with it");
}

static int put_files(struct session *s, struct err *e)
{
	for (size_t i = 0; i < s->plan->binds->put_count; i++) {
		const struct session_file *f = &s->plan->binds->puts[i];

		if (session_put(s, f->fd, f->path, e) < 0)
			return err_within(e, "the jail's /work/%s: ", f->path);
	}
	return 0;
}

int session_fits(const struct session_frame *f, struct err *e)
{
	const char *version = json_text(f->json, "stepjail");

	if (strcmp(version, AGENT_VERSION) == 0)
		return 0;
	return err_say(
		e, EPROTO,
		"the jail did not start: this is stepjail-agent " AGENT_VERSION
		", and its stepjail is %.40s: install both from one build, or name the right one with --stepjail PATH",
		*version ? version : "an older one");
}

/* OPEN, and wait for OPENED */
static int begin(struct session *s, struct err *e)
{
	struct session_frame f = { 0 };
	struct err plain;
	int r;

	s->branch = s->state = 0;
	s->id++;
	s->jails++;
	s->reason[0] = '\0';
	session_send(s, WIRE_OPEN, NULL, 0);

	int event = session_next(s, units_now_ms() + START_MS, &f);

	if (event == SERVE_FRAME && f.type == WIRE_OPENED && cJSON_IsObject(f.json)) {
		s->open = true;
		r = session_fits(&f, e);
		return r < 0 ? r : put_files(s, e);
	}
	if (session_failed(s, event, &f, &plain) != -EINTR)
		return serve_failed(&s->serve, s->reason, plain.text, e);
	*e = plain;
	return -EINTR;
}

int session_renew(struct session *s, struct err *e)
{
	int r = 0;

	if (s->open)
		session_send(s, WIRE_CLOSE, NULL, 0);
	s->open = false;
	if (s->serve.socket < 0) {
		cJSON_Delete(s->wall);
		s->wall = NULL;
		r = broker_start(s->plan->broker, &s->serve.socket, &s->serve.diag_fd,
				 &s->serve.child, e);
	}
	if (r < 0)
		serve_end(&s->serve, 0);
	else if (!s->plan->stateless) /* or each step begins one */
		r = begin(s, e);
	return r;
}

int session_open(struct session *s, const struct session_plan *plan, struct stop *stop,
		 struct err *e)
{
	*s = (struct session){ .plan = plan };
	serve_init(&s->serve, stop);
	return session_renew(s, e);
}

void session_close(struct session *s)
{
	if (s->plan)
		serve_end(&s->serve, 0);
	cJSON_Delete(s->json);
	cJSON_Delete(s->opened);
	media_clear(&s->media);
	cJSON_Delete(s->done);
	cJSON_Delete(s->wall);
	*s = (struct session){ .id = s->id, .jails = s->jails };
}
