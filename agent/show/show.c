/* SPDX-License-Identifier: MIT */
/*
 * show.c - what the user sees while the loop runs: see show.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/base/memory.h"
#include "agent/base/units.h"
#include "agent/base/utf8.h"
#include "agent/session/report.h"
#include "agent/show/show.h"
#include "init/io.h"

enum ink { INK_PLAIN, INK_HEAD, INK_CODE, INK_GOOD, INK_BAD, INK_DIM, INK_COUNT };

/* SGR: bold, cyan, green, red, faint; reset behind each */
static const char *const inks[INK_COUNT] = {
	[INK_PLAIN] = "",        [INK_HEAD] = "\x1b[1m", [INK_CODE] = "\x1b[36m",
	[INK_GOOD] = "\x1b[32m", [INK_BAD] = "\x1b[31m", [INK_DIM] = "\x1b[2m",
};
#define INK_RESET "\x1b[0m"

#define CODE_MARK "  > "
#define OUT_MARK "  | "
#define ERR_MARK "  ! "
#define SAID_MARK "  : "
#define THINKING_BYTES 4096 /* of a reply that are shown */
#define THINKING_LINES 40
#define OWN_MARK "    " /* where a line of the agent's own goes on */

void show_open(struct show *s, int fd, enum show_color color, struct stop *stop)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	bool terminal = fd >= 0 && isatty(fd) == 1;
	bool plain = !terminal || (no_color && *no_color) ||
		     (term && strcmp(term, "dumb") == 0);

	*s = (struct show){
		.fd = fd,
		.terminal = terminal,
		.color = color == SHOW_ALWAYS || (color == SHOW_AUTO && !plain),
		.stop = stop,
	};
}

