/* SPDX-License-Identifier: MIT */
/*
 * cmd_eval.c - stepjail-agent eval: a set of tasks, each in a fresh jail, and a table
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/commands.h"
#include "agent/confined.h"
#include "agent/evalrun.h"
#include "agent/jail_opts.h"
#include "agent/launch.h"
#include "agent/record.h"
#include "agent/show.h"
#include "agent/units.h"

#define BAR_COLUMNS 30
#define LINES_PER_RUN 8 /* without a terminal: so many lines of progress */
#define LEAST_GAP 10

struct eval_options {
	const char *rootfs;
	const char *stepjail;
	uint64_t jobs;
	uint64_t task_ms;
	uint64_t color;
	bool canonical;
	bool broken;
	bool json;
	bool require_confinement;
	struct opt_list pass;
};

#define ROW(kind, field) OPT_ROW(kind, struct eval_options, field)

static const struct opt opts[] = {
	{ "canonical", NULL, NULL,
	  "Run the solution that comes with each task (this is what is done without "
	  "any option).",
	  ROW(FLAG, canonical) },
	{ "broken", NULL, NULL,
	  "Run each task with pass for its solution: nothing should pass.",
	  ROW(FLAG, broken) },
	{ "jobs", "N", "0", "How many jails at a time; 0 is one for each processor.",
	  ROW(COUNT, jobs), .min = 0, .max = EVALRUN_JOBS_MAX },
	{ "task-time", "TIME", "20s", "Longest time for one task.", ROW(TIME, task_ms),
	  .min = 100, .max = 3600000 },
	{ "rootfs", "NAME", "core", "The jail's root tree, a name or a folder.",
	  ROW(TEXT, rootfs) },
	{ "memory", "SIZE", "512M", "Each jail's memory; see stepjail(1).",
	  ROW(PASS, pass) },
	{ "pids", "N", NULL, "How many processes and threads each jail may hold.",
	  ROW(PASS, pass) },
	{ "allow-missing", "PART", NULL,
	  "Run without a wall that this host lacks (cgroup); see stepjail(1).",
	  ROW(PASS, pass) },
	{ "stepjail", "PATH", NULL,
	  "Where stepjail is; else beside this program, else in PATH.",
	  ROW(TEXT, stepjail) },
	CONFINE_OPT(struct eval_options),
	{ "json", NULL, NULL,
	  "Print one JSON object at the end, and nothing else, on stdout.",
	  ROW(FLAG, json) },
	{ "color", NULL, "auto", "Colour; auto is on a terminal without NO_COLOR.",
	  ROW(CHOICE, color), .choices = { "auto", "always", "never" } },
	{ .name = NULL },
};

struct eval {
	struct evalset set;
	struct eval_result *results;
	struct show show;
	struct text stepjail;
	struct confined confined; /* to nothing but what is open */
	bool bar;                 /* the progress is a bar that is drawn over itself */
	size_t ended, passed;
	uint64_t started_ms;
};

static void eval_free(struct eval *v)
{
	confined_end(&v->confined);
	evalset_free(&v->set);
	free(v->results);
	text_free(&v->stepjail);
}

static void draw_bar(struct eval *v)
{
	struct text line = { 0 };
	size_t full = v->ended * BAR_COLUMNS / v->set.count;

	/* back to the line's start, and clear what was there: only ever on a terminal */
	text_puts(&line, "\r\x1b[K[");
	for (size_t i = 0; i < BAR_COLUMNS; i++)
		text_puts(&line, i < full ? "#" : ".");
	text_printf(&line, "] %zu of %zu, %zu not passed", v->ended, v->set.count,
		    v->ended - v->passed);
	if (!v->show.failed)
		v->show.failed = -stop_write(v->show.stop, v->show.fd, text_string(&line),
					     line.length);
	text_free(&line);
}

static int ended(void *arg, size_t task, const struct eval_result *result, struct err *e)
{
	struct eval *v = arg;
	size_t gap = v->set.count / LINES_PER_RUN;

	(void)task;
	v->ended++;
	v->passed += result->passed;
	if (v->bar) {
		draw_bar(v);
	} else if (v->ended % (gap > LEAST_GAP ? gap : LEAST_GAP) == 0) {
		char line[80];

		(void)snprintf(line, sizeof(line), "%zu of %zu, %zu not passed", v->ended,
			       v->set.count, v->ended - v->passed);
		show_note(&v->show, line);
	}
	if (v->show.failed == EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return v->show.failed ? err_set(e, v->show.failed, "cannot write progress") : 0;
}

/* failed by the test, or ended by the jail: the table's rows */
static bool by_test(const struct eval_result *r)
{
	return !r->passed &&
	       (r->verdict == VERDICT_COMPLETED || r->verdict == VERDICT_EXITED);
}

static size_t count_verdict(const struct eval *v, enum verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < v->set.count; i++)
		count += !v->results[i].passed && !by_test(&v->results[i]) &&
			 v->results[i].verdict == verdict;
	return count;
}

static size_t count_failed(const struct eval *v)
{
	size_t count = 0;

	for (size_t i = 0; i < v->set.count; i++)
		count += by_test(&v->results[i]);
	return count;
}

static void row(struct eval *v, const char *name, size_t count)
{
	char line[80];

	(void)snprintf(line, sizeof(line), "%-14s %5zu", name, count);
	show_line(&v->show, line);
}

