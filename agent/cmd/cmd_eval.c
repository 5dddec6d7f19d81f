/* SPDX-License-Identifier: MIT */
/*
 * cmd_eval.c - stepjail-agent eval: a set of tasks, each in a fresh jail, and a table
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/cmd/commands.h"
#include "agent/confine/confined.h"
#include "agent/eval/evalask.h"
#include "agent/eval/evalshow.h"
#include "agent/session/jail_opts.h"
#include "agent/session/launch.h"
#include "init/io.h"

struct eval_options {
	const char *model;
	const char *model_name;
	const char *base_url;
	const char *key_file;
	uint64_t model_time_ms;
	uint64_t ask_ms;
	uint64_t retries;
	uint64_t retry_wait_ms;
	uint64_t samples;
	const char *results;
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
	  "Run the solution that comes with each task (this is what is done without any option).",
	  ROW(FLAG, canonical) },
	{ "broken", NULL, NULL,
	  "Run each task with pass for its solution: nothing should pass.",
	  ROW(FLAG, broken) },
	{ "model", "MODEL", NULL, "Run the solutions of a model, as in solve.",
	  ROW(TEXT, model) },
	{ "model-name", "NAME", NULL, "Which of the server's models.",
	  ROW(TEXT, model_name), .with = { "model" } },
	{ "base-url", "URL", NULL, "The server, as in solve.", ROW(TEXT, base_url),
	  .with = { "model" } },
	{ "key-file", "FILE", NULL, "Read the API key from a file, as in solve.",
	  ROW(TEXT, key_file), .with = { "model" } },
	{ "model-time", "TIME", "2m",
	  "Longest silence of a server that is to answer, or is answering.",
	  ROW(TIME, model_time_ms), .min = 100, .max = HOUR_MS, .with = { "model" } },
	{ "ask-time", "TIME", "30m",
	  "Longest time for one question, with what is asked again and waited for.",
	  ROW(TIME, ask_ms), .min = 100, .max = 24 * HOUR_MS, .with = { "model" } },
	{ "retries", "N", "4", "How often to ask again, as in solve.",
	  ROW(COUNT, retries), .min = 0, .max = 1000, .with = { "model" } },
	{ "retry-wait", "TIME", "500ms", "The first wait before that, as in solve.",
	  ROW(TIME, retry_wait_ms), .min = 1, .max = HOUR_MS, .with = { "model" } },
	{ "samples", "N", "1",
	  "How many solutions of each task the model is asked for; from 2 on, the table has pass@k.",
	  ROW(COUNT, samples), .min = 1, .max = EVALBOOK_SAMPLES_MAX,
	  .with = { "model" } },
	{ "results", "FILE", NULL,
	  "Keep replies and results, one JSON object a line. If the file is there, what is in it is neither asked for nor run again.",
	  ROW(TEXT, results) },
	{ "jobs", "N", "0",
	  "How many jails at a time, and before that, how many questions; 0 is one for each processor.",
	  ROW(COUNT, jobs), .min = 0, .max = EVALRUN_JOBS_MAX },
	{ "task-time", "TIME", "20s", "Longest time for one task.", ROW(TIME, task_ms),
	  .min = 100, .max = HOUR_MS },
	{ "rootfs", "NAME", "core", "The jail's root tree, a name or a folder.",
	  ROW(TEXT, rootfs) },
	{ "memory", "SIZE", "512M", "Each jail's memory; see stepjail(1).",
	  ROW(PASS, pass) },
	{ "pids", "N", NULL, "How many processes and threads each jail may hold.",
	  ROW(PASS, pass) },
	{ "allow-missing", "PART", NULL,
	  "Run without a wall that this host lacks (cgroup); see stepjail(1).",
	  ROW(PASS, pass) },
	FIXED_OPTS(struct eval_options, pass),
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
OPT_ROWS_FIT(opts);

/* all of one run, so that one function can free it */
struct eval {
	const struct eval_options *o;
	struct stop *stop;
	uint64_t jobs;
	struct evalset set;
	struct evalbook book;
	struct show show;
	struct evalshow progress;
	struct text stepjail;
	struct confined confined; /* to nothing but what is open */
	struct evalrun_plan run_plan;
	struct model_plan model_plan;
	struct evalset
		pending; /* what is still to be run: tasks of @set, solutions of @book */
	size_t *samples; /* of @pending's, their places in @book */
	struct eval_result *results;
};

