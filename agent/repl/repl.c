/* SPDX-License-Identifier: MIT */
/*
 * repl.c - a person's session: reading, running, and what is said of it. See repl.h; the
 * commands are in repl_command.c, lines of a person in repl_typed.c.
 *
 * What the code prints goes to stdout and stderr as it comes, control characters escaped;
 * the agent's own words go to stderr.
 */
#include <unistd.h>

#include "agent/base/utf8.h"
#include "agent/model/extract.h"
#include "agent/record/record.h"
#include "agent/repl/pieces.h"
#include "agent/repl/repl.h"

#define LOST                                                                             \
	"the session is lost, and your variables and files with it: this is a new one"

/* what python3 does where a program ends, with an exception or without */
static const char file_end[] =
	"import atexit, threading\nthreading._shutdown()\natexit._run_exitfuncs()\n";

int repl_go_on(struct repl *r, struct err *e)
{
	show_note(&r->show, "%s", e->text);
	r->status = 1;
	if (r->session.open)
		return 0;

	int s = session_renew(&r->session, e);

	repl_start(r);
	if (s == 0)
		show_note(&r->show, "%s", LOST);
	return s;
}

void repl_start(struct repl *r)
{
	memset(r->branches, 0, sizeof(r->branches));
	(void)snprintf(r->branches[0].name, REPL_NAME_BYTES, "main");
	r->branch_count = 1;
}

static void put(struct repl *r, int fd, const struct text *text)
{
	if (r->transcript.events)
		fd = STDERR_FILENO;

	int w = text->failed ? -text->failed
			     : stop_write(r->session.serve.stop, fd, text_string(text),
					  text->length);

	if (w == -EINTR)
		r->muted = true; /* the step is told of it by session_step() */
	else if (w < 0 && !r->failed)
		r->failed = -w;
}

/* nothing more comes of this line */
static void end_line(struct stream *stream, struct text *text)
{
	stream_end(stream, text);
	if (stream->mid_line)
		text_puts(text, "\n");
	stream->mid_line = false;
}

void repl_heard(void *arg, uint16_t type, const void *bytes, size_t length)
{
	struct repl *r = arg;
	cleanup_text struct text text = { 0 };
	bool plain =
		type == SESSION_OUT || type == SESSION_RESULT || type == SESSION_SAID;
	struct stream *stream = plain ? &r->out : &r->err;

	if (r->muted && type != SESSION_TRACE)
		return;
	if (type == SESSION_TYPED) { /* the terminal has shown it, with its newline */
		r->out.mid_line = r->err.mid_line = false;
		return;
	}
	/* a text of its own begins a line, and display()'s ends one */
	if (type == SESSION_RESULT || type == SESSION_TRACE || type == SESSION_SAID)
		end_line(stream, &text);
	stream_add(stream, bytes, length, &text);
	if (type == SESSION_SAID)
		end_line(stream, &text);
	put(r, plain ? STDOUT_FILENO : STDERR_FILENO, &text);
}

/* a prompt begins its line, whatever the code left behind; a file gets what was
 * printed */
static void end_stream(struct repl *r, struct stream *stream, int fd, bool own_line)
{
	cleanup_text struct text text = { 0 };

	(own_line ? end_line : stream_end)(stream, &text);
	put(r, fd, &text);
}

int repl_status(const struct verdict_facts *f)
{
	switch (f->verdict) {
	case VERDICT_COMPLETED:
		return 0;
	case VERDICT_EXITED:
		return f->code;
	case VERDICT_WALL_TIMEOUT:
		return 124;
	case VERDICT_LAUNCHER_ERROR:
		return 125;
	default:
		return f->signal ? 128 + f->signal : 1;
	}
}

/* the verdict, where the code's own words do not say it */
static void say_verdict(struct repl *r, const struct verdict_facts *f)
{
	bool kept = f->state == STATE_KEPT;
	cleanup_text struct text cause = { 0 };

	if ((f->verdict == VERDICT_COMPLETED && kept) || r->exited)
		return;
	/* Ctrl-C has a traceback, too */
	if ((f->verdict == VERDICT_EXCEPTION || f->verdict == VERDICT_CANCELLED) &&
	    kept && r->step.trace.total)
		return;
	if (f->verdict == VERDICT_LAUNCHER_ERROR && kept) {
		escape_name(&cause, f->reason, strlen(f->reason));
		show_note(&r->show, "not run: %s", text_string(&cause));
		return;
	}
	text_printf(&cause, "%s: ", verdict_name(f->verdict));
	verdict_cause(f, &cause);
	if (kept)
		show_note(&r->show, "%s; your variables are kept", text_string(&cause));
	else if (f->state == STATE_ROLLED_BACK)
		show_note(&r->show,
			  "%s; rolled back to state %" PRIu32
			  ": your variables are as they were",
			  text_string(&cause), r->session.state);
	else
		show_note(&r->show, "%s; " LOST, text_string(&cause));
}

int repl_record(struct repl *r, const char *command, uint32_t branch, uint32_t state,
		cJSON *file, struct err *e)
{
	cJSON *o = cJSON_CreateObject();

	json_add(o, "command", command);
	json_add(o, "branch", branch);
	json_add(o, "state", state);
	json_add(o, "file", file); /* none adds nothing */
	return transcript_add(&r->transcript, &r->session, "command", o, e);
}

/* what is run is in the transcript before it runs, and how it ended behind it */
static int run_recorded(struct repl *r, const struct text *code, struct err *e)
{
	uint64_t number = ++r->steps;
	int s = transcript_add(&r->transcript, &r->session, "code",
			       record_code(number, code, r->session.cpu_ms), e);

	struct err unheard;

	if (s < 0)
		return s;
	s = session_step(&r->session, text_string(code), code->length, &r->step, e);
	/* it had begun: it is in the record, also where the run ends in it */
	if (s < 0)
		(void)transcript_add(&r->transcript, NULL, "step",
				     record_step(number, NULL, &r->step, NULL), &unheard);
	return s;
}

