/* SPDX-License-Identifier: MIT */
/*
 * server.c - a model behind a server: chat completions, or Anthropic's messages
 *
 * Theory of operation
 *   A question is written once and posted; the answer comes as a stream of events, or
 *   from servers that do not stream as one body. What can go wrong is told in one line
 *   each; what may pass by waiting is tried again, as long as tries and the wall budget
 *   last. An answer that broke off is thrown away as a whole: half an answer is none.
 *
 *   The key is in the model client (client.h), which posts, and overwrites the key in
 *   what a server sends: some quote it in their errors. Where it comes in pieces, one an
 *   event, or behind an escape, it is found by a mask (mask.h): in each event as it is
 *   read (response.c), in what is passed on here, and in the whole reply (model.c).
 *
 *   Tokens are counted as the server tells. Where it tells none, they are judged by bytes
 *   and it is said that they are, so that a budget holds with any server.
 */
#include <stdio.h>
#include <sys/random.h>

#include "agent/base/escape.h"
#include "agent/base/memory.h"
#include "agent/base/units.h"
#include "agent/model/response.h"

#define LONGEST_WAIT 40 /* times the first one */

/* as often as it stands there */
static void cut_end(char *url, const char *end)
{
	size_t more = strlen(end);

	for (size_t n = strlen(url); n > more && strcmp(url + n - more, end) == 0;
	     n -= more)
		url[n - more] = '\0';
}

/* the client says what it has no use for: a bad key, an address that is none */
static int open_client(struct model *m, struct err *e)
{
	const struct provider *from = m->provider;
	const struct model_plan *p = m->plan;
	cleanup_text struct text url = { 0 };

	text_printf(&url, "%s%s", m->base_url, from->dialect->path);

	const struct client_plan plan = {
		.place = { .url = text_string(&url),
			   .key_prefix = from->dialect->key_prefix,
			   .header = from->dialect->header },
		.key_file = p->key_file,
		.header_file = p->header_file,
		.key_variable = from->key_variable,
		.required = p->require_confinement,
	};

	/* it would stand before the path, and in the transcript: its words are in no
	 * message */
	if (strpbrk(m->base_url, "?#"))
		return err_say(
			e, EINVAL,
			"--base-url: it has a query ('?') or a fragment ('#'): give the part before that; a key goes into --key-file, other secrets into headers of --header-file");
	if (!strstr(m->base_url, "://"))
		return err_say(
			e, EINVAL,
			"--base-url: '%.200s' does not begin with http:// or https://: write https://%.200s",
			m->base_url, m->base_url);
	if (client_open(&m->client, &plan, p->stop, e) < 0)
		return -e->errnum;
	if (!m->client->hello.has_key && from->key_variable &&
	    strncmp(m->base_url, from->base_url, strcspn(from->base_url + 8, "/") + 8) ==
		    0)
		return err_say(
			e, EINVAL,
			"--model %s: no key; set STEPJAIL_API_KEY or %s, or give --key-file FILE",
			from->name, from->key_variable);
	return 0;
}

int server_open(struct model *m, struct err *e)
{
	const struct provider *from = m->provider;
	const struct model_plan *p = m->plan;
	/* as other programs that speak to OpenAI's have it */
	const char *variable = !p->base_url && strcmp(from->name, "openai") == 0
				       ? getenv("OPENAI_BASE_URL")
				       : NULL;

	if (!p->model_name)
		return err_say(e, EINVAL,
			       "--model %s: which model? give --model-name NAME",
			       from->name);
	if (variable && !*variable)
		variable = NULL;
	m->base_url = memory_string(variable      ? variable
				    : p->base_url ? p->base_url
						  : from->base_url);
	cut_end(m->base_url, "/");
	cut_end(m->base_url, from->dialect->path); /* it is added here */
	cut_end(m->base_url, "/");
	if (open_client(m, e) < 0)
		return variable && e->errnum != EINTR ? err_within(e, "OPENAI_BASE_URL: ")
						      : -e->errnum;
	text_puts(&m->label, "model: ");
	escape_line(&m->label, p->model_name, strlen(p->model_name));
	text_puts(&m->label, " at ");
	escape_line(&m->label, m->base_url, strlen(m->base_url));
	text_puts(&m->label, variable ? " (OPENAI_BASE_URL)" : "");
	return 0;
}

/* one question and what becomes of it */
struct turn {
	struct model *model;
	const struct chat *chat;
	uint64_t deadline_ms;
	struct text body; /* of the request */
	struct response answer;
	struct client_answer http;
	struct retry_facts facts;
	size_t told, told_reasoning; /* bytes that were taken, to be passed on */
	struct text heard;           /* of these, what was not passed on yet */
	bool parted;                 /* the text from the reasoning before it */
};

