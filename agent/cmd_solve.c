/* SPDX-License-Identifier: MIT */
/*
 * cmd_solve.c - stepjail-agent solve: one task, one model, one jail
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/commands.h"
#include "agent/confined.h"
#include "agent/escape.h"
#include "agent/jail_opts.h"
#include "agent/loop.h"
#include "agent/units.h"
#include "init/io.h"

struct solve_options {
	const char *model;
	const char *model_name;
	const char *base_url;
	const char *key_file;
	const char *transcript;
	uint64_t model_time_ms;
	uint64_t retries;
	uint64_t steps;
	uint64_t wall_ms;
	uint64_t color;
	bool stateless;
	bool require_confinement;
	bool json;
	bool quiet;
	struct jail_options jail;
};

#define ROW(kind, field) OPT_ROW(kind, struct solve_options, field)

static const struct opt opts[] = {
	{ "model", "MODEL", NULL,
	  "Who writes the code: scripted:FILE (turns from a file, nobody is asked) or "
	  "openai (any server that speaks chat completions).",
	  ROW(TEXT, model) },
	{ "model-name", "NAME", NULL, "Which of the server's models.",
	  ROW(TEXT, model_name) },
	{ "base-url", "URL", "https://api.openai.com/v1",
	  "The server, up to and without /chat/completions.", ROW(TEXT, base_url) },
	{ "key-file", "FILE", NULL,
	  "Read the API key from a file, not from STEPJAIL_API_KEY or "
	  "OPENAI_API_KEY.",
	  ROW(TEXT, key_file) },
	{ "model-time", "TIME", "2m", "Longest wait for one answer of the server.",
	  ROW(TIME, model_time_ms), .min = 100, .max = HOUR_MS },
	{ "retries", "N", "4",
	  "How often to ask again after 429, 5xx or a failed connection.",
	  ROW(COUNT, retries), .min = 0, .max = 20 },
	{ "steps", "N", "10", "How many steps the model has.", ROW(COUNT, steps),
	  .min = 1, .max = 1000 },
	{ "wall-time", "TIME", "10m", "Longest time for the whole task.",
	  ROW(TIME, wall_ms), .min = 100, .max = 24 * HOUR_MS },
	{ "stateless", NULL, NULL,
	  "Run each step in a fresh jail: nothing is kept, and the model is told so.",
	  ROW(FLAG, stateless) },
	JAIL_OPTS(struct solve_options),
	CONFINE_OPT(struct solve_options),
	{ "transcript", "FILE", NULL,
	  "Write everything that is said and done to a new file, one JSON object a "
	  "line.",
	  ROW(TEXT, transcript) },
	{ "json", NULL, NULL,
	  "Print one JSON object at the end, and nothing else, on stdout; progress "
	  "goes to stderr.",
	  ROW(FLAG, json) },
	{ "quiet", NULL, NULL, "Show no progress: the answer alone.", ROW(FLAG, quiet) },
	{ "color", NULL, "auto", "Colour; auto is on a terminal without NO_COLOR.",
	  ROW(CHOICE, color), .choices = { "auto", "always", "never" } },
	{ .name = NULL },
};

/* all of one run, so that one function can free it */
struct solve {
	const struct solve_options *o;
	struct stop *stop;
	struct jail_binds binds;
	struct text stepjail;
	struct model_plan model_plan;
	struct model model;
	struct session_plan session_plan;
	struct confined confined;
	struct session session;
	struct step step;
	struct show show;
	struct transcript transcript;
	struct loop loop;
	uint64_t started_ms;
};

static void solve_free(struct solve **where)
{
	struct solve *s = *where;

	if (!s)
		return;
	session_close(&s->session);
	confined_end(&s->confined);
	model_close(&s->model);
	loop_free(&s->loop);
	io_close_fd(&s->transcript.fd);
	text_free(&s->stepjail);
	jail_binds_free(&s->binds);
	free(s);
}

static void note(void *arg, const char *line)
{
	show_note(arg, line);
}

