/* SPDX-License-Identifier: MIT */
/*
 * cmd_repl.c - stepjail-agent repl: a person at a prompt, or a script
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/memory.h"
#include "agent/cmd/commands.h"
#include "agent/loop/prompt.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "agent/repl/repl.h"
#include "agent/session/confined.h"
#include "agent/session/jail_opts.h"
#include "agent/session/pipe_file.h"
#include "init/io.h"

struct repl_options {
	const char *transcript;
	uint64_t color;
	bool no_history;
	bool require_confinement;
	struct jail_options jail;
	struct out_options out;
};

#define ROW(group, kind, field) OPT_ROW(group, kind, struct repl_options, field)

static const struct opt opts[] = {
	JAIL_OPTS(struct repl_options),
	OUT_OPTS(struct repl_options),
	TRANSCRIPT_OPT(struct repl_options),
	CONFINE_OPT(struct repl_options),
	{ "no-history", NULL, NULL, "Neither read nor write a history of lines.",
	  ROW(RESULTS, FLAG, no_history) },
	{ "color", NULL, "auto", "Colour; auto is on a terminal without NO_COLOR.",
	  ROW(RESULTS, CHOICE, color), .choices = { "auto", "always", "never" } },
	{ .name = NULL },
};
OPT_ROWS_FIT(opts);

struct whole {
	struct repl repl;
	struct text stepjail;
	struct jail_binds binds;
	struct confined confined;
	cJSON *given; /* until it is in the transcript */
};

static void whole_free(struct whole **where)
{
	struct whole *w = *where;

	if (!w)
		return;
	session_close(&w->repl.session);
	confined_end(&w->confined);
	cJSON_Delete(w->given);
	lines_close(&w->repl.lines);
	transcript_close(&w->repl.transcript);
	out_close(&w->repl.collected);
	shown_end(&w->repl.shown);
	text_free(&w->repl.typed);
	jail_binds_free(&w->binds);
	text_free(&w->stepjail);
	free(w);
}

static int open_transcript(struct whole *w, const struct repl_options *o, struct err *e)
{
	struct transcript *t = &w->repl.transcript;
	int s = transcript_open(t, o->transcript, "repl", e);

	if (s < 0 || t->fd < 0)
		return s;
	w->given = inputs_record(&o->jail, &w->binds, false, w->repl.show.stop, e);
	return w->given ? 0 : -e->errnum;
}

/* the first line, where there is a transcript; @s is kept where it is a failure */
static int begin_transcript(struct whole *w, int s, struct err *e)
{
	struct err unheard;
	cJSON *line = w->given ? cJSON_CreateObject() : NULL;

	if (!w->given)
		return s;
	(void)cJSON_AddNumberToObject(line, "format", TRANSCRIPT_FORMAT);
	(void)cJSON_AddStringToObject(line, "command", "repl");
	(void)cJSON_AddItemToObject(line, "confinement", confined_json(&w->confined));
	(void)cJSON_AddItemToObject(line, "jail", w->given);
	w->given = NULL;

	int t = transcript_add(&w->repl.transcript, NULL, "start", line,
			       s < 0 ? &unheard : e);

	return s < 0 ? s : t;
}

/* the last line, and where it is */
static int end_transcript(struct repl *r, int s, struct err *e)
{
	cJSON *line = cJSON_CreateObject();
	struct err unheard;

	(void)cJSON_AddStringToObject(line, "outcome",
				      s >= 0        ? "ended"
				      : s == -EINTR ? "stopped"
						    : "failed");
	if (s >= 0)
		(void)cJSON_AddNumberToObject(line, "status", s);
	else
		record_string(line, "error", e->text, strlen(e->text));

	out_record(&r->collected, line);

	int t = transcript_add(&r->transcript, NULL, "end", line, s < 0 ? &unheard : e);

	/* a script's stderr is its own, but for what its caller cannot know */
	if (r->lines.edit || r->transcript.chosen)
		transcript_show(&r->transcript, &r->show);
	return s < 0 ? s : t < 0 ? t : s;
}

/* what goes in and comes out */
static int open_files(struct whole *w, const struct repl_options *o, struct stop *stop,
		      struct err *e)
{
	char name[INPUT_FILE_NAME_BYTES];
	int s;

	for (size_t i = 0; i < o->jail.files.count; i++)
		if (pipe_file_is_stream(o->jail.files.items[i], name) &&
		    strcmp(name, "stdin") == 0)
			return err_say(
				e, EINVAL,
				"--file: stdin is what repl reads its lines from; give a file or another pipe");
	s = jail_binds_make(&o->jail, NULL, stop, &w->binds, e);
	if (s == 0)
		s = out_open(&w->repl.collected, &o->out, &w->confined.policy, e);
	jail_binds_add(&w->binds, &w->repl.collected.marker);
	return s;
}

/* what a person at a prompt needs: to read any file (:put), and to make new ones below
 * the current folder (:get); @edit: it is a terminal */