/* what is new of some words goes behind what was not passed on yet */
static void add_new(struct turn *t, const struct text *words, size_t *told)
{
	text_add(&t->heard, text_string(words) + *told, words->length - *told);
	*told = words->length;
}

/* pass on what is new, reasoning and text as one: what may be a beginning of the key
 * waits for what follows it there */
static void tell(struct turn *t, bool last)
{
	const struct model_plan *p = t->model->plan;
	const struct mask *mask = t->answer.mask;
	const struct reply *r = t->answer.reply;
	struct text *heard = &t->heard;

	if (!p->heard)
		return;
	add_new(t, &r->reasoning, &t->told_reasoning);
	if (!t->parted && r->text.length && t->told_reasoning)
		text_puts(heard, "\n\n");
	t->parted = r->text.length > 0;
	add_new(t, &r->text, &t->told);

	size_t held = last ? 0 : mask_held(mask, heard->bytes, heard->length);
	size_t news = heard->length - held;

	(void)mask_cover(mask, heard->bytes, heard->length, held);
	if (news) {
		p->heard(p->arg, heard->bytes, news);
		memmove(heard->bytes, heard->bytes + news, held);
		heard->length = held;
	}
	if (last)
		p->heard(p->arg, NULL, 0);
}

static int take_stream(void *arg, const char *bytes, size_t length, struct err *e)
{
	struct turn *t = arg;
	int r = response_feed(&t->answer, bytes, length, e);

	tell(t, false);
	return r < 0 ? r : t->answer.done;
}

/* a status other than 200 */
static int refuse(struct turn *t, struct err *e)
{
	cleanup_text struct text words = { 0 };
	cleanup_json cJSON *root =
		json_parse(text_string(&t->http.body), t->http.body.length);

	(void)mask_json(t->answer.mask, root);

	enum fault fault = response_fault(root, &words);

	t->facts.quota = fault == FAULT_QUOTA;
	if (t->http.status == 404)
		return err_say(
			e, EPROTO,
			"the model's server answered HTTP 404 to %.200s%s: is --model-name right, and --base-url, which ends before %s, as in https://api.openai.com/v1?%s",
			t->model->base_url, t->model->provider->dialect->path,
			t->model->provider->dialect->path, text_string(&words));
	return err_say(
		e, fault == FAULT_LENGTH ? EMSGSIZE : EPROTO,
		"the model's server answered HTTP %ld%s%s", t->http.status,
		text_string(&words),
		t->http.status / 100 == 3
			? " (redirects are not followed; give the final address with --base-url)"
			: "");
}

/* the answer came to its end, or its connection did */
static int read_answer(struct turn *t, int r, struct err *e)
{
	struct response *a = &t->answer;
	struct err why = *e;

	if (r == -EAGAIN && a->ended)
		r = 0; /* all was said that is needed */
	if (r == -ECANCELED)
		return -e->errnum; /* the reader's own words */
	if (r < 0)
		return err_say(e, -r, "%s %.200s: %.200s",
			       t->http.streamed ? "the model's answer broke off at"
						: "the model cannot be reached at",
			       t->model->base_url, why.text);
	if (t->http.status != 200)
		return refuse(t, e);
	if (!t->http.streamed && !t->http.body.length)
		return err_say(e, EAGAIN, "the model's answer is empty");
	if (!t->http.streamed)
		r = response_body(a, t->http.body.bytes, t->http.body.length, e);
	return r < 0 ? r : response_end(a, e);
}

/* what this attempt has cost, answered in full or not */
static void count(const struct turn *t)
{
	struct model *m = t->model;
	const struct response *a = &t->answer;
	struct usage *u = &m->usage;
	uint64_t asked = a->prompt_tokens;
	uint64_t answered = a->completion_tokens;
	uint64_t said = a->reply->text.length + a->reply->reasoning.length;
	uint64_t written = a->cache_write_tokens;
	uint64_t cached = a->cached_tokens < asked ? a->cached_tokens : asked;

	if (!a->begun && !a->ended)
		return;
	for (size_t i = 0; i < a->reply->call_count; i++)
		said += a->reply->calls[i].arguments.length;
	u->judged += !asked || !answered || !a->ended;
	if (asked)
		m->gauge =
			(struct gauge){ .bytes = chat_bytes(t->chat), .tokens = asked };
	else
		asked = compact_tokens(chat_bytes(t->chat), &m->gauge);
	said = compact_tokens(said, &m->gauge);
	if (!answered || (!a->ended && answered < said))
		answered = said; /* of what broke off, the last count never came */
	u->prompt_tokens += asked;
	/* these have prices of their own; no more are believed than the prompt had */
	u->cached_tokens += cached;
	u->cache_write_tokens +=
		written < a->prompt_tokens - cached ? written : a->prompt_tokens - cached;
	u->completion_tokens += answered;
}

