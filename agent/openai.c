/* SPDX-License-Identifier: MIT */
/*
 * openai.c - a model behind the chat completions interface
 *
 * One request per reply, not streamed. What can go wrong is told in one line each; what
 * may pass by waiting is tried again (retry.h), as long as tries and the wall budget
 * last. The key is overwritten in everything that a server sends before it is passed on:
 * some servers quote it in their errors.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "agent/escape.h"
#include "agent/http.h"
#include "agent/openai_json.h"
#include "agent/retry.h"
#include "agent/secret.h"
#include "agent/units.h"

#define DEFAULT_HOST "https://api.openai.com/"

struct openai {
	struct http *http;
	struct key key;
};

static int openai_open(struct model *m, struct err *e)
{
	const struct model_plan *p = m->plan;
	struct openai *o = secret_new(sizeof(*o), e); /* holds the key */
	cleanup_text struct text url = { 0 };
	size_t base = strlen(p->base_url);

	if (!o)
		return -e->errnum;
	m->state = o;
	if (!p->model_name)
		return err_say(e, EINVAL,
			       "--model openai: which model? give --model-name NAME");

	int r = key_load(&o->key, p->key_file, e);

	if (r < 0)
		return r;
	if (!o->key.length &&
	    strncmp(p->base_url, DEFAULT_HOST, strlen(DEFAULT_HOST)) == 0)
		return err_say(e, EINVAL,
			       "--model openai: no key; set STEPJAIL_API_KEY or "
			       "OPENAI_API_KEY, or give --key-file FILE");
	while (base && p->base_url[base - 1] == '/')
		base--;
	text_printf(&url, "%.*s/chat/completions", (int)base, p->base_url);
	r = http_open(&o->http, text_string(&url), &o->key, MODEL_REPLY_MAX, e);
	if (r < 0)
		return r;
	text_puts(&m->url, text_string(&url));
	m->secret = o;
	m->secret_bytes = sizeof(*o);
	text_puts(&m->label, "model: ");
	escape_line(&m->label, p->model_name, strlen(p->model_name));
	text_puts(&m->label, " at ");
	escape_line(&m->label, p->base_url, base);
	return 0;
}

/* one attempt: 0, -EINTR, or what failed in @e and in @f */
static int attempt(struct model *m, const struct text *body, uint64_t deadline_ms,
		   struct reply *reply, struct retry_facts *f, struct err *e)
{
	struct openai *o = m->state;
	struct http_answer answer;
	cleanup_text struct text words = { 0 };
	uint64_t total_ms = units_left_ms(deadline_ms);
	struct err why = { 0 };

	if (m->plan->request_ms < total_ms)
		total_ms = m->plan->request_ms;
	m->usage.requests++;
	*f = (struct retry_facts){ .retries = f->retries, .attempt = f->attempt };

	int r = http_post(o->http, body->bytes, body->length, total_ms, m->plan->stop,
			  &answer, &why);

	if (r == 0 && answer.body.length)
		key_redact(&o->key, answer.body.bytes, answer.body.length);
	f->status = answer.status;
	f->retry_after_ms = answer.retry_after_ms;
	if (r == -EINTR) {
		*e = why;
	} else if (r < 0) {
		/* only what may pass has no status and asks to be sent again */
		f->status = r == -EAGAIN ? 0 : 400;
		r = err_say(e, -r, "the model cannot be reached at %.200s: %.200s",
			    m->plan->base_url, why.text);
	} else if (answer.status != 200) {
		f->quota = openai_json_error(text_string(&answer.body),
					     answer.body.length, &words);
		key_redact(&o->key, words.bytes, words.length);
		r = err_say(e, EPROTO, "the model's server answered HTTP %ld%s%s%s",
			    answer.status, words.length ? ": " : "", text_string(&words),
			    answer.status / 100 == 3
				    ? " (redirects are not followed; give "
				      "the final address with --base-url)"
				    : "");
	} else {
		text_add(&answer.body, "", 0);
		r = answer.body.failed
			    ? text_check(&answer.body, "the model's answer", e)
			    : openai_json_reply(answer.body.bytes, answer.body.length,
						reply, &m->usage, e);
		/* escapes may have hidden the key from the first look */
		key_redact(&o->key, reply->text.bytes, reply->text.length);
	}
	text_free(&answer.body);
	return r;
}

static void note_wait(const struct model *m, const struct err *e, uint64_t wait_ms,
		      const struct retry_facts *f)
{
	cleanup_text struct text line = { 0 };
	char time[32];

	text_printf(&line, "%s; trying again in %s (%" PRIu64 " of %" PRIu64 ")", e->text,
		    units_say_time(wait_ms, time, sizeof(time)), f->attempt, f->retries);
	m->plan->note(m->plan->note_arg, text_string(&line));
}

static int give_up(enum retry_answer answer, const struct retry_facts *f,
		   uint64_t wait_ms, struct err *e)
{
	size_t length = strlen(e->text);
	size_t room = sizeof(e->text) - length;
	char time[32];

	if (answer == RETRY_WORN_OUT && f->attempt > 1)
		(void)snprintf(e->text + length, room, " (tried %" PRIu64 " times)",
			       f->attempt);
	if (answer == RETRY_NO_TIME)
		(void)snprintf(e->text + length, room,
			       " (the next try would be in %s, after --wall-time)",
			       units_say_time(wait_ms, time, sizeof(time)));
	if (f->quota)
		(void)snprintf(e->text + length, room,
			       " (no waiting mends a used-up quota)");
	return -EPROTO;
}

static int openai_ask(struct model *m, const struct chat *chat, uint64_t deadline_ms,
		      struct reply *reply, struct err *e)
{
	cleanup_text struct text body = { 0 };
	struct retry_facts f = { .retries = m->plan->retries };
	int r = openai_json_request(m->plan->model_name, chat, &body, e);

	if (r < 0)
		return r;
	for (f.attempt = 1;; f.attempt++) {
		uint64_t wait_ms;

		r = attempt(m, &body, deadline_ms, reply, &f, e);
		if (r == 0 || r == -EINTR)
			return r;
		f.left_ms = units_left_ms(deadline_ms);
		if (f.left_ms == 0)
			return -ETIMEDOUT;
		if (getrandom(&f.random, sizeof(f.random), 0) < 0)
			f.random = units_now_ms();

		/* an answer that came whole with status 200 is not asked for again */
		enum retry_answer answer = retry_decide(&f, &wait_ms);

		if (answer != RETRY_YES)
			return give_up(answer, &f, wait_ms, e);
		note_wait(m, e, wait_ms, &f);
		m->usage.retries++;
		if (stop_sleep(m->plan->stop, wait_ms) < 0)
			return err_say(e, EINTR, "stopped by a signal");
		text_clear(&reply->text);
	}
}

static void openai_close(struct model *m)
{
	struct openai *o = m->state;

	if (!o)
		return;
	http_close(o->http);
	secret_free(o, sizeof(*o));
	m->state = NULL;
}

const struct model_ops openai_ops = {
	.name = "openai",
	.open = openai_open,
	.ask = openai_ask,
	.close = openai_close,
};
