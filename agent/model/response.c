/* SPDX-License-Identifier: MIT */
/*
 * response.c - a server's answer while it comes in: see response.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/base/utf8.h"
#include "agent/model/response.h"

/* error.code, error.type or an error's own name, as servers have them */
static const struct {
	const char *name;
	enum fault fault;
} faults[] = {
	{ "insufficient_quota", FAULT_QUOTA },
	{ "billing_hard_limit_reached", FAULT_QUOTA },
	{ "billing_not_active", FAULT_QUOTA },
	{ "billing_error", FAULT_QUOTA },
	{ "quota_exceeded", FAULT_QUOTA },
	{ "context_length_exceeded", FAULT_LENGTH },
	{ "exceed_context_size_error", FAULT_LENGTH },
	{ "invalid_request_error", FAULT_LASTING },
	{ "authentication_error", FAULT_LASTING },
	{ "permission_error", FAULT_LASTING },
	{ "not_found_error", FAULT_LASTING },
	{ "request_too_large", FAULT_LASTING },
	{ "rate_limit_exceeded", FAULT_UNKNOWN }, /* whatever its type */
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

int response_ask(const struct dialect *dialect, const struct question *q,
		 struct text *out, struct err *e)
{
	cJSON *body = cJSON_CreateObject();

	dialect->ask(q, body);
	json_print(body, out);
	cJSON_Delete(body);
	return text_check(out, "the request to the model", e);
}

void response_begin(struct response *a, const struct dialect *dialect,
		    struct reply *reply)
{
	*a = (struct response){ .dialect = dialect, .reply = reply };
	reply_begin(reply);
}

void response_free(struct response *a)
{
	sse_free(&a->sse);
}

static void find_fault(const char *name, enum fault *fault)
{
	for (size_t i = 0; i < COUNT(faults); i++)
		if (strcmp(name, faults[i].name) == 0)
			*fault = faults[i].fault;
}

/* words for an error line, in quotes behind a colon; nothing where there are none. The
 * key is looked for before they are cut, for half of it is not found. */
static void quote(const struct mask *mask, const char *words, struct text *out)
{
	if (!*words)
		return;
	if (mask)
		mask_cover(mask, (char *)(uintptr_t)words, strlen(words));
	text_puts(out, ": ");
	escape_name(out, words, strlen(words));
}

enum fault response_fault(const cJSON *body, const struct mask *mask, struct text *words)
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
	quote(mask, message, words);
	if (fault == FAULT_QUOTA)
		text_puts(words, " (a quota is used up, and waiting does not help)");
	return fault;
}

void response_cached(const struct response *a, struct usage *u)
{
	uint64_t asked = a->prompt_tokens;
	uint64_t cached = a->cached_tokens < asked ? a->cached_tokens : asked;
	uint64_t written = a->cache_write_tokens;

	u->cached_tokens += cached;
	u->cache_write_tokens += written < asked - cached ? written : asked - cached;
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

/* what a server says in place of an answer, or in the middle of one */
static int fail(const struct response *a, const cJSON *body, struct err *e)
{
	cleanup_text struct text words = { 0 };
	enum fault fault = response_fault(body, a->mask, &words);
	int errnum = fault == FAULT_LENGTH                            ? EMSGSIZE
		     : fault == FAULT_QUOTA || fault == FAULT_LASTING ? EBADMSG
								      : EAGAIN;

	return err_say(e, errnum, "the model's server failed in its answer%s",
		       text_string(&words));
}

static bool tells_error(const cJSON *body)
{
	const cJSON *error = json_get(body, "error");

	return cJSON_IsObject(error) || cJSON_IsString(error);
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
	cJSON *root;
	int r;

	if (json_crowded(json, length))
		return err_say(
			e, E2BIG,
			"the model's server sent more than %d values in one piece of JSON",
			JSON_VALUES_MAX);
	if (json_mend(json, length))
		a->reply->nul = true;
	root = json_parse(json, length);
	if (streamed && !cJSON_IsObject(root))
		r = err_say(e, EAGAIN,
			    "an event of the model's answer is not a JSON object");
	else if (!root)
		r = err_say(e, EBADMSG, "the model's answer is not JSON");
	else if (tells_error(root))
		r = fail(a, root, e);
	else
		r = (streamed ? a->dialect->event : a->dialect->whole)(a, root, e);
	cJSON_Delete(root);
	if (!streamed)
		a->ended = a->done = r == 0;
	return r < 0 ? r : check_sizes(a->reply, e);
}

int response_feed(struct response *a, const char *bytes, size_t length, struct err *e)
{
	struct text *data = &a->sse.data;
	int r = 0;

	while (r == 0 && !a->done && (r = sse_next(&a->sse, &bytes, &length, e)) > 0) {
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

	if (!a->begun && !a->ended && !a->done)
		return err_say(e, EAGAIN, "the model's answer broke off before it began");
	if (!a->ended && !a->done)
		return err_say(e, EAGAIN,
			       "the model's answer broke off: its end is missing");
	if (a->reply->finish != FINISH_REFUSED)
		return 0;
	quote(a->mask, text_string(&a->reply->text), &words);
	return err_say(e, EBADMSG, "the model refused%s%s%s%s", a->reason ? " (" : "",
		       a->reason ? a->reason : "", a->reason ? ")" : "",
		       text_string(&words));
}
