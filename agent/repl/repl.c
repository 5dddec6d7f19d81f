/* SPDX-License-Identifier: MIT */
/*
 * repl.c - a person's session: reading, running, and what is said of it. See repl.h; the
 * commands are in repl_command.c.
 *
 * What the code prints goes to stdout and stderr as it comes, control characters escaped;
 * the agent's own words go to stderr.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/escape.h"
#include "agent/base/utf8.h"
#include "agent/model/extract.h"
#include "agent/record/record.h"
#include "agent/repl/repl.h"

static const char *branch_name(const struct repl *r)
{
	return r->branches[r->session.branch].name;
}

void repl_start(struct repl *r)
{
	memset(r->branches, 0, sizeof(r->branches));
	(void)snprintf(r->branches[0].name, REPL_NAME_BYTES, "main");
	r->branch_count = 1;
}

static void put(struct repl *r, int fd, const struct text *text)
{
	int w = text->failed ? -text->failed
			     : stop_write(r->session.serve.stop, fd, text_string(text),
					  text->length);

	if (w == -EINTR)
		r->muted = true; /* the step is told of it by session_step() */
	else if (w < 0 && !r->failed)
		r->failed = -w;
}

void repl_heard(void *arg, uint16_t type, const void *bytes, size_t length)
{
	struct repl *r = arg;
	cleanup_text struct text text = { 0 };
	bool plain = type == WIRE_OUT || type == WIRE_RESULT || type == WIRE_MEDIA;
	struct stream *stream = plain ? &r->out : &r->err;
	bool whole = type == WIRE_RESULT || type == WIRE_TRACE || type == WIRE_MEDIA;

	if (r->muted && type != WIRE_TRACE)
		return;
	if (whole && stream->mid_line) {
		stream_end(stream, &text);
		text_puts(&text, "\n");
		stream->mid_line = false;
	}
	stream_add(stream, bytes, length, &text);
	if (type == WIRE_MEDIA && stream->mid_line) {
		stream_end(stream, &text);
		text_puts(&text, "\n");
		stream->mid_line = false;
	}
	put(r, plain ? STDOUT_FILENO : STDERR_FILENO, &text);
}

/* a prompt begins its line, whatever the code left behind; a file gets what was
 * printed */
static void end_stream(struct repl *r, struct stream *stream, int fd, bool own_line)
{
	cleanup_text struct text text = { 0 };

	stream_end(stream, &text);
	if (stream->mid_line && own_line) {
		text_puts(&text, "\n");
		stream->mid_line = false;
	}
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
	cleanup_text struct text line = { 0 };

	if (f->verdict == VERDICT_COMPLETED && f->state == STATE_KEPT)
		return;
	/* Ctrl-C has a traceback, too */
	if ((f->verdict == VERDICT_EXCEPTION || f->verdict == VERDICT_CANCELLED) &&
	    f->state == STATE_KEPT && r->step.trace.total)
		return;
	if (f->verdict == VERDICT_LAUNCHER_ERROR && f->state == STATE_KEPT) {
		text_printf(&line, "not run: %s", f->reason);
		show_note(&r->show, text_string(&line));
		return;
	}
	text_printf(&line, "%s: ", verdict_name(f->verdict));
	verdict_cause(f, &line);
	if (f->state == STATE_KEPT)
		text_puts(&line, "; your variables are kept");
	else if (f->state == STATE_ROLLED_BACK)
		text_printf(&line,
			    "; rolled back to state %" PRIu32
			    ": your variables are as they were",
			    r->session.state);
	else
		text_puts(
			&line,
			"; the session is lost, and your variables and files with it: this is a new one");
	show_note(&r->show, text_string(&line));
}

int repl_record(struct repl *r, const char *command, uint32_t branch, uint32_t state,
		cJSON *file, struct err *e)
{
	cJSON *o = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(o, "command", command);
	(void)cJSON_AddNumberToObject(o, "branch", branch);
	(void)cJSON_AddNumberToObject(o, "state", state);
	if (file)
		(void)cJSON_AddItemToObject(o, "file", file);
	return transcript_add(&r->transcript, &r->session, "command", o, e);
}

/* what is run is in the transcript before it runs, and how it ended behind it */
static int run_recorded(struct repl *r, const struct text *code, struct err *e)
{
	uint64_t number = ++r->steps;
	int s = transcript_add(&r->transcript, &r->session, "code",
			       record_code(number, code, r->session.cpu_ms), e);

	if (s == 0)
		s = session_step(&r->session, text_string(code), code->length, &r->step,
				 e);
	return s;
}

