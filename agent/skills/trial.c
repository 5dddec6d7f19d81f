/* SPDX-License-Identifier: MIT */
/*
 * trial.c - a function that a model wants to keep, tried: see trial.h and trial.py
 */
#include <stdio.h>
#include <string.h>

#include "agent/base/nonce.h"
#include "agent/judge/harness.h"
#include "agent/record/record.h"
#include "agent/skills/trial.h"

uint64_t trial_ms(const struct jail_options *jail)
{
	return jail->step_ms < TRIAL_MS ? jail->step_ms : TRIAL_MS;
}

void trial_args(const struct skills *s, const struct jail_options *jail,
		struct launch_args *a)
{
	launch_add_run(a, jail->rootfs, trial_ms(jail));
	launch_add(a, "--proc");
	launch_add(a, "none"); /* no way from the function to its judge's fds */
	launch_add_passed(a, &jail->pass);
	for (size_t i = 0; i < s->bind_count; i++) {
		launch_add(a, "--bind");
		launch_add(a, "%s", s->binds[i]);
	}
	launch_add(a, "--");
	launch_add(a, "/bin/python3");
	launch_add(a, "-I");
	launch_add(a, "-c");
	launch_add(a, "%s", harness_trial);
}

static int make_input(const char *name, const struct text *source, const char *secret,
		      struct text *input, struct err *e)
{
	cleanup_text struct text json = { 0 };
	cJSON *o = cJSON_CreateObject();
	int r;

	record_string(o, "name", name, strlen(name));
	record_string(o, "source", text_string(source), source->length);
	r = record_print(o, &json, e);
	cJSON_Delete(o);
	text_printf(input, "%zu\n%s%s\n", json.length, text_string(&json), secret);
	return r < 0 ? r : text_check(input, "a trial", e);
}

static bool take_string(const cJSON *o, const char *name, size_t max, struct text *out)
{
	const cJSON *s = cJSON_GetObjectItemCaseSensitive(o, name);

	if (!cJSON_IsString(s) || strlen(s->valuestring) > max)
		return false;
	text_puts(out, s->valuestring);
	return !out->failed;
}

/* true where it is the judge that speaks */
static bool take_facts(const struct run_once *o, const char *secret,
		       struct trial_facts *f)
{
	cleanup_text struct text said = { 0 };
	cleanup_text struct text rest = { 0 };
	cleanup_text struct text told = { 0 };

	if (!o->good || clip_take(&o->out, &said, &rest))
		return false;

	cJSON *root = cJSON_ParseWithLength(text_string(&said), said.length);
	const cJSON *n = cJSON_GetObjectItemCaseSensitive(root, "examples");
	bool good = take_string(root, "secret", strlen(secret), &told) &&
		    strcmp(text_string(&told), secret) == 0 && cJSON_IsNumber(n) &&
		    n->valuedouble >= 1 && n->valuedouble < 100000 &&
		    take_string(root, "signature", SKILL_WORDS_MAX, &f->signature) &&
		    take_string(root, "doc", SKILL_WORDS_MAX, &f->doc);

	f->examples = good ? (unsigned int)n->valuedouble : 0;
	cJSON_Delete(root);
	return good;
}

int trial_run(const struct run_once_plan *p, const char *name, const struct text *source,
	      struct run_once *once, struct trial_facts *f, struct text *why,
	      struct err *e)
{
	cleanup_text struct text input = { 0 };
	char secret[NONCE_HEX];
	int r = nonce_make(secret, e);

	if (r == 0)
		r = make_input(name, source, secret, &input, e);
	if (r == 0)
		r = run_once(p, text_string(&input), input.length, once, e);
	if (r < 0)
		return r;
	if (take_facts(once, secret, f))
		return 1;
	if (once->facts.verdict == VERDICT_EXITED)
		run_once_last_line(once, why);
	if (!why->length)
		text_printf(why, "its trial ended as %s",
			    verdict_name(once->facts.verdict));
	return 0;
}

void trial_facts_free(struct trial_facts *f)
{
	text_free(&f->signature);
	text_free(&f->doc);
}