static int open_model(struct solve *s, struct err *e)
{
	const struct solve_options *o = s->o;

	if (!o->model)
		return err_say(
			e, EINVAL,
			"--model is missing: give --model scripted:FILE for a file of "
			"turns, or --model openai --model-name NAME for a server");
	s->model_plan = (struct model_plan){
		.base_url = o->base_url,
		.model_name = o->model_name,
		.key_file = o->key_file,
		.retries = o->retries,
		.request_ms = o->model_time_ms,
		.stop = s->stop,
		.note = note,
		.note_arg = &s->show,
	};
	return model_open(&s->model, o->model, &s->model_plan, e);
}

static int plan_session(struct solve *s, struct err *e)
{
	s->session_plan = (struct session_plan){
		.serve = { .stepjail = text_string(&s->stepjail),
			   .rootfs = s->o->jail.rootfs,
			   .pass = &s->o->jail.pass,
			   .binds = (const char *const *)s->binds.list,
			   .bind_count = s->o->jail.files.count,
			   .step_ms = s->o->jail.step_ms },
		.deadline_ms = s->started_ms + s->o->wall_ms,
		.stateless = s->o->stateless,
	};
	return confined_serve(&s->confined, &s->session_plan.serve, s->stop, e);
}

static const char *passed(const struct opt_list *pass, const char *name)
{
	for (size_t i = 0; i + 1 < pass->count; i += 2)
		if (strcmp(pass->items[i], name) == 0)
			return pass->items[i + 1];
	return NULL;
}

static int print_json(struct solve *s, enum outcome end, const struct err *why,
		      struct err *e)
{
	struct loop *l = &s->loop;
	cJSON *o = cJSON_CreateObject();
	cleanup_text struct text line = { 0 };

	(void)cJSON_AddStringToObject(o, "outcome", loop_outcome_name(end));
	if (end == OUTCOME_ANSWERED)
		record_string(o, "answer", text_string(&l->answer), l->answer.length);
	else
		(void)cJSON_AddNullToObject(o, "answer");
	if (why->text[0] && (end == OUTCOME_MODEL || end == OUTCOME_BROKEN))
		record_string(o, "error", why->text, strlen(why->text));
	else
		(void)cJSON_AddNullToObject(o, "error");
	record_string(o, "model", text_string(&s->model.label), s->model.label.length);
	(void)cJSON_AddItemToObject(o, "steps", l->steps);
	l->steps = NULL;
	(void)cJSON_AddItemToObject(o, "usage", record_usage(&s->model.usage));
	(void)cJSON_AddNumberToObject(o, "jails", s->session.jails);
	(void)cJSON_AddItemToObject(o, "confinement", confined_json(&s->confined));
	(void)cJSON_AddNumberToObject(o, "wall_ms",
				      (double)(units_now_ms() - s->started_ms));

	char *json = cJSON_PrintUnformatted(o);

	cJSON_Delete(o);
	if (!json)
		return err_set(e, ENOMEM, "--json");
	text_puts(&line, json);
	text_puts(&line, "\n");
	cJSON_free(json);

	int r = text_check(&line, "--json", e);

	if (r == 0)
		r = stop_write(s->stop, STDOUT_FILENO, line.bytes, line.length);
	return r < 0 && r != -EINTR ? err_set(e, -r, "cannot write to stdout") : 0;
}

static void show_usage(struct solve *s)
{
	const struct usage *u = &s->model.usage;
	char line[160];

	if (!u->prompt_tokens && !u->completion_tokens)
		return;
	(void)snprintf(line, sizeof(line),
		       "model: %" PRIu64 " requests, %" PRIu64 " tokens asked, %" PRIu64
		       " answered",
		       u->requests, u->prompt_tokens, u->completion_tokens);
	show_note(&s->show, line);
}