/* what is run is UTF-8, and within EXTRACT_CODE_MAX */
static int run_step(struct repl *r, const struct text *code, struct err *e)
{
	const struct verdict_facts *f = &r->step.facts;

	/* lines that are typed already may be the next statements */
	r->asks = r->asks || strstr(text_string(code), "input") ||
		  strstr(text_string(code), "stdin") ||
		  strstr(text_string(code), "breakpoint");
	if (r->asks && r->lines.edit && !lines_waiting())
		r->session.serve.typed_fd = STDIN_FILENO;
	r->muted = false;
	r->out = r->err = (struct stream){ 0 };

	int s = run_recorded(r, code, e);
	bool told = f->state == STATE_KEPT && !r->lines.edit;

	end_stream(r, &r->out, STDOUT_FILENO, !told || r->step.result.total);
	end_stream(r, &r->err, STDERR_FILENO, true);
	shown_save(&r->shown, r->steps, &r->session.media);
	if (s < 0)
		return s;
	shown_show(&r->session.media, &r->show);
	/* exit(), quit(), sys.exit(): unlike with os._exit() the process stays */
	r->exited = r->quitting = f->verdict == VERDICT_EXITED && f->state == STATE_KEPT;
	say_verdict(r, f);
	show_refused(&r->show, json_get(r->step.done, "violations"),
		     f->verdict == VERDICT_VIOLATION);
	if (r->step.strays)
		show_note(&r->show,
			  "%" PRIu32 " processes were left running and have been ended",
			  r->step.strays);
	if (f->state == STATE_LOST)
		repl_start(r);
	r->branches[r->session.branch].state = r->session.state;
	if (repl_status(f) || r->exited)
		r->status = repl_status(f);
	s = transcript_add(&r->transcript, NULL, "step",
			   record_step(r->steps, NULL, &r->step, NULL), e);
	if (s == 0 && r->failed)
		s = err_set(e, r->failed, "cannot write what the code printed");
	return s;
}

int repl_code(struct repl *r, const char *bytes, size_t length, struct err *e)
{
	cleanup_text struct text code = { .max = EXTRACT_CODE_MAX };
	bool utf8 = utf8_valid(bytes, length);

	/* the interpreter reads it: see rootfs/interpreter/source.h */
	if (r->file) {
		text_printf(&code, "# stepjail: line %zu of /work/", r->line + 1);
		escape_line(&code, r->file, strlen(r->file));
		text_puts(&code, "\n");
	}
	text_add(&code, bytes, length);
	if (utf8 && !code.failed)
		return run_step(r, &code, e);
	show_note(&r->show, "%s",
		  utf8 ? "not run: it is longer than 256 KiB"
		       : "not run: it is no UTF-8");
	r->status = 1;
	return 0;
}

int repl_marks(struct repl *r, const char *text, size_t length, struct text *marks,
	       struct err *e)
{
	int s = pieces_ask(&r->session, text, length, !r->lines.edit, marks, e);

	if (s == -ECANCELED) /* the terminal has shown ^C, and the prompt begins a line */
		(void)!write(STDOUT_FILENO, "\n", 1);
	if (s == 0 || s == -EINTR || s == -ECANCELED || marks->failed)
		return s;
	return repl_go_on(r, e);
}

static bool is_over(const struct repl *r)
{
	return r->quitting || (r->status && !r->keep_going);
}

/* whole pieces of the script's first @length bytes, which end in a newline; of the last
 * one nobody knows whether it goes on, before there is more or the end */
static int run_pieces(struct repl *r, size_t length, struct err *e)
{
	cleanup_text struct text marks = { 0 };
	const char *text = r->lines.script.bytes;
	int s = repl_marks(r, text, length, &marks, e);
	const char *mark = text_string(&marks);
	size_t at = 0;

	while (s == 0 && at < length && !is_over(r)) {
		const char *first = mark;
		size_t piece = pieces_next(&mark, text + at, length - at);

		if (at + piece == length && *mark != PIECES_BEGIN && !r->lines.ended)
			break;
		if (*first == PIECES_BEGIN && text[at] == ':')
			s = repl_command(r, text + at, strcspn(text + at, "\n"), e);
		else if (*first == PIECES_BEGIN)
			s = repl_code(r, text + at, piece, e);
		at += piece;
		r->line += (size_t)(mark - first);
	}
	lines_drop(&r->lines, at);
	return s;
}

static int read_script(struct repl *r, struct err *e)
{
	const struct text *script = &r->lines.script;
	int s = lines_more(&r->lines, PIECES_MAX_BYTES, e);
	const char *end =
		script->length ? memrchr(script->bytes, '\n', script->length) : NULL;

	if (s == 0 && end)
		s = run_pieces(r, (size_t)(end - script->bytes) + 1, e);
	if (s == 0 && script->length >= PIECES_MAX_BYTES && !is_over(r))
		s = err_say(e, E2BIG, "a statement of the script is longer than 640 KiB");
	return s;
}

int repl_run(struct repl *r, struct err *e)
{
	int s = 0;

	while (s == 0 && !is_over(r) && !r->lines.ended) {
		s = r->lines.edit ? repl_typed(r, e) : read_script(r, e);
		if (s == 0 && r->show.failed)
			s = err_set(e, r->show.failed, "cannot write to stderr");
	}
	if (s == 0 && r->file && r->steps && r->step.facts.state == STATE_KEPT)
		s = repl_code(r, file_end, strlen(file_end), e);
	return s < 0 ? s : r->lines.edit && !r->exited ? 0 : r->status;
}
