/* SPDX-License-Identifier: MIT */
/*
 * cmd_solve.c - stepjail-agent solve: one task, one model, one jail
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/memory.h"
#include "agent/base/units.h"
#include "agent/cmd/commands.h"
#include "agent/cmd/solve.h"
#include "init/io.h"

#define ROW(group, kind, field) OPT_ROW(group, kind, struct solve_options, field)
#define COMMON(group, kind, field) OPT_COMMON(group, kind, struct solve_options, field)

static const struct opt opts[] = {
	{ "model", "MODEL", NULL,
	  "Who writes the code: scripted:FILE (turns from a file, nobody is asked); openai (any server that speaks chat completions), and ollama, llamacpp or vllm, which are the same with a base URL on this host; anthropic (any that speaks its messages).",
	  COMMON(MODEL, TEXT, model) },
	{ "model-name", "NAME", NULL, "Which of the server's models.",
	  COMMON(MODEL, TEXT, plan.model_name) },
	{ "code-in", NULL, "text",
	  "How code comes: text (in fences or tags) or tools (calls of a tool python).",
	  COMMON(MODEL, CHOICE, code_in), .choices = { "text", "tools" } },
	{ "base-url", "URL", NULL,
	  "The server, up to and without /chat/completions or /messages; else that of --model, such as https://api.openai.com/v1.",
	  COMMON(MODEL, TEXT, plan.base_url) },
	{ "key-file", "FILE", NULL,
	  "Read the API key from a file, not from STEPJAIL_API_KEY or, with openai, OPENAI_API_KEY, with anthropic, ANTHROPIC_API_KEY.",
	  COMMON(MODEL, TEXT, plan.key_file) },
	{ "model-time", "TIME", "2m",
	  "Longest silence of a server that is to answer, or is answering.",
	  ROW(MODEL, TIME, plan.request_ms), .min = 100, .max = HOUR_MS },
	{ "retries", "N", "4",
	  "How often to ask again after 408, 429, 5xx, a failed connection, or an answer that broke off.",
	  ROW(MODEL, COUNT, plan.retries), .min = 0, .max = 1000 },
	{ "retry-wait", "TIME", "500ms",
	  "The first wait before that; it doubles up to 40 times as much.",
	  ROW(MODEL, TIME, plan.retry_wait_ms), .min = 1, .max = HOUR_MS },
	{ "context", "TOKENS", NULL,
	  "What the model can hold: old observations are left out when that is near.",
	  ROW(MODEL, COUNT, context_tokens), .min = 1000, .max = 1000000000 },
	{ "reply-tokens", "N", NULL,
	  "Longest reply to ask for; else the server's own limit, and 8192 of anthropic.",
	  ROW(MODEL, COUNT, reply_tokens), .min = 1, .max = 1000000000 },
	BUDGET_OPTS(struct solve_options),
	{ "stateless", NULL, NULL,
	  "Run each step in a fresh jail: nothing is kept, and the model is told so.",
	  ROW(JAIL, FLAG, stateless) },
	MODE_OPTS(struct solve_options),
	JAIL_OPTS(struct solve_options),
	CHECKS_OPTS(struct solve_options),
	{ "skills", "DIR", NULL,
	  "The Python modules in this folder can be imported from the package skills; the model may save functions, which are kept there if their doctests pass in a fresh jail.",
	  ROW(TASK, TEXT, skills) },
	OUT_OPTS(struct solve_options),
	TRANSCRIPT_OPT(struct solve_options),
	CONFINE_OPT(struct solve_options),
	{ "json", NULL, NULL,
	  "Print one JSON object at the end, also of a run that fails before its first step, and nothing else, on stdout; progress goes to stderr.",
	  COMMON(RESULTS, FLAG, json) },
	{ "quiet", NULL, NULL, "Show no progress: the answer alone.",
	  COMMON(RESULTS, FLAG, quiet) },
	{ "color", NULL, "auto", "Colour; auto is on a terminal without NO_COLOR.",
	  ROW(RESULTS, CHOICE, color), .choices = { "auto", "always", "never" } },
	{ .name = NULL },
};
OPT_ROWS_FIT(opts);

static void solve_free(struct solve **where)
{
	struct solve *s = *where;

	session_close(&s->session);
	broker_close(&s->confined.broker);
	model_close(&s->model);
	mode_free(&s->mode);
	loop_free(&s->loop);
	transcript_close(&s->transcript);
	out_close(&s->out);
	shown_end(&s->shown);
	jail_binds_free(&s->binds);
	checks_free(&s->checks);
	skills_free(&s->skills);
	free(s);
}

static void plan_loop(struct solve *s, const char *asked)
{
	const struct solve_options *o = s->o;

	s->loop = (struct loop){
		.task = &s->task,
		.asked = asked,
		.given = s->loop.given,
		.files = s->binds.files,
		.file_count = o->jail.files.count,
		.memory = jail_passed(&o->jail.pass, "memory"),
		.context_tokens = o->context_tokens,
		.reply_tokens = o->reply_tokens,
		.model = &s->model,
		.work = &s->mode,
		.shown = &s->shown,
		.out = &s->out,
		.checks = &s->checks,
		.skills = &s->skills,
		.step = &s->step,
		.confinement = confined_json(&s->confined),
	};
	/* stepjail finds it to be a time, or does not start */
	if (jail_passed(&o->jail.pass, "cpu-time"))
		(void)units_parse_time(jail_passed(&o->jail.pass, "cpu-time"),
				       &s->loop.step_cpu_ms);
}

