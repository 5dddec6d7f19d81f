/* SPDX-License-Identifier: MIT */
/*
 * transcript.h - the record of a run: a file of chained lines (chain.h), written as it
 * goes
 *
 * Write first, then act
 *   A step's code is on the disk before the jail gets it, and how it ended before the
 *   model is told. A line that cannot be written ends the run, so no step runs that is
 *   not in the record; after a kill at any moment the file reads up to the last step that
 *   came to an end. The last line says that the run has ended, so a file cut off between
 *   two lines shows, too.
 *
 * Lines are JSON objects. "event" is one of
 *	start	who ran what: the model, its prompts, the jail's options, files' digests
 *	session	a new jail: its posture, digests of plan, root tree and posture
 *	user	what the user said, behind the task of the first line
 *	reply	what the model said, and what it has used so far
 *	confirm	what a person said to the step that is next (--confirm)
 *	code	is run next
 *	step	how that ended, what it printed, what the model was told
 *	tests	how an answer did with the user's tests, in a jail of the judge's own
 *	checked	what a program of the user's said to a prompt, a reply, an answer
 *	command	what was asked of the session at a prompt
 *	end	the outcome
 */
#pragma once

#include "agent/show/show.h"

/* bytes of a line, its newline too. The longest thing in one is a reply or an answer
 * (REPLY_TEXT_MAX: 8 MiB), twice as long where a backslash escapes each byte of it; as
 * much again is left for prompts, what is kept of four streams, names of files. A longer
 * line is not written, and the run ends; nor is it read. */
#define TRANSCRIPT_LINE_MAX ((size_t)32 << 20)

#define TRANSCRIPT_EVENTS                                                                \
	"Print the transcript's lines on stdout as they are written, one JSON object each, and nothing else."

struct transcript {
	int fd;             /* -1 for none, or none any more */
	bool failed;        /* a line could not be written: none follows */
	bool chosen;        /* the path is not the user's own */
	struct text path;   /* empty where there is none */
	struct chain chain; /* what is in the file */
	off_t bytes;        /* of whole lines */
	uint64_t others;    /* transcripts beside it, where @chosen */
	uint64_t others_bytes;
	uint32_t told;       /* the session whose posture was written */
	struct stop *events; /* lines go to stdout, too; NULL: they do not */
};

/**
 * transcript_open() - Make the file
 * @t:		Overwritten; needs transcript_close(), after a failure too
 * @given:	A path of nothing that exists yet; "none"; or NULL for a new name below
 *		$XDG_STATE_HOME/stepjail/transcripts, or
 *		~/.local/state/stepjail/transcripts
 * @command:	Begins that name
 * @events:	To have the lines on stdout, too; or NULL
 *
 * The file is its owner's alone. No symlink is followed, nothing is written over. It is
 * locked as long as it is open, so that nobody removes it (transcripts.h).
 *
 * Return: 0, or -errno with a line that says what to give
 */
int transcript_open(struct transcript *t, const char *given, const char *command,
		    struct stop *events, struct err *e);

/**
 * transcript_add() - Write a line, down to the disk
 * @s:		If a new session has begun, a line of its own is written first; or NULL
 * @members:	What is told; taken over and freed
 *
 * Return: 0, -errno (the file ends at a line's end then, if that can be had), or
 * -ECANCELED (an earlier line could not be written)
 */
int transcript_add(struct transcript *t, const struct session *s, const char *event,
		   cJSON *members, struct err *e);

/** transcript_wanted() - Whether anybody gets lines: a file, or stdout */
bool transcript_wanted(const struct transcript *t);

/** transcript_show() - Say where it is, and its last digest; and that there are too many,
 * if there are */
void transcript_show(const struct transcript *t, struct show *show);

/** transcript_close() - Close it; a file without a line is removed */
void transcript_close(struct transcript *t);
