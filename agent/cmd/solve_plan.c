/* SPDX-License-Identifier: MIT */
/*
 * solve_plan.c - all that a solve is made of, before anything hostile is heard: see
 * solve.h
 */

#include "agent/base/file.h"
#include "agent/base/path.h"
#include "agent/base/utf8.h"
#include "agent/cmd/solve.h"
#include "agent/record/inputs.h"
#include "agent/skills/skills.h"
#include "init/io.h"

static void note(void *arg, const char *line)
{
	show_note(arg, "%s", line);
}

/* its name may stand in --model, as in ollama/NAME */
static int name_model(struct solve *s, struct err *e)
{
	struct model_plan *p = &s->model_plan;
	const char *model = s->o->model ? s->o->model : "";
	const char *end = model + strcspn(model, ":/");

	*p = s->o->plan;
	if (*end != '/')
		return 0;
	if (p->model_name)
		return err_say(
			e, EINVAL,
			"--model-name: the name stands in --model %.80s: leave one of the two out",
			model);
	p->model_name = end[1] ? end + 1 : NULL;
	return 0;
}

static int open_model(struct solve *s, struct err *e)
{
	const struct solve_options *o = s->o;
	struct model_plan *p = &s->model_plan;

	if (!o->model)
		return err_say(
			e, EINVAL,
			"--model is missing: give --model scripted:FILE for a file of turns, or --model openai (or anthropic, ollama, llamacpp, vllm) --model-name NAME for a server");
	p->settings = s->settings;
	p->require_confinement = o->require_confinement;
	p->tools = o->code_in == 1;
	p->stop = s->task.stop;
	p->note = note;
	p->heard = s->task.show.terminal && !o->json ? show_live : NULL;
	p->arg = &s->task.show;
	return model_open(&s->loop.model, o->model, p, e);
}

/* what goes in and comes out; nothing of it is kept from one jail to the next */
static int open_files(struct solve *s, struct err *e)
{
	struct session_plan *p = &s->task.plan;

	p->jail = &s->jail;
	p->binds = &s->binds;
	p->stateless = s->o->stateless;
	if (jail_binds_make(&s->jail, NULL, s->task.stop, &s->binds, e) < 0 ||
	    tests_open(&s->loop.tests, &s->o->tests, &s->binds, e) < 0)
		return -e->errnum;
	if (p->stateless && s->o->out.folder)
		return err_say(
			e, EINVAL,
			"--out: with --stateless, each step has a jail of its own, and no files are left at the end: leave one of the two out");
	if (p->stateless && s->o->tests.count)
		return err_say(
			e, EINVAL,
			"--tests: the model's files must stay from step to step: leave out --stateless");
	if (p->stateless && s->binds.put_count)
		return err_say(
			e, EINVAL,
			"--file: with --stateless, a pipe cannot be given to each jail: give a regular file");
	return out_open(&s->loop.out, &s->o->out, &s->binds, &s->task.confined.policy, e);
}

/* text of the user's, for a model */
static int check_text(const struct text *t, const char *what, struct err *e)
{
	if (!t->failed && (memchr(text_string(t), '\0', t->length) ||
			   !utf8_valid(text_string(t), t->length)))
		return err_say(e, EINVAL, "%s is no text in UTF-8", what);
	return text_check(t, what, e);
}

int solve_read_task(struct solve *s, struct err *e)
{
	struct text *task = &s->asked;
	sigset_t mask;

	for (size_t i = 0; i < s->o->jail.files.count; i++)
		if (strcmp(s->o->jail.files.items[i], "-") == 0)
			return err_say(
				e, EINVAL,
				"the task and --file cannot both be -: stdin is one of them");
	task->max = SOLVE_TASK_MAX;
	/* nothing has begun: a signal may just end this process */
	(void)sigprocmask(SIG_SETMASK, &s->task.stop->before, &mask);

	int r = file_read_fd(STDIN_FILENO, "the task on stdin", "", task, e);

	(void)sigprocmask(SIG_SETMASK, &mask, NULL);
	if (r < 0)
		return r;
	while (task->length && task->bytes[task->length - 1] == '\n')
		task->bytes[--task->length] = '\0';
	return task->length ? check_text(task, "the task on stdin", e)
			    : err_say(e, EINVAL, "the task on stdin is empty");
}