static int plan_prompt(struct confine_policy *p, bool edit, struct err *e)
{
	static const char *const closed[] = { "/proc", "/sys", "/dev" };
	cleanup_free char *here = getcwd(NULL, 0);
	bool open = here && strcmp(here, "/") != 0;

	p->read_host = true;
	p->needs |= CONFINE_READ | CONFINE_CREATE | (edit ? CONFINE_EDIT : 0U);
	for (size_t i = 0; open && i < COUNT(closed); i++)
		open = strncmp(here, closed[i], strlen(closed[i])) != 0;
	/* a prompt that was started in one of these makes no files */
	return open ? confine_add_path(p, ".", CONFINE_CREATE, e) : 0;
}

static int start(struct whole *w, const struct repl_options *o, struct stop *stop,
		 struct err *e)
{
	struct repl *r = &w->repl;
	int s = open_files(w, o, stop, e);

	if (s == 0)
		s = launch_find(o->jail.stepjail, &w->stepjail, e);
	if (s == 0)
		s = lines_open(&r->lines, !o->no_history, stop, e);
	if (s < 0)
		return s;
	r->plan = (struct session_plan){
		.serve = { .stepjail = text_string(&w->stepjail),
			   .rootfs = o->jail.rootfs,
			   .pass = &o->jail.pass,
			   .binds = (const char *const *)w->binds.list,
			   .bind_count = w->binds.count,
			   .step_ms = o->jail.step_ms,
			   .output_limit = SESSION_REPL_OUTPUT },
		.deadline_ms = UINT64_MAX,
		.interactive = r->lines.edit != NULL,
		.files = w->binds.puts,
		.file_count = w->binds.put_count,
		.heard = repl_heard,
		.heard_arg = r,
	};
	w->confined.policy.required = o->require_confinement;
	s = open_transcript(w, o, e);
	if (s == 0)
		s = shown_plan(&r->shown, &r->collected.folder, &r->transcript,
			       &w->confined.policy, e);
	w->confined.broker.tidy = text_string(&r->shown.folder.path);
	if (s == 0)
		s = confined_serve(&w->confined, &r->plan.serve, stop, e);
	if (s == 0)
		s = plan_prompt(&w->confined.policy, r->lines.edit != NULL, e);
	if (s == 0)
		s = confined_go(&w->confined, stop, e);
	/* confined or not: what it was is in the record */
	s = begin_transcript(w, s, e);
	if (s == 0)
		s = session_open(&r->session, &r->plan, stop, e);
	repl_start(r);
	return s;
}

/* what is left for the user; @s is how it all ended */
static int collect(struct repl *r, int s, struct err *e)
{
	if (s >= 0 && out_collect(&r->collected, &r->session, false, e) < 0)
		s = -EINTR;
	else if (s < 0)
		out_skip(&r->collected, "the run failed");
	out_show(&r->collected, &r->show);
	return s == 0 ? out_status(&r->collected, r->show.stop) : s;
}

static int repl_main(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	__attribute__((cleanup(whole_free))) struct whole *w =
		memory_zeroed(1, sizeof(*w));
	const struct repl_options *o = options;

	(void)operand;
	w->repl.transcript.fd = -1;
	w->confined = CONFINED_NOT;
	w->repl.collected = OUT_NONE;
	w->repl.shown = SHOWN_NONE;
	show_open(&w->repl.show, STDERR_FILENO, (enum show_color)o->color, stop);

	int s = start(w, o, stop, e);

	if (s < 0)
		return w->repl.transcript.chain.lines ? end_transcript(&w->repl, s, e)
						      : s;
	show_said(&w->repl.show, &w->repl.session.serve.diag);
	if (w->repl.lines.edit)
		show_note(
			&w->repl.show,
			"Python in a jail. :help lists the commands, Ctrl-C interrupts, Ctrl-D leaves.");
	s = repl_run(&w->repl, e);
	return end_transcript(&w->repl, collect(&w->repl, s, e), e);
}

const struct command command_repl = {
	.name = "repl",
	.summary = "A prompt for Python in a jail, or a script on stdin, step by step.",
	.about =
		"Each statement is a step in a session of stepjail serve. A step that crashes, runs too long or is killed is rolled back: the variables are as they were before it. At a prompt a statement with a block ends with an empty line; the number in the prompt is that of the state.\n\n"
		"A line that begins with a colon is a command: :rollback N, :branch [NAME [N]], :switch NAME, :drop NAME, :states, :files [DIR], :put FILE [NAME], :get NAME [FILE], :show, :status, :reset, :help, :quit. Ctrl-C interrupts a running step, and twice kills it; the session is kept. Ctrl-D leaves.\n\n" SHOWN_ABOUT
		"\n\n"
		"Lines are edited as in a shell; those of earlier times are in $XDG_STATE_HOME/stepjail/history, or ~/.local/state/stepjail/history, unless --no-history is given.\n\n"
		"Without a terminal stdin is a script: no prompt, statements end where the next one begins, and the exit status is that of the last step that failed: 1 for an exception, the status of an exit, 124 for the time limit, 128+n for signal n.\n\n"
		"What the code prints goes to stdout and stderr as it comes, control characters escaped. It can look like the agent's own lines, which go to stderr.",
	.opts = opts,
	.opts_bytes = sizeof(struct repl_options),
	.run = repl_main,
};
