/* SPDX-License-Identifier: MIT */
/*
 * shown.h - what a step shows, kept in files and put before the user
 *
 * Files are made in one folder, opened before the agent is confined: shown/ in that of
 * --out, else FILE.shown beside the transcript, which is its owner's alone, and goes when
 * nothing is in it at the end. Names are the agent's: step-3-1.png is of step 3's first
 * object. What the code itself calls a thing is told, and is no path here.
 */
#ifndef STEPJAIL_AGENT_SHOWN_H
#define STEPJAIL_AGENT_SHOWN_H

#include <cjson/cJSON.h>

#include "agent/base/folder.h"
#include "agent/cli/options.h"
#include "agent/confine/confine.h"
#include "agent/record/transcript.h"
#include "agent/session/media.h"
#include "agent/show/show.h"
#include "agent/show/terminal.h"

#define SHOWN_PICTURES_MAX 16u         /* of one step, on a terminal */
#define SHOWN_PIXELS_MAX (64ull << 20) /* of one step, that are decoded */

struct shown {
	enum terminal_way way;
	const struct folder *out; /* of --out: files go to shown/ in it */
	struct folder folder;     /* the other one; its fd -1 where there is none */
};

#define SHOWN_NONE ((struct shown){ .way = TERMINAL_NO, .folder = FOLDER_NONE })

/* a row for a struct with a uint64_t named pictures */
#define PICTURES_OPT(type)                                                               \
	{                                                                                \
		"pictures", NULL, "auto",                                                \
			"How pictures are shown: by kitty's graphics protocol or "       \
			"iTerm2's inline images; by their path; or not at all. auto is " \
			"what the environment says of the terminal, see above, and "     \
			"the path without one.",                                         \
			OPT_ROW(RESULTS, CHOICE, type, pictures),                        \
			.choices = TERMINAL_WAYS                                         \
	}

/* for "about" of a command with that row */
#define PICTURES_ABOUT                                                                   \
	"What a step shows (display(), figures that are open at its end, a table as "    \
	"HTML) is written to files named by step and place, step-3-1.png: in shown/ of " \
	"--out, else beside the transcript, in FILE.shown/, else "                       \
	"nowhere. --pictures auto asks no terminal; it looks at TMUX and TERM (tmux, "   \
	"screen, dumb: the path), KITTY_WINDOW_ID, TERM (xterm-kitty, xterm-ghostty) "   \
	"and KONSOLE_VERSION from 220400 on for kitty, TERM_PROGRAM (iTerm.app, "        \
	"WezTerm, mintty) and LC_TERMINAL for iterm2. A terminal gets a picture that "   \
	"was decoded and made anew, at most 1600 pixels long."

/**
 * shown_plan() - Say how and where, and open the folder, before the agent is confined
 *
 * Beside the transcript nothing is kept where the kernel has no Landlock: without it, to
 * make files there would be to make them anywhere. Should be called before the broker is
 * forked, whose @tidy is @s->folder's path.
 *
 * @s:		Overwritten; shown_end()
 * @out:	Stays valid; its fd is -1 without --out
 * @t:		Open, or without a file
 * @terminal:	Whether pictures would go to one
 *
 * Return: 0 or -errno
 */
int shown_plan(struct shown *s, enum terminal_way asked, bool terminal,
	       const struct folder *out, const struct transcript *t,
	       struct confine_policy *policy, struct err *e);

/**
 * shown_save() - Write a step's things to files; what fails is in each item, in words
 * @step:	Its number
 */
void shown_save(const struct shown *s, uint64_t step, struct media_list *l);

/**
 * shown_show() - Show what a step shows
 * @words:	Where lines about it go
 * @pictures:	Where pictures go
 * @said:	Texts of display() too
 */
void shown_show(const struct shown *s, const struct media_list *l, struct show *words,
		struct show *pictures, bool said);

/** shown_end() - Safe on SHOWN_NONE */
void shown_end(struct shown *s);

#endif
