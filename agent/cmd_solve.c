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

#include "agent/budget_opts.h"
#include "agent/commands.h"
#include "agent/confined.h"
#include "agent/escape.h"
#include "agent/given.h"
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
	uint64_t code_in;
	uint64_t model_time_ms;
	uint64_t retries;
	uint64_t retry_wait_ms;
	uint64_t context_tokens;
	uint64_t reply_tokens;
	struct budget_options budget;
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
	  "Who writes the code: scripted:FILE (turns from a file, nobody is asked); "
	  "openai "
	  "(any server that speaks chat completions), and ollama, llamacpp or vllm, "
	  "which "
	  "are the same with a base URL on this host; anthropic (any that speaks its "
	  "messages).",
	  ROW(TEXT, model) },
	{ "model-name", "NAME", NULL, "Which of the server's models.",
	  ROW(TEXT, model_name) },
	{ "code-in", NULL, "text",
	  "How code comes: text (in fences or tags) or tools (calls of a tool python).",
	  ROW(CHOICE, code_in), .choices = { "text", "tools" } },
	{ "base-url", "URL", NULL,
	  "The server, up to and without /chat/completions or /messages; else that of "
	  "--model, such as https://api.openai.com/v1.",
	  ROW(TEXT, base_url) },
	{ "key-file", "FILE", NULL,
	  "Read the API key from a file, not from STEPJAIL_API_KEY or, with openai, "
	  "OPENAI_API_KEY, with anthropic, ANTHROPIC_API_KEY.",
	  ROW(TEXT, key_file) },
	{ "model-time", "TIME", "2m",
	  "Longest silence of a server that is to answer, or is answering.",
	  ROW(TIME, model_time_ms), .min = 100, .max = HOUR_MS },
	{ "retries", "N", "4",
	  "How often to ask again after 408, 429, 5xx, a failed connection, or an answer "
	  "that broke off.",
	  ROW(COUNT, retries), .min = 0, .max = 1000 },
	{ "retry-wait", "TIME", "500ms",
	  "The first wait before that; it doubles up to 40 times as much.",
	  ROW(TIME, retry_wait_ms), .min = 1, .max = HOUR_MS },
	{ "context", "TOKENS", NULL,
	  "What the model can hold: old observations are left out when that is near.",
	  ROW(COUNT, context_tokens), .min = 1000, .max = 1000000000 },
	{ "reply-tokens", "N", NULL,
	  "Longest reply to ask for; else the server's own limit, and 8192 of anthropic.",
	  ROW(COUNT, reply_tokens), .min = 1, .max = 1000000000 },
	BUDGET_OPTS(struct solve_options),
	{ "stateless", NULL, NULL,
	  "Run each step in a fresh jail: nothing is kept, and the model is told so.",
	  ROW(FLAG, stateless) },
	JAIL_OPTS(struct solve_options),
	TRANSCRIPT_OPT(struct solve_options),
	CONFINE_OPT(struct solve_options),
	{ "json", NULL, NULL,
	  "Print one JSON object at the end, and nothing else, on stdout; progress "
	  "goes to stderr.",
	  ROW(FLAG, json) },
	{ "quiet", NULL, NULL, "Show no progress: the answer alone.", ROW(FLAG, quiet) },
	{ "color", NULL, "auto", "Colour; auto is on a terminal without NO_COLOR.",
	  ROW(CHOICE, color), .choices = { "auto", "always", "never" } },
	{ .name = NULL },
};
OPT_ROWS_FIT(opts);

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
	struct budget budget;
	struct loop loop;
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
	transcript_close(&s->transcript);
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
			"turns, or --model openai (or anthropic, ollama, llamacpp, vllm) "
			"--model-name NAME for a server");
	s->model_plan = (struct model_plan){
		.base_url = o->base_url,
		.model_name = o->model_name,
		.key_file = o->key_file,
		.tools = o->code_in == 1,
		.retries = o->retries,
		.retry_wait_ms = o->retry_wait_ms,
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
		.deadline_ms = s->budget.started_ms + s->o->budget.wall_ms,
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
	if (why->text[0] && end != OUTCOME_ANSWERED && end != OUTCOME_STOPPED)
		record_string(o, "error", why->text, strlen(why->text));
	else
		(void)cJSON_AddNullToObject(o, "error");
	record_string(o, "model", text_string(&s->model.label), s->model.label.length);
	(void)cJSON_AddItemToObject(o, "steps", l->steps);
	l->steps = NULL;
	(void)cJSON_AddItemToObject(o, "usage", record_usage(&s->model.usage));
	(void)cJSON_AddItemToObject(o, "budget", budget_json(&s->budget));
	(void)cJSON_AddNumberToObject(o, "jails", s->session.jails);
	(void)cJSON_AddItemToObject(o, "confinement", confined_json(&s->confined));
	(void)cJSON_AddNumberToObject(o, "wall_ms",
				      (double)(units_now_ms() - s->budget.started_ms));

	if (s->transcript.fd >= 0) {
		record_string(o, "transcript", text_string(&s->transcript.path),
			      s->transcript.path.length);
		(void)cJSON_AddStringToObject(o, "transcript_sha256",
					      s->transcript.chain.digest);
	}

	int r = record_print(o, &line, e);

	cJSON_Delete(o);
	text_puts(&line, "\n");
	if (r == 0)
		r = text_check(&line, "--json", e);
	if (r == 0)
		r = stop_write(s->stop, STDOUT_FILENO, line.bytes, line.length);
	return r < 0 && r != -EINTR ? err_set(e, -r, "cannot write to stdout") : 0;
}

