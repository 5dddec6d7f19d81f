/* SPDX-License-Identifier: MIT */
/*
 * response.c - a server's answer while it comes in: see response.h
 */

#include "agent/base/escape.h"
#include "agent/base/utf8.h"
#include "agent/model/response.h"
#include "agent/model/settings.h"

#define FAULT_NAMES 5

/* error.code, error.type or an error's own name, as servers have them */
static const struct {
	enum fault fault;
	const char *names[FAULT_NAMES];
} faults[] = {
	{ FAULT_QUOTA,
	  { "insufficient_quota", "billing_hard_limit_reached", "billing_not_active",
	    "billing_error", "quota_exceeded" } },
	{ FAULT_LENGTH, { "context_length_exceeded", "exceed_context_size_error" } },
	{ FAULT_LASTING,
	  { "invalid_request_error", "authentication_error", "permission_error",
	    "not_found_error", "request_too_large" } },
	{ FAULT_UNKNOWN, { "rate_limit_exceeded" } }, /* whatever its type */
};

/* where servers have no name for it: words of their message, in small letters */
static const char *const too_long[] = {
	"prompt is too long",
	"maximum context length",
	"exceeds the available context size",
	"exceed context limit",
};

/* why a model stopped, as servers have it */
static const struct {
	const char *word;
	enum finish finish;
	const char *reason; /* see struct response */
} finishes[] = {
	/* chat completions */
	{ "stop", FINISH_STOP, NULL },
	{ "tool_calls", FINISH_STOP, NULL },
	{ "length", FINISH_LENGTH, NULL },
	{ "content_filter", FINISH_REFUSED, "a content filter of the server" },
	/* Anthropic's messages */
	{ "end_turn", FINISH_STOP, NULL },
	{ "stop_sequence", FINISH_STOP, NULL },
	{ "tool_use", FINISH_STOP, NULL },
	{ "max_tokens", FINISH_LENGTH, NULL },
	{ "model_context_window_exceeded", FINISH_LENGTH, NULL },
	{ "refusal", FINISH_REFUSED, "stop_reason refusal" },
};

#define BOM "\xef\xbb\xbf"

int response_ask(const struct dialect *dialect, const struct model *m,
		 const struct chat *chat, struct text *out, struct err *e)
{
	cleanup_json cJSON *body = cJSON_CreateObject();

	dialect->ask(m, chat, body);
	settings_add(body, m->plan->settings);
	json_print(body, out);
	return text_check(out, "the request to the model", e);
}

void response_begin(struct response *a, const struct dialect *dialect,
		    struct reply *reply)
{
	*a = (struct response){ .dialect = dialect, .reply = reply };
	reply_begin(reply);
}

static void find_fault(const char *name, enum fault *fault)
{
	for (size_t i = 0; i < COUNT(faults); i++)
		for (size_t k = 0; k < FAULT_NAMES && faults[i].names[k]; k++)
			if (strcmp(name, faults[i].names[k]) == 0)
				*fault = faults[i].fault;
}

enum fault response_fault(const cJSON *body, struct text *words)
{
	const cJSON *error = json_get(body, "error");
	const char *message = json_text(error, "message");
	enum fault fault = FAULT_UNKNOWN;

	if (cJSON_IsString(error))
		message = error->valuestring; /* some servers say no more than that */
	else if (!*message)
		message = json_text(body, "message");
	find_fault(json_text(error, "type"), &fault);
	find_fault(json_text(error, "code"), &fault); /* says more than the type */
	for (size_t i = 0; i < COUNT(too_long); i++)
		if (strcasestr(message, too_long[i]))
			fault = FAULT_LENGTH;
	escape_quote(words, message);
	if (fault == FAULT_QUOTA)
		text_puts(words, " (a quota is used up, and waiting does not help)");
	return fault;
}

void response_finish(struct response *a, const char *word)
{
	if (!word)
		return;
	a->ended = true;
	for (size_t i = 0; i < COUNT(finishes); i++)
		if (strcmp(word, finishes[i].word) == 0) {
			a->reason = finishes[i].reason;
			/* a refusal in words of its own may end with "stop" */
			if (a->reply->finish != FINISH_REFUSED)
				a->reply->finish = finishes[i].finish;
		}
}

void response_text(struct text *into, const cJSON *object, const char *name)
{
	const char *piece = json_text(object, name);

	utf8_mend(into, piece, strlen(piece));
}

long response_number(const cJSON *piece)
{
	uint32_t number;

	return json_u32(piece, "index", &number) ? (long)number : -1;
}

void response_arguments(struct call *c, const cJSON *piece)
{
	if (cJSON_IsString(piece))
		text_puts(&c->arguments, piece->valuestring);
	else if (cJSON_IsObject(piece))
		json_print(piece, &c->arguments);
}

/* of fields but "data", and of comments, nothing is kept */
static void add_field(struct text *data, const char *line, size_t length)
{
	static const char name[] = "data";
	size_t at = sizeof(name) - 1;

	if (length < at || memcmp(line, name, at) != 0 ||
	    (length > at && line[at] != ':'))
		return;
	at += length > at; /* the colon, and one blank behind it */
	at += length > at && line[at] == ' ';
	text_add(data, line + at, length - at);
	text_puts(data, "\n");
}

