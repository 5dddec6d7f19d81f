/* SPDX-License-Identifier: MIT */
/*
 * terminal.h - which pictures a terminal takes, and how they are told to it
 *
 * Nothing is asked of the terminal: its answer would come as if it were typed, or not at
 * all. What the environment says is the evidence, and where there is none, a path is
 * shown.
 */
#ifndef STEPJAIL_AGENT_TERMINAL_H
#define STEPJAIL_AGENT_TERMINAL_H

#include <stdbool.h>

#include "agent/base/text.h"
#include "agent/show/picture.h"

/* in the order of --pictures' choices */
enum terminal_way {
	TERMINAL_AUTO,
	TERMINAL_KITTY,  /* kitty's graphics protocol */
	TERMINAL_ITERM2, /* inline images: OSC 1337 */
	TERMINAL_PATH,   /* no picture: where it is */
	TERMINAL_NO,     /* nothing at all */
};

#define TERMINAL_WAYS                                                                    \
	{                                                                                \
		"auto", "kitty", "iterm2", "path", "no"                                  \
	}

/**
 * terminal_way() - What to do
 * @asked:	TERMINAL_AUTO looks at the environment; what else is asked for is done
 * @terminal:	Whether the pictures' reader is one
 */
enum terminal_way terminal_way(enum terminal_way asked, bool terminal);

/**
 * terminal_picture() - Add the bytes that show a picture, cursor below it afterwards
 * @way:	TERMINAL_KITTY or TERMINAL_ITERM2
 *
 * Return: 0 or -errno
 */
int terminal_picture(enum terminal_way way, const struct picture *p, struct text *out,
		     struct err *e);

#endif
