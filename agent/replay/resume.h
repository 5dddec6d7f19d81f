/* SPDX-License-Identifier: MIT */
/*
 * resume.h - a run that goes on where an earlier one has ended, or was cut off
 *
 * The earlier transcript is read twice, by a process that is confined: once to the end,
 * so that nothing of one that was changed is believed; then its code runs again in the
 * new session, compared as `replay` does it, and what was said becomes the beginning of
 * the new conversation. The jail is made with this run's own options; a file that it had
 * then and is not given again is had again as replay does it. Where something is another
 * than then, that is said. All of it stands in the new transcript, too, as it came out
 * now: so that can be replayed, or gone on from, without the earlier one.
 */
#pragma once

#include "agent/loop/loop.h"
#include "agent/record/read_transcript.h"
#include "agent/replay/replay.h"

/* large */
struct resume {
	struct loop *loop;
	struct text path; /* as the user gave it, or the name of the last */
	int fd;           /* of the transcript; -1 for none */
	struct read_transcript reading;
	struct replay replay;
	cJSON *code; /* the line of the step that is next; or NULL */
};

/**
 * resume_open() - Open the transcript, before this process is confined
 * @name:	As transcripts_open_named(); "yes" for the last one of solve or chat
 *
 * Return: 0, -EBUSY (a run is writing it), or -errno
 */
int resume_open(struct resume *r, const char *name, struct err *e);

/**
 * resume_files() - Add the files that the earlier run had and this one is not given
 * @jail:	The caller's; gets them
 * @skills:	The caller's folder of functions, or NULL
 *
 * As replay_file() has it: one that has changed, came by a pipe or is a folder is to be
 * given. Should be called before this process is confined.
 *
 * Return: 0, or -errno with a line that names what to give
 */
int resume_files(struct resume *r, const struct task *t, struct jail_options *jail,
		 const char *skills, struct err *e);

/** resume_check() - Read all of it, and have the loop begin with it; 0, -EBADMSG where it
 * was changed, or -errno */
int resume_check(struct resume *r, struct loop *l, struct err *e);

/** resume_close() - Safe where none was opened, with fd -1 */
void resume_close(struct resume *r);
