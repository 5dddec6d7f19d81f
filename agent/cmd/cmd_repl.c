/* SPDX-License-Identifier: MIT */
/*
 * cmd_repl.c - stepjail-agent repl: a person at a prompt, or a script
 */

#include "agent/base/memory.h"
#include "agent/base/path.h"
#include "agent/cmd/commands.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "agent/repl/repl.h"
#include "init/io.h"

struct repl_options {
	const char *transcript;
	uint64_t color;
	bool no_history, keep_going, events;
	bool require_confinement;
	struct jail_options jail;
	struct out_options out;
};

#define ROW(group, kind, field) OPT_ROW(group, kind, struct repl_options, field)
#define PART(rows, field) OPT_PART(rows, struct repl_options, field)

static const struct opt opts[] = {
	{ "no-history", NULL, NULL, ROW(RESULTS, FLAG, no_history),
	  "Neither read nor write the history of typed lines." },
	{ "keep-going", NULL, NULL, ROW(RESULTS, FLAG, keep_going),
	  "Go on with a script behind a step or a command that failed." },
	{ "events", NULL, NULL, ROW(RESULTS, FLAG, events),
	  TRANSCRIPT_EVENTS " What the code prints goes to stderr." },
	{ .name = NULL },
};

static void repl_free(struct repl **where)
{
	struct repl *r = *where;

	session_close(&r->session);
	broker_close(&r->confined.broker);
	cJSON_Delete(r->given);
	lines_close(&r->lines);
	transcript_close(&r->transcript);
	out_close(&r->collected);
	shown_end(&r->shown);
	text_free(&r->typed);
	jail_binds_free(&r->binds);
	free(r);
}

/* @s: how it went so far; that is kept where it is a failure, else 0 or -errno */
static int add_line(struct repl *r, int s, const char *event, cJSON *line, struct err *e)
{
	struct err unheard;
	int t = transcript_add(&r->transcript, NULL, event, line, s < 0 ? &unheard : e);

	return s < 0 || t == 0 ? s : t;
}

/* the first line, where there is a transcript */
static int begin_transcript(struct repl *r, int s, struct err *e)
{
	cJSON *line, *inputs = r->given;

	if (!inputs)
		return s;
	r->given = NULL;
	line = cJSON_CreateObject();
	json_add(line, "command", "repl");
	record_origin(line);
	json_add(line, "confinement", confined_json(&r->confined));
	json_add(line, "inputs", inputs);
	return add_line(r, s, "start", line, e);
}

/* the last line, and where it is */
static int end_transcript(struct repl *r, int s, struct err *e)
{
	cJSON *line = cJSON_CreateObject();

	json_add(line, "outcome", s >= 0 ? "ended" : s == -EINTR ? "stopped" : "failed");
	if (s >= 0)
		json_add(line, "status", s);
	else
		json_add(line, "error", e->text);
	out_record(&r->collected, line);
	s = add_line(r, s, "end", line, e);
	/* a script's stderr is its own, but for what its caller cannot know */
	if (r->lines.edit || r->transcript.chosen)
		transcript_show(&r->transcript, &r->show);
	return s;
}

/* what goes in and comes out */
static int open_files(struct repl *r, const struct repl_options *o, struct stop *stop,
		      struct err *e)
{
	char name[INPUT_FILE_NAME_BYTES];

	for (size_t i = 0; i < o->jail.files.count; i++)
		if (input_file_is_stream(o->jail.files.items[i], name) &&
		    strcmp(name, "stdin") == 0)
			return err_say(
				e, EINVAL,
				"--file: stdin is what repl reads its lines from; give a file or another pipe");
	if (jail_binds_make(&o->jail, NULL, stop, &r->binds, e) < 0)
		return -e->errnum;
	return out_open(&r->collected, &o->out, &r->binds, &r->confined.policy, e);
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

static int start(struct repl *r, const struct repl_options *o, struct stop *stop,
		 struct err *e)
{
	if (open_files(r, o, stop, e) < 0 ||
	    lines_open(&r->lines, !o->no_history, stop, e) < 0)
		return -e->errnum;
	r->plan = (struct session_plan){ .jail = &o->jail,
					 .binds = &r->binds,
					 .output_limit = SESSION_REPL_OUTPUT,
					 .deadline_ms = UINT64_MAX,
					 .interactive = r->lines.edit != NULL,
					 .heard = repl_heard,
					 .heard_arg = r };
	r->lines.complete = repl_complete;
	r->lines.complete_arg = r;
	r->keep_going = o->keep_going || isatty(STDIN_FILENO);
	if (transcript_open(&r->transcript, o->transcript, "repl",
			    o->events ? stop : NULL, e) < 0)
		return -e->errnum;
	if (transcript_wanted(&r->transcript)) {
		r->given = inputs_record(&o->jail, &r->binds, false, stop, e);
		if (!r->given)
			return -e->errnum;
	}
	if (shown_plan(&r->shown, &r->collected.folder, &r->transcript,
		       &r->confined.policy, e) < 0)
		return -e->errnum;
	r->confined.broker.tidy = text_string(&r->shown.folder.path);
	if (confined_serve(&r->confined, &r->plan, stop, e) < 0 ||
	    plan_prompt(&r->confined.policy, r->plan.interactive, e) < 0)
		return -e->errnum;

