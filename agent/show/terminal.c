/* SPDX-License-Identifier: MIT */
/*
 * terminal.c - which pictures a terminal takes, and how they are told to it: see
 * terminal.h
 *
 * A picture inside of a sequence is base64: it holds no control byte.
 *	kitty	sw.kovidgoyal.net/kitty/graphics-protocol: APC G, pieces of 4096; q=2
 *		keeps the terminal from answering
 *	iTerm2	iterm2.com/documentation-images.html: OSC 1337 ; File=
 */
#include <stdlib.h>
#include <string.h>

#include "agent/base/units.h"
#include "agent/show/terminal.h"

#define KITTY_PIECE ((size_t)4096)
#define KONSOLE_SINCE 220400 /* 22.04 */

/* the first row that fits; a multiplexer stands before its terminal's own variables */
static const struct {
	const char *variable;
	const char *begins; /* with this; "" for anything */
	enum terminal_way way;
} evidence[] = {
	{ "TERM", "dumb", TERMINAL_PATH },
	{ "TMUX", "", TERMINAL_PATH },
	{ "TERM", "tmux", TERMINAL_PATH },
	{ "TERM", "screen", TERMINAL_PATH },
	{ "KITTY_WINDOW_ID", "", TERMINAL_KITTY },
	{ "TERM", "xterm-kitty", TERMINAL_KITTY },
	{ "TERM", "xterm-ghostty", TERMINAL_KITTY },
	{ "TERM_PROGRAM", "ghostty", TERMINAL_KITTY },
	{ "TERM_PROGRAM", "iTerm.app", TERMINAL_ITERM2 },
	{ "LC_TERMINAL", "iTerm2", TERMINAL_ITERM2 },
	{ "TERM_PROGRAM", "WezTerm", TERMINAL_ITERM2 },
	{ "TERM_PROGRAM", "mintty", TERMINAL_ITERM2 },
};

static bool says(const char *variable, const char *begins)
{
	const char *value = getenv(variable);

	return value && *value && strncmp(value, begins, strlen(begins)) == 0;
}

enum terminal_way terminal_way(enum terminal_way asked, bool terminal)
{
	const char *konsole = getenv("KONSOLE_VERSION");
	uint64_t version = 0;

	if (asked != TERMINAL_AUTO)
		return asked;
	if (!terminal)
		return TERMINAL_PATH;
	for (size_t i = 0; i < sizeof(evidence) / sizeof(evidence[0]); i++)
		if (says(evidence[i].variable, evidence[i].begins))
			return evidence[i].way;
	if (konsole && units_parse_count(konsole, &version) == 0 &&
	    version >= KONSOLE_SINCE)
		return TERMINAL_KITTY;
	return TERMINAL_PATH;
}

static void add_kitty(const struct text *base64, struct text *out)
{
	size_t left = base64->length;
	const char *at = text_string(base64);

	for (bool first = true; first || left; first = false) {
		size_t piece = left < KITTY_PIECE ? left : KITTY_PIECE;

		left -= piece;
		text_printf(out, "\x1b_G%sm=%d;", first ? "a=T,f=100,q=2," : "",
			    left != 0);
		text_add(out, at, piece);
		text_puts(out, "\x1b\\");
		at += piece;
	}
}

int terminal_picture(enum terminal_way way, const struct picture *p, struct text *out,
		     struct err *e)
{
	cleanup_text struct text png = { 0 };
	cleanup_text struct text base64 = { 0 };
	int r = picture_png(p, &png, e);

	if (r < 0)
		return r;
	text_base64(&base64, png.bytes, png.length);
	r = text_check(&base64, "a picture", e);
	if (r < 0)
		return r;
	if (way == TERMINAL_KITTY)
		add_kitty(&base64, out);
	else
		text_printf(
			out,
			"\x1b]1337;File=inline=1;size=%zu;width=%upx;height=%upx:%s\a",
			png.length, p->width, p->height, text_string(&base64));
	text_puts(out, "\n");
	return text_check(out, "a picture", e);
}