/* words of the user's for the model, behind the agent's own */
static int read_rules(struct solve *s, struct err *e)
{
	s->loop.rules.max = SOLVE_RULES_MAX;

	int r = s->o->system ? file_read(s->o->system, "--system: ", &s->loop.rules, e)
			     : 0;

	return r < 0 ? r : check_text(&s->loop.rules, "--system: the file", e);
}

/* what the jails are made with, and what else a transcript begins with */
static int record_inputs(struct solve *s, struct err *e)
{
	const struct solve_options *o = s->o;
	cJSON *given = inputs_record(&s->jail, &s->binds, s->task.plan.stateless,
				     s->task.stop, e);
	cJSON *checks = given ? checks_record(&s->loop.checks, e) : NULL;

	s->loop.given = given;
	if (!checks)
		return -e->errnum;
	json_add(given, "checks", checks);
	if (o->skills) {
		cJSON *skills = cJSON_AddObjectToObject(given, "skills");

		inputs_path(skills, "dir", o->skills);
		json_add(skills, "sha256", s->skills_hex);
	}
	if (o->system && inputs_file(cJSON_AddObjectToObject(given, "system"), o->system,
				     path_last(o->system), -1, s->task.stop, e) < 0)
		return -e->errnum;
	return s->loop.tests.count ? tests_record(&s->loop.tests, given, s->task.stop, e)
				   : 0;
}

int solve_plan(struct solve *s, struct err *e)
{
	const struct solve_options *o = s->o;
	struct task *t = &s->task;

	s->jail = o->jail;
	if (s->chat && (o->json || o->events ||
			lines_open(&s->lines, false, t->stop, e) < 0 || !s->lines.edit))
		return err_say(
			e, EINVAL,
			"chat: it needs a terminal as stdin and stdout, and takes neither --json nor --events; see solve --continue");
	if (s->chat)
		t->confined.policy.needs |= CONFINE_EDIT;
	if (o->json && o->events)
		return err_say(
			e, EINVAL,
			"--events: stdout is that of --json: leave one of the two out");
	if (name_model(s, e) < 0 || settings_make(&o->set, &s->settings, e) < 0 ||
	    (o->again && strcmp(o->again, "no") != 0 &&
	     (resume_open(&s->resume, o->again, e) < 0 ||
	      resume_files(&s->resume, t, &s->jail, o->skills, e) < 0)) ||
	    open_files(s, e) < 0 || read_rules(s, e) < 0 ||
	    (o->confirm && confirm_open(&s->loop, o->color, e) < 0) ||
	    budget_make(&o->budget, s->model_plan.model_name, &t->budget, e) < 0 ||
	    checks_plan(&s->loop.checks, &o->checks, e) < 0 ||
	    (o->skills &&
	     skills_bind(o->skills, &s->binds, t->stop, s->skills_hex, e) < 0) ||
	    transcript_open(&t->transcript, o->transcript, s->chat ? "chat" : "solve",
			    o->events ? t->stop : NULL, e) < 0 ||
	    (transcript_wanted(&t->transcript) && record_inputs(s, e) < 0) ||
	    shown_plan(&s->loop.shown, &s->loop.out.folder, &t->transcript,
		       &t->confined.policy, e) < 0)
		return -e->errnum;
	t->confined.broker.tidy = text_string(&s->loop.shown.folder.path);
	t->plan.deadline_ms = t->budget.started_ms + t->budget.limit[BUDGET_WALL_MS];
	t->plan.interactive = s->chat;
	t->plan.heard = show_heard;
	t->plan.heard_arg = &t->show;
	if (confined_serve(&t->confined, &t->plan, t->stop, e) < 0)
		return -e->errnum;
	return open_model(s, e);
}