static int record_end(struct repl *r, struct err *e)
{
	return transcript_add(&r->transcript, NULL, "step",
			      record_step(r->steps, NULL, &r->step, NULL), e);
}

static int run_step(struct repl *r, struct err *e)
{
	const struct text *code = &r->statement.lines;
	const struct verdict_facts *f = &r->step.facts;

	if (code->failed || !utf8_valid(text_string(code), code->length)) {
		show_note(&r->show, code->failed ? "not run: it is longer than 256 KiB"
						 : "not run: it is no UTF-8");
		r->status = 1;
		return 0;
	}
	r->muted = false;
	r->pictures.failed = 0;
	r->out = r->err = (struct stream){ 0 };

	int s = run_recorded(r, code, e);
	bool told = r->step.facts.state == STATE_KEPT && !r->lines.edit;

	end_stream(r, &r->out, STDOUT_FILENO, !told || r->step.result.total);
	end_stream(r, &r->err, STDERR_FILENO, true);
	if (s < 0)
		return s;
	shown_save(&r->shown, r->steps, &r->session.media);
	shown_show(&r->shown, &r->session.media, &r->show, &r->pictures, false);
	say_verdict(r, f);
	if (r->step.strays) {
		char line[100];

		(void)snprintf(
			line, sizeof(line),
			"%" PRIu32
			" threads or processes were left running and have been ended",
			r->step.strays);
		show_note(&r->show, line);
	}
	if (f->state == STATE_LOST)
		repl_start(r);
	r->branches[r->session.branch].state = r->session.state;
	if (repl_status(f))
		r->status = repl_status(f);
	return record_end(r, e);
}

/* run what there is, if it is anything, and begin anew */
static int flush(struct repl *r, struct err *e)
{
	int s = statement_empty(&r->statement) ? 0 : run_step(r, e);

	statement_clear(&r->statement);
	if (s == 0 && r->failed)
		s = err_set(e, r->failed, "cannot write what the code printed");
	if (s == 0 && r->pictures.failed && r->pictures.failed != EINTR)
		s = err_set(e, r->pictures.failed, "cannot write a picture");
	return s;
}

static int take_line(struct repl *r, const struct text *line, struct err *e)
{
	const char *text = text_string(line);
	bool script = !r->lines.edit;
	int s = 0;

	if (script && statement_begins(&r->statement, text, line->length))
		s = flush(r, e);
	if (s < 0)
		return s;
	if (text[0] == ':' && statement_empty(&r->statement)) {
		statement_clear(&r->statement);
		return repl_command(r, text, e);
	}

	bool whole = statement_add(&r->statement, text, line->length);

	/* in a script, a block may go on behind an empty line */
	if (whole && !(script && r->statement.compound))
		s = flush(r, e);
	return s;
}

static void make_prompt(const struct repl *r, char *prompt, size_t size)
{
	bool more = r->statement.lines.length != 0;

	if (r->session.branch)
		(void)snprintf(prompt, size, "[%s %" PRIu32 "]%s ", branch_name(r),
			       r->session.state, more ? "..." : ">>>");
	else
		(void)snprintf(prompt, size, "[%" PRIu32 "]%s ", r->session.state,
			       more ? "..." : ">>>");
}

int repl_run(struct repl *r, struct err *e)
{
	cleanup_text struct text line = { 0 };
	int s = 0;

	r->statement.lines.max = EXTRACT_CODE_MAX;
	while (s >= 0 && !r->quitting) {
		char prompt[REPL_NAME_BYTES + 32];

		make_prompt(r, prompt, sizeof(prompt));
		s = lines_read(&r->lines, prompt, &line, e);
		if (s == 0)
			break;
		if (s == -ECANCELED) {
			statement_clear(&r->statement);
			s = 0;
		} else if (s > 0) {
			s = take_line(r, &line, e);
		}
		if (s >= 0 && r->show.failed)
			s = err_set(e, r->show.failed, "cannot write to stderr");
	}
	/* a script's last statement has nothing behind it; a person's is not finished */
	if (s == 0 && !r->quitting && !r->lines.edit)
		s = flush(r, e);
	return s < 0 ? s : r->lines.edit ? 0 : r->status;
}
