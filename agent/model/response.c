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
	{ "overloaded_error", FAULT_PASSING },
	{ "rate_limit_error", FAULT_PASSING },
	{ "rate_limit_exceeded", FAULT_PASSING },
	{ "timeout_error", FAULT_PASSING },
	{ "api_error", FAULT_PASSING },
	{ "server_error", FAULT_PASSING },
};

/* where servers have no name for it: words of their message, in small letters */
static const char *const too_long[] = {
	"prompt is too long",
	"maximum context length",
	"exceeds the available context size",
	"exceed context limit",
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
	for (size_t i = 0; name && i < sizeof(faults) / sizeof(faults[0]); i++)
		if (strcmp(name, faults[i].name) == 0)
			*fault = faults[i].fault;
}

/* before anything is cut off, for the half of a key is not found */
static void cover(const struct mask *mask, const char *words, size_t length)
{
	if (mask && words)
		mask_cover(mask, (char *)(uintptr_t)words, length);
}

enum fault response_fault(const cJSON *body, const struct mask *mask, struct text *words)
{
	const cJSON *error = json_get(body, "error");
	const char *message = json_string(error, "message");
	enum fault fault = FAULT_UNKNOWN;

	if (cJSON_IsString(error))
		message = error->valuestring; /* some servers say no more than that */
	else if (!message)
		message = json_string(body, "message");
	cover(mask, message, message ? strlen(message) : 0);
	find_fault(json_string(error, "type"), &fault);
	find_fault(json_string(error, "code"), &fault); /* says more than the type */
	for (size_t i = 0; message && i < sizeof(too_long) / sizeof(too_long[0]); i++)
		if (strcasestr(message, too_long[i]))
			fault = FAULT_LENGTH;
	if (message)
		escape_line(words, message,
			    utf8_floor(message, strlen(message), RESPONSE_WORDS_MAX));
	return fault;
}

void response_quote(const struct text *words, struct text *out)
{
	if (!words->length)
		return;
	text_puts(out, ": ");
	escape_name(out, words->bytes, words->length);
}

void response_tokens(struct response *a, const cJSON *usage, const char *prompt,
		     const char *completion)
{
	if (json_count(usage, prompt, &a->prompt_tokens))
		a->counted = true;
	if (json_count(usage, completion, &a->completion_tokens))
		a->counted = true;
}

void response_cached(const struct response *a, struct usage *u)
{
	uint64_t asked = a->prompt_tokens;
	uint64_t cached = a->cached_tokens < asked ? a->cached_tokens : asked;
	uint64_t written = a->cache_write_tokens;

	u->cached_tokens += cached;
	u->cache_write_tokens += written < asked - cached ? written : asked - cached;
}

void response_finish(struct response *a, const char *name,
		     const struct finish_name *names, size_t count)
{
	a->ended = true;
	for (size_t i = 0; i < count; i++)
		if (strcmp(name, names[i].name) == 0)
			a->reply->finish = names[i].finish;
}

void response_text(struct text *into, const char *piece)
{
	utf8_mend(into, piece, strlen(piece));
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
	cleanup_text struct text quoted = { 0 };
	enum fault fault = response_fault(body, a->mask, &words);
	int errnum = fault == FAULT_LENGTH                            ? EMSGSIZE
		     : fault == FAULT_QUOTA || fault == FAULT_LASTING ? EBADMSG
								      : EAGAIN;

	response_quote(&words, &quoted);
	return err_say(e, errnum, "the model's server failed in its answer%s%s",
		       text_string(&quoted),
		       fault == FAULT_QUOTA ? " (no waiting mends a used-up quota)" : "");
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
	if (bad == 0)
		bad = text_check(&r->refusal, "the model's refusal", e);
	for (size_t i = 0; bad == 0 && i < r->call_count; i++)
		bad = text_check(&r->calls[i].arguments, "the arguments of a call", e);
	return bad;
}

static int check_crowd(const char *json, size_t length, struct err *e)
{
	if (!json_crowded(json, length))
		return 0;
	return err_say(e, E2BIG,
		       "the model's server sent more than %d values in one piece of JSON",
		       JSON_VALUES_MAX);
}

static int take_event(void *arg, char *data, size_t length, struct err *e)
{
	struct response *a = arg;
	cJSON *event;
	int r = check_crowd(data, length, e);

	if (a->done || r < 0)
		return r;
	if (strcmp(data, "[DONE]") == 0) {
		a->done = true;
		return 0;
	}
	if (json_mend(data, length))
		a->reply->nul = true;
	event = json_parse(data, length);
	if (!cJSON_IsObject(event))
		r = err_say(e, EAGAIN,
			    "an event of the model's answer is not a JSON object");
	else if (tells_error(event))
		r = fail(a, event, e);
	else
		r = a->dialect->event(a, event, e);
	cJSON_Delete(event);
	return r < 0 ? r : check_sizes(a->reply, e);
}

int response_feed(struct response *a, const char *bytes, size_t length, struct err *e)
{
	const struct sse_reader reader = { .take = take_event, .arg = a };

	return a->done ? 0 : sse_feed(&a->sse, bytes, length, &reader, e);
}

int response_body(struct response *a, char *body, size_t length, struct err *e)
{
	cJSON *root;
	int r = check_crowd(body, length, e);

	if (r < 0)
		return r;
	if (json_mend(body, length))
		a->reply->nul = true;
	root = json_parse(body, length);
	if (!root)
		r = err_say(e, EBADMSG, "the model's answer is not JSON");
	else if (tells_error(root))
		r = fail(a, root, e);
	else
		r = a->dialect->whole(a, root, e);
	cJSON_Delete(root);
	a->ended = a->done = r == 0;
	return r < 0 ? r : check_sizes(a->reply, e);
}

int response_end(struct response *a, struct err *e)
{
	cleanup_text struct text shown = { 0 };
	cleanup_text struct text quoted = { 0 };
	const struct text *words = &a->reply->text;

	if (a->reply->refusal.length)
		words = &a->reply->refusal;
	if (!a->begun && !a->ended && !a->done)
		return err_say(e, EAGAIN, "the model's answer broke off before it began");
	if (!a->ended && !a->done)
		return err_say(e, EAGAIN,
			       "the model's answer broke off: its end is missing");
	if (a->reply->finish != FINISH_REFUSED)
		return 0;
	cover(a->mask, words->bytes, words->length);
	escape_line(&shown, text_string(words),
		    utf8_floor(text_string(words), words->length, RESPONSE_WORDS_MAX));
	response_quote(&shown, &quoted);
	return err_say(e, EBADMSG, "the model refused%s%s%s%s", a->reason ? " (" : "",
		       a->reason ? a->reason : "", a->reason ? ")" : "",
		       text_string(&quoted));
}
