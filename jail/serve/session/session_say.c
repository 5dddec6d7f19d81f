/* SPDX-License-Identifier: MIT */
/*
 * session_say.c - a session's answers in JSON: see init/serve_wire.h and stepjail(1)
 */
#include <string.h>

#include "jail/serve/session/session.h"
#include "jail/base/version.h"
#include "jail/walls/seccomp/denied_without.h"
#include "jail/watch/confine.h"
#include "jail/watch/report.h"

/* of an object, so that it fits into a frame behind struct serve_at */
#define JSON_BYTES (WIRE_PAYLOAD_MAX - 64)

static char json[JSON_BYTES]; /* the one that is being written */

static FILE *begin(void)
{
	json[0] = '\0';
	return fmemopen(json, JSON_BYTES, "w");
}

/* a frame that is missing would be a lie */
void serve_lacks(struct serve *s, int r, size_t bytes)
{
	if (r == 0 || s->status != 0)
		return;
	s->status = r;
	(void)err_set(&s->error, -r, "serve: %zu bytes for the client", bytes);
	s->ending = true;
}

void serve_put(struct serve *s, uint16_t type, uint32_t session, uint32_t branch,
	       const void *payload, size_t length)
{
	const struct serve_at at = { branch };
	struct session *of = session_find(s, session);
	struct queue *held = of ? shared_holds(of, branch) : NULL;

	serve_lacks(s,
		    queue_put(held ? held : &s->queue, type, session, &at, sizeof(at),
			      payload, length),
		    length);
}

static void put(struct serve *serve, uint16_t type, uint32_t session, uint32_t branch,
		FILE *out)
{
	ssize_t n = out ? json_close(out, json, JSON_BYTES) : -1;

	if (n < 0)
		n = snprintf(json, JSON_BYTES,
			     "{\"error\":\"the answer is too long for a frame\"}");
	serve_put(serve, type, session, branch, json, (size_t)n);
}

void say_refused(struct serve *serve, uint32_t session, uint32_t branch,
		 const struct refusal *why, const char *text)
{
	FILE *out = begin();

	if (out) {
		(void)fprintf(out, "{\"kind\":\"%s\"", refusal_words[why->kind]);
		json_after(",\"limit\":", why->limit, out);
		json_after(",\"frame\":", why->frame, out);
		json_number(",\"step\":", why->step != 0, why->step, out);
		json_after(",\"error\":", text, out);
		(void)fputc('}', out);
	}
	put(serve, WIRE_REFUSED, session, branch, out);
}

void say_closed(struct session *s)
{
	FILE *out = begin();

	if (out) {
		json_after("{\"reason\":", s->reason, out);
		(void)fputc('}', out);
	}
	put(s->serve, WIRE_CLOSED, s->number, 0, out);
}

void say_opened(struct session *s)
{
	static char facts[JSON_BYTES];
	ssize_t n = pread(s->facts, facts, JSON_BYTES - 1, 0);
	FILE *out = begin();

	if (out && n > 0) {
		facts[n] = '\0';
		(void)fputs("{\"stepjail\":\"" STEPJAIL_VERSION "\"", out);
		(void)fprintf(out, ",\"session\":%u,\"posture\":{", s->number);
		report_digests(s->serve->plan, s->serve->root, out);
		(void)fputs(facts, out);
		denied_print(denied_without_lacks(s->limited,
						  s->serve->confinement->landlock_abi,
						  s->serve->plan),
			     out);
		confine_print(",\"supervisor\":", s->serve->confinement, out);
		(void)fputc('}', out);
	}
	put(s->serve, WIRE_OPENED, s->number, 0, out);
	io_close_fd(&s->facts);
}

static void print_tail(const struct stream *o, FILE *out)
{
	unsigned char text[OUT_TAIL_BYTES];
	uint64_t cut = o->bytes - o->sent;
	size_t length = cut < OUT_TAIL_BYTES ? (size_t)cut : OUT_TAIL_BYTES;

	for (size_t i = 0; i < length; i++)
		text[i] = o->tail[(o->bytes - length + i) % OUT_TAIL_BYTES];
	json_bytes(out, text, length);
}

static void print_output(const struct step *step, FILE *out)
{
	static const char *const names[CAPTURE_STREAMS] = { "stdout", "stderr" };
	uint64_t cut = 0;

	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		const struct stream *o = &step->out[i];

		(void)fprintf(out,
			      "%s\"%s_bytes\":%" PRIu64 ",\"%s_cut\":%" PRIu64
			      ",\"%s_tail\":",
			      i ? "," : ",\"output\":{", names[i], o->bytes, names[i],
			      o->bytes - o->sent, names[i]);
		print_tail(o, out);
		cut += o->bytes - o->sent;
	}
	(void)fprintf(out, ",\"cut\":%" PRIu64 "}", cut);
}

static void print_media(const struct media_seen *seen, FILE *out)
{
	if (seen->objects == 0)
		(void)fputs(",\"media\":null", out);
	else
		(void)fprintf(out,
			      ",\"media\":{\"objects\":%u,\"bytes\":%" PRIu64
			      ",\"left_out\":%u}",
			      seen->objects, seen->bytes - seen->due, seen->left_out);
}

