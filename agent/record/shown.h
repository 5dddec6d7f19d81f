/* SPDX-License-Identifier: MIT */
/*
 * shown.h - what a step shows, kept in files and put before the user
 *
 * Files are made in one folder, opened before the agent is confined: shown/ in that of
 * --out, else FILE.shown beside the transcript, which is its owner's alone, and goes when
 * nothing is in it at the end. Names are the agent's: step-3-1.png is of step 3's first
 * object. What the code itself calls a thing is told, and is no path here.
 */
#pragma once

#include "agent/base/folder.h"
#include "agent/confine/confine.h"
#include "agent/record/transcript.h"

struct shown {
	const struct folder *out; /* of --out: files go to shown/ in it */
	struct folder folder;     /* the other one; its fd -1 where there is none */
};

#define SHOWN_NONE ((struct shown){ .folder = FOLDER_NONE })

/* for "about" of a command that keeps them */
#define SHOWN_ABOUT                                                                      \
	"What a step shows (display(), figures that are open at its end, a table as "    \
	"HTML) is written to files that are named by step and place, such as "           \
	"step-3-1.png; their paths are printed. They are in the folder shown/ of "       \
	"--out, or else in FILE.shown/ beside the transcript FILE. With neither, "       \
	"nothing is kept."

/**
 * shown_plan() - Say where, and open the folder, before the agent is confined
 *
 * Beside the transcript nothing is kept where the kernel has no Landlock: without it, to
 * make files there would be to make them anywhere. Should be called before the broker is
 * forked, whose @tidy is @s->folder's path.
 *
 * @s:		Overwritten; shown_end()
 * @out:	Stays valid; its fd is -1 without --out
 * @t:		Open, or without a file
 *
 * Return: 0 or -errno
 */
int shown_plan(struct shown *s, const struct folder *out, const struct transcript *t,
	       struct confine_policy *policy, struct err *e);

/**
 * shown_save() - Write a step's things to files; what fails is in each item, in words
 * @step:	Its number
 */
void shown_save(const struct shown *s, uint64_t step, struct media_list *l);

/** shown_show() - Say what a step shows, and in which files it is, after shown_save() */
void shown_show(const struct media_list *l, struct show *to);

/** shown_end() - Safe on SHOWN_NONE */
void shown_end(struct shown *s);