static int print_table(struct eval *v, struct err *e)
{
	char line[EVALRUN_ERROR_BYTES + 120];
	char time[32];

	if (v->bar)
		show_line(&v->show, "");
	for (size_t i = 0; i < v->set.count; i++) {
		const struct eval_result *r = &v->results[i];

		if (r->passed)
			continue;
		(void)snprintf(line, sizeof(line), "%.60s: %s: %s", v->set.tasks[i].id,
			       by_test(r) ? "failed" : verdict_name(r->verdict),
			       r->error);
		show_note(&v->show, line);
	}
	show_line(&v->show, "");
	row(v, "passed", v->passed);
	row(v, "failed", count_failed(v));
	for (int i = 0; i < VERDICT_COUNT; i++)
		if (count_verdict(v, (enum verdict)i))
			row(v, verdict_name((enum verdict)i),
			    count_verdict(v, (enum verdict)i));
	row(v, "all", v->set.count);
	(void)snprintf(
		line, sizeof(line), "%zu of %zu passed, each in a jail of its own, in %s",
		v->passed, v->set.count,
		units_say_time(units_now_ms() - v->started_ms, time, sizeof(time)));
	show_line(&v->show, line);
	return v->show.failed ? err_set(e, v->show.failed, "cannot write to stdout") : 0;
}

static int print_json(struct eval *v, struct err *e)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(o, "tasks");
	cleanup_text struct text line = { 0 };

	for (size_t i = 0; i < v->set.count; i++) {
		const struct eval_result *r = &v->results[i];
		cJSON *one = cJSON_CreateObject();

		record_string(one, "task_id", v->set.tasks[i].id,
			      strlen(v->set.tasks[i].id));
		(void)cJSON_AddBoolToObject(one, "passed", r->passed);
		(void)cJSON_AddStringToObject(one, "verdict", verdict_name(r->verdict));
		(void)cJSON_AddNumberToObject(one, "wall_ms", (double)r->wall_ms);
		record_string(one, "error", r->error, strlen(r->error));
		(void)cJSON_AddItemToArray(list, one);
	}
	(void)cJSON_AddNumberToObject(o, "passed", (double)v->passed);
	(void)cJSON_AddNumberToObject(o, "failed", (double)count_failed(v));
	(void)cJSON_AddNumberToObject(o, "all", (double)v->set.count);
	(void)cJSON_AddNumberToObject(o, "wall_ms",
				      (double)(units_now_ms() - v->started_ms));
	(void)cJSON_AddItemToObject(o, "confinement", confined_json(&v->confined));

	char *json = cJSON_PrintUnformatted(o);

	cJSON_Delete(o);
	text_puts(&line, json ? json : "");
	text_puts(&line, "\n");
	cJSON_free(json);
	if (!json || line.failed)
		return err_set(e, ENOMEM, "--json");

	int r = stop_write(v->show.stop, STDOUT_FILENO, line.bytes, line.length);

	return r < 0 ? err_set(e, -r, "cannot write to stdout") : 0;
}

static uint64_t processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 1)
		return 1;
	return CPU_COUNT(&set) > EVALRUN_JOBS_MAX ? EVALRUN_JOBS_MAX
						  : (uint64_t)CPU_COUNT(&set);
}

/* all is read that will be: from here on, what comes is hostile */
static int confine(struct eval *v, const struct evalrun_plan *plan, struct err *e)
{
	cleanup_args struct launch_args args = { .count = 0 };
	int r;

	evalrun_args(plan, &args);
	r = confined_start(&v->confined, text_string(&v->stepjail), &args, plan->stop, e);
	return r == 0 ? confined_go(&v->confined, &v->show, e) : r;
}

static int eval_run(const void *options, const char *operand, struct stop *stop,
		    struct err *e)
{
	const struct eval_options *o = options;
	__attribute__((cleanup(eval_free))) struct eval v = {
		.started_ms = units_now_ms(),
		.confined = CONFINED_NOT,
	};
	int fd = o->json ? STDERR_FILENO : STDOUT_FILENO;

	if (o->canonical && o->broken)
		return err_say(e, EINVAL,
			       "--canonical and --broken: give one of the two");
	v.confined.policy.required = o->require_confinement;
	show_open(&v.show, fd, (enum show_color)o->color, stop);
	v.bar = isatty(fd) == 1;

	int r = evalset_read(operand, &v.set, e);

	if (r == 0)
		r = launch_find(o->stepjail, &v.stepjail, e);
	if (r < 0)
		return r;
	v.results = calloc(v.set.count, sizeof(*v.results));
	if (!v.results)
		return err_set(e, ENOMEM, "eval");

	const struct evalrun_plan plan = {
		.broker = &v.confined.broker,
		.rootfs = o->rootfs,
		.pass = &o->pass,
		.body = o->broken ? EVAL_BROKEN : EVAL_CANONICAL,
		.task_ms = o->task_ms,
		.jobs = o->jobs ? o->jobs : processors(),
		.stop = stop,
		.ended = ended,
		.ended_arg = &v,
	};

	r = confine(&v, &plan, e);
	if (r == 0)
		r = evalrun(&v.set, &plan, v.results, e);
	if (r < 0) {
		if (v.bar)
			show_line(&v.show, "");
		return r;
	}
	r = o->json ? print_json(&v, e) : print_table(&v, e);
	return r < 0 ? r : v.passed != v.set.count;
}

const struct command command_eval = {
	.name = "eval",
	.operand = "FILE",
	.summary = "Run a set of coding tasks with their tests, each in a fresh jail.",
	.about = "FILE (or - for stdin) holds tasks in HumanEval's form, one JSON object "
		 "a "
		 "line: task_id, prompt, entry_point, canonical_solution, test. Each is "
		 "run in "
		 "a jail of its own, without /proc, the solution in one process and its "
		 "test "
		 "in another: the two exchange plain data only. A task passes where its "
		 "test "
		 "ran to the end; leaving early with status 0 does not pass.",
	.opts = opts,
	.opts_bytes = sizeof(struct eval_options),
	.run = eval_run,
};
