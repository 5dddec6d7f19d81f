/* SPDX-License-Identifier: MIT */
/*
 * solve_plan.c - all that a solve is made of, before anything hostile is heard: see
 * solve.h
 */
#include <errno.h>

#include "agent/cmd/solve.h"
#include "agent/record/inputs.h"

static void note(void *arg, const char *line)
{
	show_note(arg, line);
}

static void heard(void *arg, const char *words, size_t length)
{
	show_live(arg, words, length);
}

static int open_model(struct solve *s, struct err *e)
{
	const struct solve_options *o = s->o;
	struct model_plan *p = &s->model_plan;

	if (!o->model)
		return err_say(
			e, EINVAL,
			"--model is missing: give --model scripted:FILE for a file of turns, or --model openai (or anthropic, ollama, llamacpp, vllm) --model-name NAME for a server");
	*p = o->plan;
	p->require_confinement = o->require_confinement;
	p->tools = o->code_in == 1;
	p->stop = s->stop;
	p->note = note;
	p->heard = s->show.terminal && !o->json ? heard : NULL;
	p->arg = &s->show;
	return model_open(&s->model, o->model, p, e);
}

/* the checks of prompts, replies and the answer */
static int plan_checks(struct solve *s, struct err *e)
{
	s->checks.task = &s->task;
	return checks_plan(&s->checks, &s->o->checks, &s->o->jail,
			   (const char *const *)s->binds.list, s->binds.count,
			   &s->confined.broker, e);
}

static int record_checks(struct solve *s, struct err *e)
{
	cJSON *checks = checks_record(&s->checks, e);

	(void)cJSON_AddItemToObject(s->loop.given, "checks", checks);
	if (s->skills.dir)
		(void)cJSON_AddItemToObject(s->loop.given, "skills",
					    skills_record(&s->skills));
	return checks ? 0 : -e->errnum;
}

/* functions that earlier tasks have saved, and what this one will */
static int plan_skills(struct solve *s, struct err *e)
{
	struct skills *skills = &s->skills;

	skills->dir = s->o->skills;
	/* what a jail of one step leaves is gone with it */
	skills->save = skills->dir && !s->stateless;
	skills->task = &s->task;
	return skills_plan(skills, &s->o->jail, &s->binds, &s->confined.broker,
			   &s->confined.policy, e);
}

static int plan_session(struct solve *s, struct err *e)
{
	bool programs = s->mode.mode->programs;

	s->session_plan = (struct session_plan){
		.deadline_ms = s->budget.started_ms + s->budget.limit[BUDGET_WALL_MS],
		.stateless = s->stateless,
		.heard = programs ? mode_heard : NULL,
		.heard_arg = &s->mode,
	};

	int r = jail_plan(&s->o->jail, &s->binds, programs ? MODE_OUTPUT_LIMIT : NULL,
			  &s->session_plan, e);

	return r < 0 ? r
		     : confined_serve(&s->confined, &s->session_plan, &s->o->jail,
				      &s->binds, s->stop, e);
}

/* what goes in and comes out; nothing of it is kept from one jail to the next */
static int open_files(struct solve *s, struct err *e)
{
	int r = jail_binds_make(&s->o->jail, NULL, s->stop, &s->binds, e);

	s->stateless = s->o->stateless;
	if (r == 0)
		r = mode_plan(&s->mode, &s->o->mode, &s->stateless, &s->binds, e);
	if (r == 0 && s->stateless && s->o->out.folder)
		return err_say(
			e, EINVAL,
			"--out: with --stateless or --mode program, each step has a jail of its own, and no files are left at the end: leave --out or that option out");
	if (r == 0 && s->stateless && s->binds.put_count)
		return err_say(
			e, EINVAL,
			"--file: with --stateless or --mode program, a pipe cannot be given to each jail: give a regular file");
	if (r == 0)
		r = out_open(&s->out, &s->o->out, &s->confined.policy, e);
	jail_binds_add(&s->binds, &s->out.marker);
	return r;
}

int solve_plan(struct solve *s, struct err *e)
{
	const struct solve_options *o = s->o;
	int r = open_files(s, e);

	if (r == 0)
		r = budget_make(&o->budget, o->plan.model_name, &s->budget, e);
	if (r == 0)
		r = plan_checks(s, e);
	if (r == 0)
		r = plan_skills(s, e);
	if (r == 0)
		r = transcript_open(&s->transcript, o->transcript, "solve", e);
	if (r == 0 && s->transcript.fd >= 0) {
		s->loop.given =
			inputs_record(&o->jail, &s->binds, s->stateless, s->stop, e);
		r = s->loop.given ? record_checks(s, e) : -e->errnum;
		if (r == 0 && s->mode.tests.count)
			r = tests_record(&s->mode.tests, s->loop.given, s->stop, e);
	}
	if (r == 0)
		r = shown_plan(&s->shown, &s->out.folder, &s->transcript,
			       &s->confined.policy, e);
	s->confined.broker.tidy = text_string(&s->shown.folder.path);
	if (r == 0)
		r = plan_session(s, e);
	if (r == 0)
		r = open_model(s, e);
	return r;
}
