/* SPDX-License-Identifier: MIT */
/*
 * lines.c - lines from whoever types them: see lines.h
 *
 * libedit asks for each character here, and not at the terminal, so that a wait for a key
 * ends when a signal comes: all of them are blocked and read from stop's fd.
 */
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <wchar.h>

#include "agent/base/path.h"
#include "agent/repl/lines.h"
#include "init/io.h"

#define HISTORY_LINES 1000
#define PASTE_MS 30 /* between pieces of what is pasted */
#define CTRL_D '\x04'

static const char *prompt_of(EditLine *edit)
{
	struct lines *l = NULL;

	(void)el_get(edit, EL_CLIENTDATA, &l);
	return l->prompt;
}

/* el_rfunc_t: one character, 0 at the end, -1 to give up */
static int next_char(EditLine *edit, wchar_t *c)
{
	struct lines *l = NULL;
	mbstate_t state = { 0 };
	char byte;

	(void)el_get(edit, EL_CLIENTDATA, &l);
	for (;;) {
		if (stop_wait(l->stop, STDIN_FILENO, POLLIN, UINT64_MAX) < 0)
			return -1;

		ssize_t n = read(STDIN_FILENO, &byte, 1);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return (int)n;

		/* Ctrl-D that was typed before the terminal was ours comes so */
		if (byte == '\0')
			byte = CTRL_D;

		size_t r = mbrtowc(c, &byte, 1, &state);

		if (r == (size_t)-2)
			continue;
		if (r == (size_t)-1) {
			/* no character of this locale: take it for nothing */
			state = (mbstate_t){ 0 };
			continue;
		}
		return 1;
	}
}

/* how far all of them go on as the first does, behind their first @begun bytes */
static size_t common(const struct text *names, size_t begun)
{
	const char *first = text_string(names);
	size_t length = strcspn(first, "\n");

	for (const char *at = first; *at; at += strcspn(at, "\n") + 1)
		while (strncmp(at, first, length) != 0)
			length--;
	return length - begun;
}

/* Tab */
static unsigned char complete(EditLine *edit, int key)
{
	const LineInfo *info = el_line(edit);
	size_t length = (size_t)(info->cursor - info->buffer);
	cleanup_text struct text line = { 0 };
	cleanup_text struct text names = { 0 };
	struct lines *l = NULL;
	size_t begun = 0, more;

	(void)key;
	(void)el_get(edit, EL_CLIENTDATA, &l);
	text_add(&line, info->buffer, length);
	if (strspn(text_string(&line), " \t") == length)
		return el_insertstr(edit, "    ") < 0 ? CC_ERROR : CC_REFRESH;
	if (l->complete)
		l->complete(l->complete_arg, text_string(&line), length, &names);
	if (!names.length)
		return CC_ERROR;
	while (begun < length && strchr(TEXT_WORD, line.bytes[length - begun - 1]))
		begun++;
	more = common(&names, begun);
	text_clear(&line);
	if (!more) {
		for (char *at = names.bytes; (at = strchr(at, '\n'));)
			*at = ' ';
		text_printf(&line, "\n%s\n", names.bytes);
		(void)!write(STDOUT_FILENO, text_string(&line), line.length);
		return CC_REDISPLAY;
	}
	text_add(&line, names.bytes + begun, more);
	return el_insertstr(edit, text_string(&line)) < 0 ? CC_ERROR : CC_REFRESH;
}

static void open_history(struct lines *l)
{
	HistEvent event;
	struct err unheard;
	cleanup_free char *path = path_of_state("history", &unheard);

	if (!path)
		return;
	(void)history(l->history, &event, H_LOAD, path);
	/* now, for it is written when nothing can be opened any more */
	int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	l->history_file = fd < 0 ? NULL : fdopen(fd, "w");
}