static void eval_free(struct eval *v)
{
	confined_end(&v->confined);
	free(v->pending.tasks); /* its strings are others' */
	free(v->samples);
	free(v->results);
	evalbook_free(&v->book);
	evalset_free(&v->set);
	text_free(&v->stepjail);
}

static uint64_t processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0 || CPU_COUNT(&set) < 1)
		return 1;
	return CPU_COUNT(&set) > EVALRUN_JOBS_MAX ? EVALRUN_JOBS_MAX
						  : (uint64_t)CPU_COUNT(&set);
}

static void note(void *arg, const char *line)
{
	show_note(arg, line);
}

static int replied(void *arg, size_t sample, struct err *e)
{
	struct eval *v = arg;

	(void)sample;
	return evalshow_step(&v->progress, e);
}

static int ended(void *arg, size_t task, const struct eval_result *result, struct err *e)
{
	struct eval *v = arg;
	int r = evalbook_result(&v->book, v->samples[task], result, e);

	return r < 0 ? r : evalshow_step(&v->progress, e);
}

/* before the book is open, which the broker is to know nothing of */
static int start_broker(struct eval *v, struct err *e)
{
	const struct eval_options *o = v->o;
	cleanup_args struct launch_args args = { .count = 0 };

	v->run_plan = (struct evalrun_plan){
		.broker = &v->confined.broker,
		.rootfs = o->rootfs,
		.pass = &o->pass,
		.body = o->model    ? EVAL_WHOLE
			: o->broken ? EVAL_BROKEN
				    : EVAL_CANONICAL,
		.task_ms = o->task_ms,
		.jobs = v->jobs,
		.stop = v->stop,
		.ended = ended,
		.ended_arg = v,
	};
	evalrun_args(&v->run_plan, &args);
	return confined_start(&v->confined, text_string(&v->stepjail), &args, v->stop, e);
}

/* all is open that will be: from here on, what comes is hostile */
static int confine(void *arg, const struct model *model, struct err *e)
{
	struct eval *v = arg;

	if (!model)
		return confined_go(&v->confined, &v->show, e);
	/* an asker starts no jail and writes no result */
	io_close_fd(&v->confined.broker.socket);
	io_close_fd(&v->book.fd);

	int r = confined_model(&v->confined, model, e);

	return r == 0 ? confine_self(&v->confined.policy, &v->confined.facts, e) : r;
}

static int open_book(struct eval *v, struct err *e)
{
	const struct eval_options *o = v->o;
	cleanup_text struct text who = { 0 };

	if (!o->model) {
		text_puts(&who, o->broken ? "broken" : "canonical");
	} else {
		text_printf(&who, "%s %s", o->model, o->model_name ? o->model_name : "");
	}
	return evalbook_open(&v->book, o->results, &v->set, text_string(&who),
			     o->model ? (uint32_t)o->samples : 1, o->model != NULL, e);
}

static int ask(struct eval *v, struct err *e)
{
	const struct eval_options *o = v->o;
	const struct evalask_plan plan = {
		.model = o->model,
		.model_plan = &v->model_plan,
		.jobs = v->jobs,
		.ask_ms = o->ask_ms,
		.stop = v->stop,
		.confine = confine,
		.replied = replied,
		.arg = v,
	};
	int r;

	v->model_plan = (struct model_plan){
		.base_url = o->base_url,
		.model_name = o->model_name,
		.key_file = o->key_file,
		.retries = o->retries,
		.retry_wait_ms = o->retry_wait_ms,
		.request_ms = o->model_time_ms,
		.time_option = "--ask-time",
		.stop = v->stop,
		.note = note,
		.note_arg = &v->show,
	};
	v->progress.doing = "asked";
	for (size_t i = 0; i < v->book.count; i++)
		v->progress.all += !v->book.samples[i].asked;
	r = evalask(&v->book, &plan, e);
	evalshow_end(&v->progress);
	return r;
}

