/* SPDX-License-Identifier: MIT */
/*
 * cmd_repl.c - stepjail-agent repl: a person at a prompt, or a script
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/commands.h"
#include "agent/confine_plan.h"
#include "agent/confined.h"
#include "agent/jail_opts.h"
#include "agent/prompt.h"
#include "agent/repl.h"

struct repl_options {
	uint64_t color;
	bool no_history;
	bool require_confinement;
	struct jail_options jail;
};

#define ROW(kind, field) OPT_ROW(kind, struct repl_options, field)

static const struct opt opts[] = {
	JAIL_OPTS(struct repl_options),
	CONFINE_OPT(struct repl_options),
	{ "no-history", NULL, NULL, "Neither read nor write a history of lines.",
	  ROW(FLAG, no_history) },
	{ "color", NULL, "auto", "Colour; auto is on a terminal without NO_COLOR.",
	  ROW(CHOICE, color), .choices = { "auto", "always", "never" } },
	{ .name = NULL },
};

struct whole {
	struct repl repl;
	struct text stepjail;
	struct jail_binds binds;
	struct confined confined;
};

static void whole_free(struct whole **where)
{
	struct whole *w = *where;

	if (!w)
		return;
	session_close(&w->repl.session);
	confined_end(&w->confined);
	lines_close(&w->repl.lines);
	statement_free(&w->repl.statement);
	jail_binds_free(&w->binds);
	text_free(&w->stepjail);
	free(w);
}

static int start(struct whole *w, const struct repl_options *o, struct stop *stop,
		 struct err *e)
{
	struct repl *r = &w->repl;
	int s = jail_binds_make(&o->jail.files, &w->binds, e);

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
			   .bind_count = o->jail.files.count,
			   .step_ms = o->jail.step_ms,
			   .output_limit = "16M" },
		.deadline_ms = UINT64_MAX,
		.interactive = r->lines.edit != NULL,
		.heard = repl_heard,
		.heard_arg = r,
	};
	w->confined.policy.required = o->require_confinement;
	s = confined_serve(&w->confined, &r->plan.serve, stop, e);
	if (s == 0)
		s = confine_plan_prompt(&w->confined.policy, r->lines.edit != NULL, e);
	if (s == 0)
		s = confined_go(&w->confined, &r->show, e);
	if (s < 0)
		return s;
	s = session_open(&r->session, &r->plan, stop, e);
	repl_start(r);
	return s;
}

static int repl_main(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	__attribute__((cleanup(whole_free))) struct whole *w = calloc(1, sizeof(*w));
	const struct repl_options *o = options;

	(void)operand;
	if (!w)
		return err_set(e, ENOMEM, "repl");
	w->confined = CONFINED_NOT;
	show_open(&w->repl.show, STDERR_FILENO, (enum show_color)o->color, stop);

	int s = start(w, o, stop, e);

	if (s < 0)
		return s;
	show_said(&w->repl.show, &w->repl.session.serve.diag);
	if (w->repl.lines.edit)
		show_note(&w->repl.show, "Python in a jail. :help lists the commands, "
					 "Ctrl-C interrupts, Ctrl-D leaves.");
	return repl_run(&w->repl, e);
}

const struct command command_repl = {
	.name = "repl",
	.summary = "A prompt for Python in a jail, or a script on stdin, step by step.",
	.about = "Each statement is a step in a session of stepjail serve. A step that "
		 "crashes, runs too long or is killed is rolled back: the variables are "
		 "as they were before it. At a prompt a statement with a block ends with "
		 "an empty line; the number in the prompt is that of the state.\n\n"
		 "A line that begins with a colon is a command: :rollback N, :branch "
		 "[NAME [N]], :switch NAME, :drop NAME, :states, :files [DIR], :put FILE "
		 "[NAME], :get NAME [FILE], :status, :reset, :help, :quit. Ctrl-C "
		 "interrupts a running step, and twice kills it; the session is kept. "
		 "Ctrl-D leaves.\n\n"
		 "Lines are edited as in a shell; those of earlier times are in "
		 "$XDG_STATE_HOME/stepjail/history, or ~/.local/state/stepjail/history, "
		 "unless --no-history is given.\n\n"
		 "Without a terminal stdin is a script: no prompt, statements end where "
		 "the next one begins, and the exit status is that of the last step that "
		 "failed: 1 for an exception, the status of an exit, 124 for the time "
		 "limit, 128+n for signal n.\n\n"
		 "What the code prints goes to stdout and stderr as it comes, control "
		 "characters escaped. It can look like the agent's own lines, which go "
		 "to stderr.",
	.opts = opts,
	.opts_bytes = sizeof(struct repl_options),
	.run = repl_main,
};