	int s = confined_go(&r->confined, stop, e);

	/* confined or not: what it was is in the record */
	s = begin_transcript(r, s, e);
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

/* a script's file becomes stdin, which is what scripts are read from */
static int open_script(struct repl *r, const char *path, struct err *e)
{
	cleanup_fd int fd = -1;

	if (!path || strcmp(path, "-") == 0)
		return 0;
	r->file = path_last(path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 || dup2(fd, STDIN_FILENO) < 0 ? err_set(e, errno, "%s", path) : 0;
}

static int repl_main(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	__attribute__((cleanup(repl_free))) struct repl *r = memory_zeroed(1, sizeof(*r));
	const struct repl_options *o = options;

	r->transcript.fd = -1;
	r->confined = CONFINED_NOT(o->require_confinement);
	r->collected = OUT_NONE;
	r->shown = SHOWN_NONE;
	show_open(&r->show, STDERR_FILENO, (enum show_color)o->color, stop);

	int s = open_script(r, operand, e);

	if (s == 0)
		s = start(r, o, stop, e);
	if (s < 0)
		return r->transcript.chain.lines ? end_transcript(r, s, e) : s;
	show_not_enforced(&r->show, r->session.opened);
	show_said(&r->show, &r->session.serve.diag);
	if (r->lines.edit)
		show_note(
			&r->show,
			"Python in a jail. :help lists the commands, Ctrl-C interrupts, Ctrl-D leaves.");
	s = repl_run(r, e);
	return end_transcript(r, collect(r, s, e), e);
}

static const struct exit_row exits[] = {
	{ "0", "No step failed; or a person was at the prompt." },
	{ "1", "A script: the last step that failed raised an exception." },
	{ "N",
	  "Code called exit(N); or the last step that failed, of a script, ended so." },
	{ "6", "No step failed, but not all files of --out could be written." },
	{ "124", "A script: the last step that failed ran longer than --step-time." },
	{ NULL, NULL },
};

const struct command command_repl = {
	.name = "repl",
	.operand = "[FILE]",
	.summary = "A prompt for Python in a jail, or a script, step by step.",
	.about =
		"Each statement is a step in a session of stepjail serve. A step that crashes, runs too long or is killed is rolled back: the variables are as they were before it. At a prompt a statement with a block ends with an empty line, but not where one is pasted; the number in the prompt is that of the state.\n\n"
		"A line that begins with a colon is a command: :rollback N, :branch [NAME [N]], :switch NAME, :drop NAME, :states, :files [DIR], :put FILE [NAME], :get NAME [FILE], :show, :status, :reset, :help, :quit. Ctrl-C interrupts a running step, and twice kills it; the session is kept. Ctrl-D, exit and quit leave.\n\n" SHOWN_ABOUT
		"\n\n"
		"Tab completes commands, names and attributes, for which the jail's Python is asked in a fork of the session that is thrown away; it uses up a state's number. What is typed while a step runs goes to its stdin, where code of the session has named input, stdin or breakpoint.\n\n"
		"Lines are edited as in a shell; those of earlier times are in $XDG_STATE_HOME/stepjail/history, or ~/.local/state/stepjail/history, unless --no-history is given.\n\n"
		"FILE is a program, and each of its statements a step that sees what it would see by stepjail run: __file__ and sys.argv[0] are /work/NAME, tracebacks have the lines of the file, values of expressions are not shown, and a last step waits for threads and runs what atexit has, unless the process has died. The file itself is in the jail only where --file gives it, and it is UTF-8.\n\n"
		"stdin without a terminal, or with -, is lines that nobody types: no prompt, and the values are shown. Both are scripts: statements end where the next one begins. A script ends at the first step or command that fails, unless --keep-going is given; its exit status is that of the last one that failed: 1 for an exception, 124 for the time limit, 128+n for signal n. exit(N) leaves with status N, at a prompt too.\n\n"
		"What the code prints goes to stdout and stderr as it comes, control characters escaped. It can look like the agent's own lines, which go to stderr.",
	.exits = exits,
	OPT_PARTS(PART(jail_opts, jail), PART(out_opts, out), PART(pass_opts, jail),
		  PART(host_opts, jail), { opts, 0 }, PART(transcript_opts, transcript),
		  PART(confine_opts, require_confinement), PART(color_opts, color)),
	.opts_bytes = sizeof(struct repl_options),
	.run = repl_main,
};