int show_check(const struct show *s, struct err *e)
{
	if (s->failed == EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return s->failed ? err_set(e, s->failed, "cannot write to stdout") : 0;
}

#define USUAL_COLUMNS 80 /* where a terminal does not tell */

/* 0 where it is no terminal; asked each time, for windows change their size */
static size_t columns(const struct show *s)
{
	struct winsize size;

	if (!s->terminal)
		return 0;
	return ioctl(s->fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
								   : USUAL_COLUMNS;
}

/* ink per line: a reader that pages or cuts never sees a colour without its end */
static void put_inked(struct show *s, enum ink ink, const struct text *text)
{
	cleanup_text struct text all = { 0 };

	for (const char *at = text_string(text); *at;) {
		size_t line = strcspn(at, "\n");
		bool inked = s->color && inks[ink][0] && line;

		text_puts(&all, inked ? inks[ink] : "");
		text_add(&all, at, line);
		text_puts(&all, inked ? INK_RESET : "");
		at += line;
		if (*at)
			text_add(&all, at++, 1);
	}
	s->failed = text->failed ? text->failed
		    : all.failed ? all.failed
				 : -stop_write(s->stop, s->fd, all.bytes, all.length);
}

/* mark: of a part that a line is broken into; NULL breaks none */
static void put(struct show *s, enum ink ink, const char *mark, const struct text *text)
{
	cleanup_text struct text all = { .failed = text->failed };
	size_t width = mark ? columns(s) : 0;

	if (s->fd < 0 || s->failed || !text->length)
		return;
	live_row_end(&s->live, &all);
	if (width)
		escape_fold(&all, mark, text->bytes, text->length, width);
	else
		text_add(&all, text->bytes, text->length);
	put_inked(s, ink, &all);
}

static void put_line(struct show *s, enum ink ink, const char *mark, const char *line)
{
	cleanup_text struct text text = { 0 };

	escape_line(&text, line, strlen(line));
	text_puts(&text, "\n");
	put(s, ink, mark, &text);
}

/* words of a model or a jail */
static void put_words(struct show *s, enum ink ink, const char *mark, const char *words,
		      size_t length)
{
	cleanup_text struct text text = { 0 };

	escape_lines(&text, mark, words, length);
	put(s, ink, mark, &text);
}

void show_line(struct show *s, const char *line)
{
	put_line(s, INK_HEAD, OWN_MARK, line);
}

void show_note(struct show *s, const char *line)
{
	put_line(s, INK_DIM, OWN_MARK, line);
}

void show_say(struct show *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cleanup_free char *line = memory_vprintf(fmt, ap);
	va_end(ap);
	show_note(s, line);
}

void show_complaint(struct show *s, const char *words)
{
	cleanup_text struct text text = { 0 };

	escape_lines(&text, "", words, strlen(words));
	/* what tests or a check printed has a mark, and so has each part of it */
	for (const char *at = text_string(&text), *end; *at; at = end) {
		cleanup_text struct text line = { 0 };
		bool marked = strncmp(at, ESCAPE_MARK, strlen(ESCAPE_MARK)) == 0;

		end = strchr(at, '\n');
		end = end ? end + 1 : at + strlen(at);
		text_add(&line, at, (size_t)(end - at));
		put(s, INK_DIM, marked ? ESCAPE_MARK : OWN_MARK, &line);
	}
}

void show_place(struct show *s, const char *line)
{
	put_line(s, INK_DIM, NULL, line);
}

void show_text(struct show *s, const struct text *text)
{
	put(s, INK_DIM, OWN_MARK, text);
}

void show_words(struct show *s, const char *words, size_t length)
{
	if (!s->seen)
		put_words(s, INK_DIM, SAID_MARK, words, length);
}

void show_thinking(struct show *s, const char *words, size_t length)
{
	size_t shown = utf8_floor(words, length, THINKING_BYTES);
	size_t lines = 0;

	if (s->seen || !length)
		return;
	for (size_t i = 0; i < shown; i++)
		if (words[i] == '\n' && ++lines == THINKING_LINES)
			shown = i + 1;
	show_note(s, "thinking");
	put_words(s, INK_DIM, SAID_MARK, words, shown);
	if (shown < length)
		show_say(s, "%zu more bytes of thinking are not shown", length - shown);
}

void show_live(struct show *s, const char *words, size_t length)
{
	cleanup_text struct text text = { 0 };
	bool full = s->live.full;

	if (s->fd < 0 || s->failed || !s->terminal)
		return;
	if (words)
		live_add(&s->live, words, length, SAID_MARK, columns(s), &text);
	else
		s->seen = live_end(&s->live, SAID_MARK, columns(s), &text);
	put_inked(s, INK_DIM, &text);
	if (words && s->live.full && !full)
		show_note(s, "the rest of this reply is shown when all of it is here");
}

void show_code(struct show *s, uint64_t number, uint64_t total, const char *code,
	       size_t length)
{
	char line[64];

	s->seen = false;
	(void)snprintf(line, sizeof(line),
		       total ? "step %" PRIu64 " of %" PRIu64 : "step %" PRIu64, number,
		       total);
	show_line(s, "");
	show_line(s, line);
	put_words(s, INK_CODE, CODE_MARK, code, length);
}

static void show_clip(struct show *s, enum ink ink, const char *mark,
		      const struct clip *clip)
{
	cleanup_text struct text text = { 0 };

	clip_show(clip, mark, &text);
	put(s, ink, mark, &text);
}

void show_step(struct show *s, const struct step *step)
{
	cleanup_text struct text line = { 0 };
	char time[32];

	show_clip(s, INK_PLAIN, OUT_MARK, &step->out);
	if (step->media)
		show_clip(s, INK_PLAIN, OUT_MARK, &step->media->said);
	show_clip(s, INK_PLAIN, OUT_MARK, &step->result);
	show_clip(s, INK_BAD, ERR_MARK, &step->err);
	show_clip(s, INK_BAD, ERR_MARK, &step->trace);
	text_printf(&line, "%s in %s: ", verdict_name(step->facts.verdict),
		    units_say_time(step->wall_ms, time, sizeof(time)));
	verdict_words(&step->facts, &line);
	put_line(s, step->facts.verdict == VERDICT_COMPLETED ? INK_GOOD : INK_BAD,
		 OWN_MARK, text_string(&line));
	show_refused(s, step->violations, step->facts.verdict == VERDICT_VIOLATION);
}

void show_refused(struct show *s, const cJSON *violations, bool killed)
{
	cleanup_text struct text line = { 0 };

	if (report_refused(violations, killed, &line))
		show_note(s, text_string(&line));
}

void show_not_enforced(struct stop *stop, const cJSON *opened)
{
	cleanup_text struct text line = { 0 };
	const cJSON *wall = json_first(json_get(opened, "not_enforced"));

	for (; wall; wall = wall->next) {
		const char *words = cJSON_IsString(wall) ? wall->valuestring : "";

		text_puts(
			&line,
			line.length
				? ", "
				: "stepjail-agent: warning: not enforced on this host: ");
		escape_line(&line, words, strcspn(words, ":"));
	}
	text_puts(&line, line.length ? "\n" : "");
	(void)stop_write(stop, STDERR_FILENO, line.bytes, line.length);
}

void show_said_by(struct show *s, const struct clip *clip)
{
	show_clip(s, INK_PLAIN, OUT_MARK, clip);
}

void show_said(struct show *s, struct clip *clip)
{
	show_clip(s, INK_DIM, SAID_MARK, clip);
	clip_clear(clip);
}

void show_answer(struct show *s, const char *answer, size_t length)
{
	show_line(s, "");
	show_line(s, "answer");
	put_words(s, INK_PLAIN, CODE_MARK, answer, length);
}