/* one attempt: 0, -EINTR, or what failed in @e and in the turn's facts */
static int attempt(struct turn *t, struct err *e)
{
	struct model *m = t->model;
	const struct client_request request = {
		.body = &t->body,
		.total_ms = units_left_ms(t->deadline_ms),
		.silence_ms = m->plan->request_ms,
		.answer_max = REPLY_TEXT_MAX,
		.take = take_stream,
		.arg = t,
	};

	m->usage.requests++;
	response_begin(&t->answer, m->provider->dialect, t->answer.reply);
	t->answer.mask = &m->client->hello.mask;
	t->told = t->told_reasoning = t->parted = 0;
	text_clear(&t->heard);

	int r = client_post(m->client, &request, &t->http, e);

	if (t->http.streamed)
		tell(t, true);
	if (r != -EINTR)
		r = read_answer(t, r, e);
	(void)mask_cover(t->answer.mask, e->text, strnlen(e->text, sizeof(e->text)), 0);
	count(t);
	t->facts.status = r == -EAGAIN ? 0 : t->http.status ? t->http.status : 400;
	t->facts.retry_after_ms = t->http.retry_after_ms;
	text_free(&t->http.body);
	response_free(&t->answer);
	return r;
}

enum retry_answer retry_decide(const struct retry_facts *f, uint64_t *wait_ms)
{
	bool passes = f->status == 0 || f->status == 408 || f->status == 429 ||
		      (f->status >= 500 && f->status <= 599);

	uint64_t most_ms = LONGEST_WAIT * f->first_wait_ms;
	uint64_t backoff_ms = f->first_wait_ms;

	*wait_ms = 0;
	if (!passes || f->quota)
		return RETRY_NEVER;
	if (f->attempt > f->retries)
		return RETRY_WORN_OUT;
	for (uint64_t i = 1; i < f->attempt && backoff_ms < most_ms; i++)
		backoff_ms *= 2;
	if (backoff_ms > most_ms)
		backoff_ms = most_ms;
	if (f->retry_after_ms)
		*wait_ms = f->retry_after_ms + f->random % (f->retry_after_ms / 10 + 1);
	else
		*wait_ms = backoff_ms / 2 + f->random % (backoff_ms / 2 + 1);
	return *wait_ms >= f->left_ms ? RETRY_NO_TIME : RETRY_YES;
}

static int give_up(enum retry_answer answer, const struct retry_facts *f,
		   uint64_t wait_ms, struct err *e)
{
	const struct err why = *e;

	if (answer == RETRY_WORN_OUT && f->attempt > 1)
		return err_say(e, EPROTO,
			       "%s (tried %" PRIu64 " times, --retries %" PRIu64 ")",
			       why.text, f->attempt, f->retries);
	if (answer == RETRY_NO_TIME)
		return err_say(e, EPROTO,
			       "%s (the next try would be in %s, after --wall-time)",
			       why.text, units_say_time(wait_ms).text);
	e->errnum = EPROTO;
	return -EPROTO;
}

/* until it is answered, or no further try is worth it */
static int try_all(struct turn *t, struct err *e)
{
	struct model *m = t->model;

	for (;;) {
		cleanup_text struct text line = { 0 };
		struct retry_facts *f = &t->facts;
		uint64_t wait_ms;

		*f = (struct retry_facts){ .attempt = f->attempt + 1,
					   .retries = m->plan->retries,
					   .first_wait_ms = m->plan->retry_wait_ms };

		int r = attempt(t, e);

		if (r == 0 || r == -EINTR || r == -EMSGSIZE)
			return r;
		f->left_ms = units_left_ms(t->deadline_ms);
		if (f->left_ms == 0)
			return -ETIMEDOUT;
		if (m->affords && !m->affords(m->affords_arg, &m->usage))
			return -EDQUOT;
		if (getrandom(&f->random, sizeof(f->random), 0) < 0)
			f->random = units_now_ms();

		/* an answer that came whole with status 200 is not asked for again */
		enum retry_answer answer = retry_decide(f, &wait_ms);

		if (answer != RETRY_YES)
			return give_up(answer, f, wait_ms, e);
		text_printf(&line, "%s; trying again in %s (%" PRIu64 " of %" PRIu64 ")",
			    e->text, units_say_time(wait_ms).text, f->attempt,
			    f->retries);
		m->plan->note(m->plan->arg, text_string(&line));
		m->usage.retries++;
		if (stop_sleep(m->plan->stop, wait_ms) < 0)
			return err_say(e, EINTR, "stopped by a signal");
	}
}

int server_ask(struct model *m, const struct chat *chat, uint64_t deadline_ms,
	       struct reply *reply, struct err *e)
{
	struct turn t = { m, chat, deadline_ms, .answer.reply = reply };
	int r = response_ask(m->provider->dialect, m, chat, &t.body, e);

	if (r == 0)
		r = try_all(&t, e);
	text_free(&t.body);
	text_free(&t.heard);
	return r;
}