static void take_line(struct sse *s)
{
	const char *line = text_string(&s->line);
	size_t length = s->line.length;

	if (length && line[length - 1] == '\r')
		length--;
	if (!s->begun && length >= strlen(BOM) && memcmp(line, BOM, strlen(BOM)) == 0) {
		line += strlen(BOM);
		length -= strlen(BOM);
	}
	s->begun = true;
	if (length)
		add_field(&s->data, line, length);
	s->whole = !length && s->data.length;
	if (s->whole)
		s->data.bytes[--s->data.length] = '\0'; /* the last newline */
	text_clear(&s->line);
}

/* the next bytes, up to the end of an event that has data: 1, s->data being that without
 * its last newline; 0: all is taken; -E2BIG. @bytes and @length are moved behind what was
 * taken */
static int next_event(struct sse *s, const char **bytes, size_t *length, struct err *e)
{
	if (s->whole)
		text_clear(&s->data);
	s->whole = false;
	s->line.max = SSE_EVENT_MAX;
	s->data.max = SSE_EVENT_MAX;
	while (*length && !s->whole) {
		const char *end = memchr(*bytes, '\n', *length);
		size_t part = end ? (size_t)(end - *bytes) : *length;
		size_t taken = part + (end ? 1 : 0);

		text_add(&s->line, *bytes, part);
		*bytes += taken;
		*length -= taken;
		s->total += taken;
		if (end && !s->line.failed)
			take_line(s);
		bool event = s->line.failed || s->data.failed;

		if (event || s->total > SSE_STREAM_MAX)
			return err_say(e, E2BIG,
				       "the model's server sent %s longer than %zu bytes",
				       event ? "an event" : "a stream",
				       event ? SSE_EVENT_MAX : SSE_STREAM_MAX);
	}
	return s->whole;
}

/* what a server says in place of an answer, or in the middle of one; 0 where it says
 * nothing */
static int fail(const cJSON *body, struct err *e)
{
	cleanup_text struct text words = { 0 };
	const cJSON *error = json_get(body, "error");

	if (!cJSON_IsObject(error) && !cJSON_IsString(error))
		return 0;

	enum fault fault = response_fault(body, &words);

	return err_say(e,
		       fault == FAULT_LENGTH    ? EMSGSIZE
		       : fault == FAULT_UNKNOWN ? EAGAIN
						: EBADMSG,
		       "the model's server failed in its answer%s", text_string(&words));
}

/* every piece that did not fit is found here, and not where it was added */
static int check_sizes(const struct reply *r, struct err *e)
{
	int bad = text_check(&r->text, "the model's reply", e);

	if (bad == 0)
		bad = text_check(&r->reasoning, "the model's reasoning", e);
	for (size_t i = 0; bad == 0 && i < r->call_count; i++)
		bad = text_check(&r->calls[i].arguments, "the arguments of a call", e);
	return bad;
}

/* an event, or an answer that is no stream; changed in place */
static int take_json(struct response *a, char *json, size_t length, bool streamed,
		     struct err *e)
{
	cleanup_json cJSON *root = NULL;
	int r;

	if (json_crowded(json, length))
		return err_say(
			e, E2BIG,
			"the model's server sent more than %d values in one piece of JSON",
			JSON_VALUES_MAX);
	if (json_mend(json, length))
		a->reply->nul = true;
	root = json_parse(json, length);
	/* before anything of it is cut, for half of the key is not found */
	(void)mask_json(a->mask, root);
	if (streamed && !cJSON_IsObject(root))
		r = err_say(e, EAGAIN,
			    "an event of the model's answer is not a JSON object");
	else if (!root)
		r = err_say(e, EBADMSG, "the model's answer is not JSON");
	else if ((r = fail(root, e)) == 0)
		r = a->dialect->event(a, root, streamed, e);
	if (!streamed)
		a->ended = a->done = r == 0;
	return r < 0 ? r : check_sizes(a->reply, e);
}

int response_feed(struct response *a, const char *bytes, size_t length, struct err *e)
{
	struct text *data = &a->sse.data;
	int r = 0;

	while (r == 0 && !a->done && (r = next_event(&a->sse, &bytes, &length, e)) > 0) {
		a->done = strcmp(data->bytes, "[DONE]") == 0;
		r = a->done ? 0 : take_json(a, data->bytes, data->length, true, e);
	}
	return r;
}

int response_body(struct response *a, char *body, size_t length, struct err *e)
{
	return take_json(a, body, length, false, e);
}

int response_end(struct response *a, struct err *e)
{
	cleanup_text struct text words = { 0 };

	if (!a->ended && !a->done)
		return err_say(
			e, EAGAIN, "%s",
			a->begun ? "the model's answer broke off: its end is missing"
				 : "the model's answer broke off before it began");
	if (a->reply->finish != FINISH_REFUSED)
		return 0;
	/* events may have cut it */
	(void)mask_cover(a->mask, a->reply->text.bytes, a->reply->text.length, 0);
	escape_quote(&words, text_string(&a->reply->text));
	return err_say(e, EBADMSG, "the model refused%s%s%s%s", a->reason ? " (" : "",
		       a->reason ? a->reason : "", a->reason ? ")" : "",
		       text_string(&words));
}

void response_free(struct response *a)
{
	text_free(&a->sse.line);
	text_free(&a->sse.data);
}