uint64_t step_memory(const struct step *step)
{
	return step->have_exit ? step->exit.max_rss_bytes : step->done.max_rss_bytes;
}

static void print_done(const struct step *step, const struct judgement *j, bool kept,
		       const char *reason, FILE *out)
{
	struct session *s = step->session;
	bool open = s->phase == PHASE_OPEN;
	const char *state = kept ? "kept" : open ? "rolled-back" : "lost";
	uint64_t peak = step_memory(step), limit[LIMIT_COUNT];

	(void)fprintf(out,
		      "{\"step\":%u,\"branch\":%u,\"verdict\":\"%s\",\"state\":\"%s\"",
		      step->number, step->branch, verdict_names[j->verdict], state);
	json_number(",\"state_number\":", open, kept ? step->number : step->from, out);
	json_after(",\"reason\":", reason, out);
	(void)fprintf(out, ",\"not_rolled_back\":%s",
		      step->have_shares && open && !kept ? shared_text(step->shares)
							 : "null");
	(void)fputs(",\"states_dropped\":[", out);
	for (size_t i = 0; i < s->dropped_count; i++)
		(void)fprintf(out, "%s%u", i ? "," : "", s->dropped[i]);
	(void)fputc(']', out);
	s->dropped_count = 0;
	json_number(",\"exit_code\":", j->exit_code >= 0, (uint64_t)j->exit_code, out);
	json_number(",\"signal\":", j->signal != 0, (uint64_t)j->signal, out);
	json_after(",\"violation\":", violation_name(&step->refused), out);
	(void)fputs(",\"violations\":", out);
	violation_print(&step->refused, s->listened, out);
	memcpy(limit, s->serve->plan->limit, sizeof(limit));
	limit[LIMIT_WALL_MS] = step->limits.wall_ms;
	limit[LIMIT_CPU_MS] = step->limits.cpu_ms;
	report_limits(j, limit, out);
	json_number(",\"wall_ms\":", step->start_ms != 0,
		    step->start_ms ? clock_now_ms() - step->start_ms : 0, out);
	json_number(",\"cpu_ms\":", true, step->cpu_used_us / 1000, out);
	json_number(",\"memory_peak_bytes\":", peak != 0, peak, out);
	print_output(step, out);
	print_media(&step->media.seen, out);
	egress_print(&s->egress, &s->egress_told, out);
	(void)fprintf(out, ",\"strays\":%d,\"threads\":%u}",
		      step->strays < 0 ? 1 : step->strays, step->threads);
}

void say_done(struct step *step, const struct judgement *j, bool kept, const char *reason)
{
	FILE *out = begin();

	if (out)
		print_done(step, j, kept, reason, out);
	put(step->session->serve, WIRE_DONE, step->session->number, step->branch, out);
}

/* but for its closing brace */
static void print_session(const struct session *s, FILE *out)
{
	const struct states *t = &s->states;
	const char *comma = "";

	(void)fprintf(out, "{\"session\":%u,\"open\":%s,\"branches\":{", s->number,
		      s->phase == PHASE_OPEN ? "true" : "false");
	for (unsigned int i = 0; i < t->branches; i++) {
		const struct branch *b = &t->branch[i];

		(void)fprintf(out, "%s\"%u\":{\"state\":%u,\"lost\":%s", i ? "," : "",
			      b->name, b->head, b->lost ? "true" : "false");
		json_number(",\"step\":", b->step != NULL, b->step ? b->step->number : 0,
			    out);
		(void)fputc('}', out);
	}
	(void)fputs("},\"states\":[", out);
	for (unsigned int i = 0; s->phase == PHASE_OPEN && i < t->count; i++) {
		const struct state *state = t->state[i];

		if (state->ending)
			continue;
		(void)fprintf(out, "%s{\"state\":%u,\"parent\":%u,\"bytes\":%" PRIu64 "}",
			      comma, state->number, state->parent, state->bytes);
		comma = ",";
	}
	(void)fprintf(out, "],\"restless\":%u,\"elsewhere\":", s->restless);
	violation_print(&s->elsewhere, s->listened, out);
}

void say_status(struct serve *serve, struct session *s, uint32_t branch, bool moved)
{
	FILE *out = begin();

	if (out && moved) {
		print_session(s, out);
		if (json_close(out, json, JSON_BYTES - SHARED_BYTES) > 0) {
			shared_wait(s, branch, json);
			return;
		}
		out = NULL;
	} else if (out && s) {
		print_session(s, out);
		(void)fputc('}', out);
	} else if (out) {
		(void)fprintf(out,
			      "{\"sessions\":%" PRIu64 ",\"sessions_max\":%" PRIu64
			      ",\"steps\":%" PRIu64 "}",
			      serve->sessions, serve->plan->limit[LIMIT_SESSIONS],
			      serve->steps);
	}
	put(serve, WIRE_STATE, s ? s->number : 0, branch, out);
}