/* a set of what has not run: a task as often as it has such samples */
static int make_pending(struct eval *v, struct err *e)
{
	struct evalset *p = &v->pending;

	p->tasks = calloc(v->book.count, sizeof(*p->tasks));
	v->samples = calloc(v->book.count, sizeof(*v->samples));
	v->results = calloc(v->book.count, sizeof(*v->results));
	if (!p->tasks || !v->samples || !v->results)
		return err_set(e, ENOMEM, "eval");
	for (size_t i = 0; i < v->book.count; i++) {
		const struct eval_sample *s = &v->book.samples[i];

		if (s->ran)
			continue;
		p->tasks[p->count] = v->set.tasks[s->task];
		if (s->code)
			p->tasks[p->count].canonical = s->code;
		v->samples[p->count++] = i;
	}
	return 0;
}

static int run(struct eval *v, struct err *e)
{
	int r = make_pending(v, e);

	v->progress.doing = "run";
	v->progress.all = v->pending.count;
	if (r == 0 && v->pending.count)
		r = evalrun(&v->pending, &v->run_plan, v->results, e);
	if (r < 0)
		evalshow_end(&v->progress);
	return r;
}

static int eval_run(const void *options, const char *operand, struct stop *stop,
		    struct err *e)
{
	const struct eval_options *o = options;
	__attribute__((cleanup(eval_free))) struct eval v = {
		.o = o,
		.stop = stop,
		.jobs = o->jobs ? o->jobs : processors(),
		.book = { .fd = -1 },
		.confined = CONFINED_NOT,
	};
	int fd = o->json ? STDERR_FILENO : STDOUT_FILENO;

	if (o->canonical + o->broken + (o->model != NULL) > 1)
		return err_say(e, EINVAL,
			       "--canonical, --broken and --model: give one of them");
	v.confined.policy.required = o->require_confinement;
	show_open(&v.show, fd, (enum show_color)o->color, stop);
	v.progress = (struct evalshow){ .show = &v.show,
					.book = &v.book,
					.confined = &v.confined,
					.bar = isatty(fd) == 1,
					.started_ms = units_now_ms() };

	int r = evalset_read(operand, &v.set, e);

	if (r == 0)
		r = launch_find(o->stepjail, &v.stepjail, e);
	if (r == 0)
		r = start_broker(&v, e);
	if (r == 0)
		r = open_book(&v, e);
	if (r == 0)
		r = o->model ? ask(&v, e) : confine(&v, NULL, e);
	if (r == 0)
		r = run(&v, e);
	if (r == 0)
		r = o->json ? evalshow_json(&v.progress, e)
			    : evalshow_table(&v.progress, e);
	return r < 0 ? r : evalshow_passed(&v.book) != v.book.count;
}

const struct command command_eval = {
	.name = "eval",
	.operand = "FILE",
	.summary = "Run a set of coding tasks with their tests, each in a fresh jail.",
	.about =
		"FILE (or - for stdin) holds tasks in HumanEval's form, one JSON object a line: task_id, prompt, entry_point, canonical_solution, test. Each is run in a jail of its own, without /proc, the solution in one process and its test in another: the two exchange plain data only. A task passes where its test ran to the end; leaving early with status 0 does not pass.\n\n"
		"With --model a model is asked for the solutions, once for each sample, before any of them runs. pass@k is the chance that one of k samples passes, estimated without bias from all of them: 1 - C(n-c, k) / C(n, k) for n samples of which c passed, and the mean over the tasks.",
	.opts = opts,
	.opts_bytes = sizeof(struct eval_options),
	.run = eval_run,
};
