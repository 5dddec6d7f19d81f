/* SPDX-License-Identifier: MIT */
/*
 * show.c - what the user sees while the loop runs: see show.h
 */
#include <stdio.h>
#include <sys/ioctl.h>

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
#define WAIT_END "\r\x1b[K" /* the line that is written over goes */

#define CODE_MARK "  > "
#define OUT_MARK "  | "
#define ERR_MARK "  ! "
#define SAID_MARK "  : "
#define THINKING_BYTES 4096 /* of a reply that are shown */
#define THINKING_LINES 40
#define OWN_MARK "    " /* where a line of the agent's own goes on */

int show_check(const struct show *s, struct err *e)
{
	if (s->failed == EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return s->failed ? err_set(e, s->failed, "cannot write to %s",
				   s->fd == STDERR_FILENO ? "stderr" : "stdout")
			 : 0;
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

static void write_all(struct show *s, const struct text *text)
{
	s->writing = true;
	s->failed = text->failed ? text->failed
				 : -stop_write(s->stop, s->fd, text->bytes, text->length);
	s->writing = false;
}

/* ink per line: a reader that pages or cuts never sees a colour without its end */
static void put_inked(struct show *s, enum ink ink, const struct text *text)
{
	cleanup_text struct text all = { .failed = text->failed };

	if (s->fd < 0 || s->failed || (!text->length && !text->failed && !s->wait_shown))
		return;
	if (s->wait_shown)
		text_puts(&all, WAIT_END);
	s->wait_shown = false;
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
	write_all(s, &all);
}

/* a row that is begun ends, but that of @mine */
static void end_rows(struct show *s, const struct live *mine, struct text *out)
{
	for (int i = 0; i < SHOW_ROWS; i++)
		if (&s->rows[i] != mine)
			live_row_end(&s->rows[i], out);
}

/* @mark: of a part that a line is broken into; NULL breaks none */
static void put(struct show *s, enum ink ink, const char *mark, const struct text *text)
{
	cleanup_text struct text all = { .failed = text->failed };
	size_t width = mark ? columns(s) : 0;

	if (!text->length)
		return;
	end_rows(s, NULL, &all);
	if (width)
		live_fold(mark, text->bytes, text->length, width, &all);
	else
		text_add(&all, text->bytes, text->length);
	put_inked(s, ink, &all);
}

static const enum ink row_inks[SHOW_ROWS] = { INK_DIM, INK_PLAIN, INK_BAD };

/* of what comes: its next piece, or NULL: nothing more; @fresh: in a row of its own. True
 * where all that came was shown */
static bool put_piece(struct show *s, enum show_row row, bool fresh, const void *bytes,
		      size_t length)
{
	struct live *l = &s->rows[row];
	cleanup_text struct text text = { 0 };
	bool whole = true;

	if (bytes && !length)
		return true;
	end_rows(s, fresh ? NULL : l, &text);
	if (bytes)
		live_add(l, bytes, length, columns(s), &text);
	else
		whole = live_end(l, columns(s), &text);
	put_inked(s, row_inks[row], &text);
	return whole;
}

/* each second, while somebody waits */
static void tick(void *arg)
{
	struct show *s = arg;
	uint64_t waited_ms = s->waiting ? units_now_ms() - s->waits_ms : 0;
	cleanup_text struct text text = { 0 };

	if (s->writing || s->failed || !s->rewrites || waited_ms < 1000)
		return;
	for (int i = 0; i < SHOW_ROWS; i++)
		if (s->rows[i].column)
			return; /* words are coming */
	text_printf(&text, WAIT_END OWN_MARK "%s%.40s, %s", s->waiting, s->whom,
		    units_say_time(waited_ms / 1000 * 1000).text);
	s->wait_shown = true;
	write_all(s, &text);
}

void show_open(struct show *s, int fd, enum show_color color, struct stop *stop)
{
	const char *no_color = getenv("NO_COLOR");
	const char *term = getenv("TERM");
	bool terminal = fd >= 0 && isatty(fd) == 1;
	bool dumb = term && strcmp(term, "dumb") == 0;
	bool plain = !terminal || (no_color && *no_color) || dumb;

	*s = (struct show){
		.fd = fd,
		.terminal = terminal,
		.rewrites = terminal && !dumb,
		.color = color == SHOW_ALWAYS || (color == SHOW_AUTO && !plain),
		.stop = stop,
		.rows = { { .mark = SAID_MARK, .prose = true, .bounded = true },
			  { .mark = OUT_MARK },
			  { .mark = ERR_MARK } },
	};
	/* before the agent is confined; what goes to stdout waits for nothing */
	if (fd == STDERR_FILENO)
		stop_tick(stop, tick, s);
}

void show_wait(struct show *s, const char *what, const char *whom)
{
	const struct text nothing = { 0 };

	s->waiting = what;
	s->whom = whom;
	s->waits_ms = units_now_ms();
	if (s->wait_shown)
		put_inked(s, INK_PLAIN, &nothing);
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

void show_tell(struct show *s, enum show_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	cleanup_free char *line = memory_vprintf(fmt, ap);
	va_end(ap);
	put_line(s, kind == SHOW_LINE ? INK_HEAD : INK_DIM,
		 kind == SHOW_PLACE ? NULL : OWN_MARK, line);
}

void show_notes(struct show *s, const char *lines)
{
	cleanup_text struct text text = { 0 };

	escape_lines(&text, "", lines, strlen(lines));
	put(s, INK_DIM, OWN_MARK, &text);
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
		show_note(s, "%zu more bytes of thinking are not shown", length - shown);
}

void show_live(void *arg, const char *words, size_t length)
{
	struct show *s = arg;
	bool full = s->rows[SHOW_MODEL].full;
	bool whole = put_piece(s, SHOW_MODEL, false, words, length);

	if (!words)
		s->seen = whole;
	if (s->rows[SHOW_MODEL].full && !full)
		show_note(s, "the rest of this reply is shown when all of it is here");
}

void show_code(struct show *s, uint64_t number, uint64_t total, const char *code,
	       size_t length, bool said)
{
	char line[64];

	(void)snprintf(line, sizeof(line),
		       total ? "step %" PRIu64 " of %" PRIu64 : "step %" PRIu64, number,
		       total);
	show_line(s, "%s", "");
	show_line(s, "%s", line);
	if (!said || !s->seen)
		put_words(s, INK_CODE, CODE_MARK, code, length);
	s->seen = false;
	memset(s->shown, 0, sizeof(s->shown));
}

static void show_clip(struct show *s, enum ink ink, const char *mark,
		      const struct clip *clip)
{
	cleanup_text struct text text = { 0 };

	clip_show(clip, mark, &text);
	put(s, ink, mark, &text);
}

static size_t *shown_of(struct show *s, uint16_t type)
{
	return &s->shown[type == SESSION_SAID ? SHOW_STREAMS - 1 : type - SESSION_OUT];
}

static enum show_row row_of(uint16_t type)
{
	return type == SESSION_ERR || type == SESSION_TRACE ? SHOW_ERR : SHOW_OUT;
}

void show_heard(void *arg, uint16_t type, const void *bytes, size_t length)
{
	struct show *s = arg;
	size_t *shown = shown_of(s, type);
	size_t room = CLIP_HEAD_BYTES - *shown;
	bool stream = type == SESSION_OUT || type == SESSION_ERR;
	bool fresh = type == SESSION_SAID || (!stream && !*shown);

	length = length < room ? length : room;
	*shown += length;
	put_piece(s, row_of(type), fresh, bytes, length);
	if (type != SESSION_SAID || !length || ((const char *)bytes)[length - 1] == '\n')
		return;
	/* its list has this newline, too */
	put_piece(s, SHOW_OUT, false, "\n", 1);
	*shown += *shown < CLIP_HEAD_BYTES;
}

/* what is kept of a stream and was not shown as it came */
static void show_rest(struct show *s, uint16_t type, const struct clip *clip)
{
	cleanup_text struct text head = { 0 }, tail = { 0 };
	uint64_t cut = clip_take(clip, &head, &tail);
	size_t seen = *shown_of(s, type);

	if (head.length > seen)
		put_piece(s, row_of(type), !seen, head.bytes + seen, head.length - seen);
	if (!cut)
		return;
	s->rows[row_of(type)].stream.held_bytes = 0; /* half a character */
	show_note(s, "[%" PRIu64 " bytes are not shown here]", cut);
	put_piece(s, row_of(type), true, text_string(&tail), tail.length);
}

void show_step(struct show *s, const struct step *step)
{
	cleanup_text struct text line = { 0 };

	show_rest(s, SESSION_OUT, &step->out);
	show_rest(s, SESSION_SAID, &step->media->said);
	show_rest(s, SESSION_RESULT, &step->result);
	show_rest(s, SESSION_ERR, &step->err);
	show_rest(s, SESSION_TRACE, &step->trace);
	put_piece(s, SHOW_OUT, false, NULL, 0);
	put_piece(s, SHOW_ERR, false, NULL, 0);
	text_printf(&line, "%s in %s: ", verdict_name(step->facts.verdict),
		    units_say_time(step->wall_ms).text);
	verdict_words(&step->facts, &line);
	put_line(s, step->facts.verdict == VERDICT_COMPLETED ? INK_GOOD : INK_BAD,
		 OWN_MARK, text_string(&line));
	show_refused(s, json_get(step->done, "violations"),
		     step->facts.verdict == VERDICT_VIOLATION);
}

void show_refused(struct show *s, const cJSON *violations, bool killed)
{
	cleanup_text struct text line = { 0 };

	if (report_refused(violations, killed, &line))
		show_note(s, "%s", text_string(&line));
}

void show_not_enforced(struct show *s, const cJSON *opened)
{
	cleanup_text struct text line = { 0 };

	report_not_enforced(opened, &line);
	if (line.length)
		show_line(s, "%s", text_string(&line));
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
	show_line(s, "%s", "");
	show_line(s, "answer");
	put_words(s, INK_PLAIN, CODE_MARK, answer, length);
}