/* the last words: the answer where there was no progress, else the reason on stderr */
static int finish(struct solve *s, enum outcome end, struct err *e)
{
	static const char *const lines[OUTCOME_COUNT] = {
		[OUTCOME_STEPS] = "the steps are used up and the model has not answered",
		[OUTCOME_WALL] =
			"the wall time is used up and the model has not answered",
	};
	struct err said = *e;
	int r = 0;

	session_close(&s->session);
	show_usage(s);
	if (s->o->json) {
		r = print_json(s, end, &said, e);
	} else if (s->o->quiet && end == OUTCOME_ANSWERED) {
		cleanup_text struct text out = { 0 };

		escape_lines(&out, "", text_string(&s->loop.answer),
			     s->loop.answer.length);
		r = stop_write(s->stop, STDOUT_FILENO, text_string(&out), out.length);
		if (r < 0)
			r = err_set(e, -r, "cannot write to stdout");
	}
	if (r < 0)
		return r;
	if (end == OUTCOME_STOPPED)
		return err_say(e, EINTR, "stopped by a signal");
	if (end == OUTCOME_BROKEN)
		return said.errnum ? -said.errnum : -EIO;
	if (end == OUTCOME_MODEL || lines[end]) {
		cleanup_text struct text line = { 0 };

		text_puts(&line, "stepjail-agent: ");
		escape_line(&line, lines[end] ? lines[end] : said.text,
			    strlen(lines[end] ? lines[end] : said.text));
		text_puts(&line, "\n");
		(void)stop_write(s->stop, STDERR_FILENO, text_string(&line), line.length);
	}
	return loop_outcome_status(end, 0);
}

static int solve_run(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	__attribute__((cleanup(solve_free))) struct solve *s = calloc(1, sizeof(*s));
	const struct solve_options *o = options;

	if (!s)
		return err_set(e, ENOMEM, "solve");
	s->o = o;
	s->stop = stop;
	s->started_ms = units_now_ms();
	s->transcript.fd = -1;
	s->confined = CONFINED_NOT;
	s->confined.policy.required = o->require_confinement;
	show_open(&s->show,
		  o->quiet  ? -1
		  : o->json ? STDERR_FILENO
			    : STDOUT_FILENO,
		  (enum show_color)o->color, stop);

	int r = jail_binds_make(&o->jail.files, &s->binds, e);

	if (r == 0)
		r = launch_find(o->jail.stepjail, &s->stepjail, e);
	if (r == 0)
		r = plan_session(s, e);
	if (r == 0)
		r = open_model(s, e);
	if (r == 0)
		r = transcript_open(&s->transcript, o->transcript, e);
	if (r < 0)
		return r;
	show_line(&s->show, text_string(&s->model.label));
	r = confined_model(&s->confined, &s->model, e);
	if (r == 0)
		r = confined_go(&s->confined, &s->show, e);
	/* from here on, what comes is hostile */
	if (r == 0)
		r = session_open(&s->session, &s->session_plan, stop, e);
	if (r < 0)
		return r;
	/* what stepjail said while it started: that a wall is missing, for one */
	show_said(&s->show, &s->session.serve.diag);

	s->loop = (struct loop){
		.task = operand,
		.files = s->binds.files,
		.file_count = o->jail.files.count,
		.limits = { .rootfs = o->jail.rootfs,
			    .memory = passed(&o->jail.pass, "memory"),
			    .step_ms = o->jail.step_ms,
			    .wall_ms = o->wall_ms,
			    .steps = o->steps,
			    .stateless = o->stateless },
		.deadline_ms = s->session_plan.deadline_ms,
		.model = &s->model,
		.session = &s->session,
		.show = &s->show,
		.transcript = &s->transcript,
		.step = &s->step,
		.confinement = confined_json(&s->confined),
	};
	return finish(s, loop_run(&s->loop, e), e);
}

const struct command command_solve = {
	.name = "solve",
	.operand = "TASK",
	.summary = "Let a model solve a task by writing Python that runs in a jail.",
	.about = "A model is given the task and told of the files. The code it writes is "
		 "run "
		 "in a jail, step by step in one interpreter; what it printed and how it "
		 "ended is told to the model, until it replies without code: that is the "
		 "answer.\n\n"
		 "A script for --model scripted:FILE is UTF-8 text. A line '--- turn' "
		 "begins a "
		 "reply; right behind it, lines 'expect: TEXT' name what the message "
		 "that is "
		 "answered must hold, and 'finish: length' marks the reply as cut off; "
		 "all "
		 "further lines are the reply. Lines beginning with # before the first "
		 "turn "
		 "are comments.\n\n"
		 "Code is taken from ```python fences, <execute_python> tags, or a fence "
		 "without a word where there is neither; several blocks are run as one "
		 "step, "
		 "in order.",
	.opts = opts,
	.opts_bytes = sizeof(struct solve_options),
	.run = solve_run,
};