static void show_usage(struct solve *s)
{
	const struct usage *u = &s->model.usage;
	cleanup_text struct text line = { 0 };
	char cost[32];

	if (!u->prompt_tokens && !u->completion_tokens)
		return;
	text_printf(&line,
		    "model: %" PRIu64 " requests, %" PRIu64 " tokens asked, %" PRIu64
		    " answered",
		    u->requests, u->prompt_tokens, u->completion_tokens);
	if (s->budget.priced)
		text_printf(&line, ", %s",
			    units_say_money(s->budget.used[BUDGET_COST_PICO], cost,
					    sizeof(cost)));
	if (u->judged)
		text_printf(&line,
			    " (of %" PRIu64 " answers the server did not tell all "
			    "tokens: judged by bytes)",
			    u->judged);
	show_note(&s->show, text_string(&line));
}

static void show_transcript(struct solve *s)
{
	cleanup_text struct text line = { 0 };

	transcript_told(&s->transcript, &line);
	if (line.length)
		show_place(&s->show, text_string(&line));
}

/* the last words: the answer where there was no progress, else the reason on stderr */
static int finish(struct solve *s, enum outcome end, struct err *e)
{
	struct err said = *e;
	int r = 0;

	session_close(&s->session);
	show_usage(s);
	show_transcript(s);
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
	if (end != OUTCOME_ANSWERED) {
		cleanup_text struct text line = { 0 };

		text_puts(&line, "stepjail-agent: ");
		escape_line(&line, said.text, strlen(said.text));
		text_puts(&line, "\n");
		(void)stop_write(s->stop, STDERR_FILENO, text_string(&line), line.length);
	}
	return loop_outcome_status(end, 0);
}

static void plan_loop(struct solve *s, const char *task)
{
	const struct solve_options *o = s->o;

	s->loop = (struct loop){
		.task = task,
		.given = s->loop.given,
		.files = s->binds.files,
		.file_count = o->jail.files.count,
		.limits = { .rootfs = o->jail.rootfs,
			    .memory = passed(&o->jail.pass, "memory"),
			    .step_ms = o->jail.step_ms,
			    .wall_ms = o->budget.wall_ms,
			    .steps = o->budget.steps,
			    .stateless = o->stateless,
			    .tools = s->model_plan.tools },
		.deadline_ms = s->session_plan.deadline_ms,
		.budget = &s->budget,
		.context_tokens = o->context_tokens,
		.reply_tokens = o->reply_tokens,
		.model = &s->model,
		.session = &s->session,
		.show = &s->show,
		.transcript = &s->transcript,
		.step = &s->step,
		.confinement = confined_json(&s->confined),
	};
	/* stepjail finds it to be a time, or does not start */
	if (passed(&o->jail.pass, "cpu-time"))
		(void)units_parse_time(passed(&o->jail.pass, "cpu-time"),
				       &s->loop.step_cpu_ms);
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
		r = budget_make(&o->budget, o->model_name, &s->budget, e);
	if (r == 0)
		r = launch_find(o->jail.stepjail, &s->stepjail, e);
	if (r == 0)
		r = plan_session(s, e);
	if (r == 0)
		r = open_model(s, e);
	if (r == 0)
		r = transcript_open(&s->transcript, o->transcript, "solve", e);
	if (r == 0 && s->transcript.fd >= 0) {
		s->loop.given = given_record(&o->jail, &s->binds, o->stateless, e);
		r = s->loop.given ? 0 : -e->errnum;
	}
	if (r < 0)
		return r;
	show_line(&s->show, text_string(&s->model.label));
	r = confined_model(&s->confined, &s->model, e);
	if (r == 0)
		r = confined_go(&s->confined, &s->show, e);
	/* from here on, what comes is hostile */
	plan_loop(s, operand);
	if (r == 0)
		r = session_open(&s->session, &s->session_plan, stop, e);
	if (r < 0)
		return loop_unstarted(&s->loop, r, e);
	/* what stepjail said while it started: that a wall is missing, for one */
	show_said(&s->show, &s->session.serve.diag);
	return finish(s, loop_run(&s->loop, e), e);
}

const struct command command_solve = {
	.name = "solve",
	.operand = "TASK",
	.summary = "Let a model solve a task by writing Python that runs in a jail.",
	.about = "A model is given the task and told of the files. The code it "
		 "writes is run in a jail, step by step in one interpreter; what it "
		 "printed and how it ended is told to the model, until it replies "
		 "without code: that is the answer.\n\n"
		 "A script for --model scripted:FILE is UTF-8 text. A line '--- "
		 "turn' begins a reply; right behind it, lines 'expect: TEXT' name "
		 "what the message that is answered must hold, 'finish: length' "
		 "marks the reply as cut off, and 'call: python' makes it a call of "
		 "that tool with the text as arguments; all further lines are the "
		 "reply. Lines beginning with # before the first turn are comments.\n\n"
		 "Code is taken from ```python fences, <execute_python> tags, or a "
		 "fence without a word where there is neither; several blocks are "
		 "run as one step, in order. With --code-in tools, code is taken from "
		 "calls of the tool python alone.\n\n"
		 "What a task may cost has six limits: --steps, --wall-time, "
		 "--total-cpu-time, --total-output, --total-tokens, --total-cost. "
		 "What is left of them is told to the model after each step. Without "
		 "steps, CPU time or room for output it has one reply to answer in; "
		 "the others end the task.",
	.opts = opts,
	.opts_bytes = sizeof(struct solve_options),
	.run = solve_run,
};