static int open_editor(struct lines *l, bool keep, struct err *e)
{
	HistEvent event;

	/* keys are bytes of UTF-8, whatever the locale says of numbers and dates */
	if (!setlocale(LC_CTYPE, "") || MB_CUR_MAX == 1)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
	l->history = history_init();
	l->edit = el_init("stepjail-agent", stdin, stdout, stderr);
	if (!l->history || !l->edit)
		return err_set(e, ENOMEM, "the line editor");
	(void)history(l->history, &event, H_SETSIZE, HISTORY_LINES);
	(void)history(l->history, &event, H_SETUNIQUE, 1);
	(void)el_set(l->edit, EL_CLIENTDATA, l);
	(void)el_set(l->edit, EL_PROMPT, prompt_of);
	(void)el_set(l->edit, EL_EDITOR, "emacs");
	(void)el_set(l->edit, EL_HIST, history, l->history);
	(void)el_set(l->edit, EL_GETCFN, next_char);
	/* for Ctrl-Z and the window's size; those that are blocked go to stop's fd */
	(void)el_set(l->edit, EL_SIGNAL, 1);
	(void)el_set(l->edit, EL_ADDFN, "complete", "names of the jail", complete);
	(void)el_set(l->edit, EL_BIND, "^I", "complete", NULL);
	(void)el_set(l->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
	if (keep)
		open_history(l);
	return 0;
}

int lines_open(struct lines *l, bool keep, struct stop *stop, struct err *e)
{
	*l = (struct lines){ .stop = stop };
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return 0;
	return open_editor(l, keep, e);
}

/* a signal at the prompt: Ctrl-C voids the line, another one ends the program */
static int stopped(struct lines *l, struct err *e)
{
	if (l->stop->signal != SIGINT)
		return err_say(e, EINTR, "stopped by a signal");
	l->stop->signal = 0;
	(void)!write(STDOUT_FILENO, "^C\n", 3);
	return -ECANCELED;
}

int lines_read(struct lines *l, const char *prompt, struct text *line, struct err *e)
{
	HistEvent event;
	int count = 0;

	text_clear(line);
	l->prompt = prompt;
	el_resize(l->edit);

	const char *typed = el_gets(l->edit, &count);

	if (l->stop->signal)
		return stopped(l, e);
	l->ended = !typed || count <= 0;
	if (l->ended) {
		(void)!write(STDOUT_FILENO, "\n", 1);
		return 0;
	}
	text_add(line, typed, (size_t)count);
	while (line->length && strchr("\r\n", line->bytes[line->length - 1]))
		line->bytes[--line->length] = '\0';
	if (line->length)
		(void)history(l->history, &event, H_ENTER, text_string(line));
	int s = text_check(line, "the line", e);

	return s < 0 ? s : 1;
}

bool lines_waiting(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, PASTE_MS) > 0;
}

int lines_more(struct lines *l, size_t max, struct err *e)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
	struct text *script = &l->script;
	char bytes[8192];

	do {
		size_t room = max - script->length;

		if (stop_wait(l->stop, STDIN_FILENO, POLLIN, UINT64_MAX) < 0)
			return err_say(e, EINTR, "stopped by a signal");

		ssize_t n = read(STDIN_FILENO, bytes,
				 room < sizeof(bytes) ? room : sizeof(bytes));

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return err_set(e, errno, "cannot read stdin");
		if (n > 0)
			text_add(script, bytes, (size_t)n);
		l->ended = n == 0;
	} while (!l->ended && script->length < max && poll(&in, 1, 0) > 0);
	if (l->ended && script->length && script->bytes[script->length - 1] != '\n')
		text_puts(script, "\n");
	return text_check(script, "a script", e);
}

void lines_drop(struct lines *l, size_t length)
{
	l->script.length -= length;
	if (length)
		memmove(l->script.bytes, l->script.bytes + length, l->script.length);
}

/* over what was there: a full disk costs the last lines alone */
static void save_history(struct lines *l)
{
	HistEvent event;

	if (history(l->history, &event, H_SAVE_FP, l->history_file) >= 0 &&
	    fflush(l->history_file) == 0)
		(void)!ftruncate(fileno(l->history_file), ftello(l->history_file));
	(void)fclose(l->history_file);
}

void lines_close(struct lines *l)
{
	if (l->history_file)
		save_history(l);
	if (l->edit)
		el_end(l->edit);
	if (l->history)
		history_end(l->history);
	text_free(&l->script);
	*l = (struct lines){ 0 };
}