static int solve_run(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	__attribute__((cleanup(solve_free))) struct solve *s =
		memory_zeroed(1, sizeof(*s));
	const struct solve_options *o = options;

	s->o = o;
	s->stop = stop;
	s->transcript.fd = -1;
	s->confined = CONFINED_NOT;
	s->out = OUT_NONE;
	s->shown = SHOWN_NONE;
	s->confined.policy.required = o->require_confinement;
	show_open(&s->show,
		  o->quiet  ? -1
		  : o->json ? STDERR_FILENO
			    : STDOUT_FILENO,
		  (enum show_color)o->color, stop);

	s->task = (struct task){ .plan = &s->session_plan,
				 .session = &s->session,
				 .budget = &s->budget,
				 .transcript = &s->transcript,
				 .show = &s->show,
				 .broker = &s->confined.broker,
				 .stop = stop };

	int r = solve_plan(s, e);

	if (r < 0)
		return r;
	show_line(&s->show, text_string(&s->model.label));
	s->confined.client = s->model.client;
	r = confined_go(&s->confined, stop, e);
	/* from here on, what comes is hostile */
	if (r == 0)
		r = skills_list(&s->skills, e);
	plan_loop(s, operand);
	if (r == 0)
		r = session_open(&s->session, &s->session_plan, stop, e);
	if (r == 0 && s->mode.tests.count)
		r = tests_start(&s->mode.tests, &s->task, e);
	if (r < 0)
		return loop_unstarted(&s->loop, r, e);
	if (!o->quiet)
		show_not_enforced(stop, s->session.opened);
	/* what stepjail said while it started: that a wall is missing, for one */
	show_said(&s->show, &s->session.serve.diag);
	return solve_finish(s, loop_run(&s->loop, e), e);
}

const struct command command_solve = {
	.name = "solve",
	.operand = "TASK",
	.summary = "Let a model solve a task by writing Python that runs in a jail.",
	.about =
		"A model is given the task and told of the files. The code it writes is run in a jail, step by step in one interpreter; what it printed and how it ended is told to the model, until it replies without code: that is the answer.\n\n"
		"A script for --model scripted:FILE is UTF-8 text. A line '--- turn' begins a reply; right behind it, lines 'expect: TEXT' name what the message that is answered must hold, 'finish: length' marks the reply as cut off, and 'call: python' makes it a call of that tool with the text as arguments; all further lines are the reply. Lines beginning with # before the first turn are comments.\n\n"
		"--mode is the way of working. react: each step has a thought, kept apart. program: each program runs in a fresh jail, and the answer is the whole stdout of the last one that ended with status 0, never the model's own words. tests: the model writes files, and its answer stands when --tests pass with them in a jail that it has never been in. Tests for unittest or pytest share a process with the solution, and one that is written to change the test runner passes them. Plain cases, a list of objects like {\"call\": \"module.function\", \"args\": [1], \"kwargs\": {}, \"returns\": 2}, or with \"raises\": \"ValueError\", are compared where the solution has never been.\n\n"
		"Code is taken from ```python fences, <execute_python> tags, or a fence without a word where there is neither; several blocks are run as one step, in order. With --code-in tools, code is taken from calls of the tool python alone.\n\n" SHOWN_ABOUT
		"\n\n"
		"A check (--check-answer, --check-reply, --check-prompt) is a command line of words as in a shell, quotes and all, but nothing is expanded and no shell is there. It runs in a fresh jail with the root tree, limits and files of the steps, and is given what it looks at on stdin. Exit status 0 alone lets that pass: a check that crashes, takes too long or hits a limit refuses, too, and one that cannot be started ends the task (125).\n\n"
		"With --skills DIR, the folder DIR is in the jail, read-only, as the package skills: from skills.NAME import NAME. The model is told of the last 32 modules, and may leave functions in /work/skills_new/NAME.py: imports, constants, one function and private helpers. After an answer each is tried in a fresh jail, and kept as DIR/NAME.py where it has doctest examples that say what comes of them, and all of them hold. A file that is there is never written over.\n\n"
		"What a task may cost has six limits: --steps, --wall-time, --total-cpu-time, --total-output, --total-tokens, --total-cost. What is left of them is told to the model after each step. Without steps, CPU time or room for output it has one reply to answer in; the others end the task.",
	.opts = opts,
	.opts_bytes = sizeof(struct solve_options),
	.run = solve_run,
};
