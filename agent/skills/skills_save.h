/* SPDX-License-Identifier: MIT */
/*
 * skills_save.h - what a model wants to keep of an answered task: fetched, tried, stored
 */
#ifndef STEPJAIL_AGENT_SKILLS_SAVE_H
#define STEPJAIL_AGENT_SKILLS_SAVE_H

#include "agent/record/transcript.h"
#include "agent/session/run_once.h"
#include "agent/session/session.h"
#include "agent/show/show.h"
#include "agent/skills/skills.h"

#define SAVE_FOLDER "skills_new" /* below the jail's /work */
#define SAVE_MAX 16              /* functions of one task */

/* all of a task that deals with saved functions; large */
struct save {
	const char *dir; /* of --skills, or NULL for none of it */
	struct skills skills;
	struct text preface;       /* for the model */
	struct launch_args args;   /* of a trial, until the broker has them */
	struct run_once_plan plan; /* of a trial */
	struct run_once once;
	const char *task;
	const struct text *model;
	struct text record; /* the transcript's path, absolute */
	cJSON *told;        /* list of what became of each; NULL where there was none */
	struct session *session;
	struct transcript *transcript;
	struct show *show;
};

/**
 * save_plan() - Look through the folder, and give the broker a command line for trials
 * @s:		Zeroed but for @dir; save_free() in any case
 *
 * Return: 0, or -errno with a line that names what is wrong
 */
int save_plan(struct save *s, const struct jail_options *jail, struct broker *broker,
	      struct err *e);

/** save_ready() - Now that this process is confined: read the index, write the preface.
 * 0, or -errno */
int save_ready(struct save *s, bool stateless, struct err *e);

/**
 * save_all() - Fetch what the task has left in SAVE_FOLDER, try each, store what passes
 * @arg:	A struct save
 *
 * One that is not kept, for whatever reason, takes nothing from the answer: it is told
 * and recorded.
 *
 * Return: 0, -EINTR, or -errno where the transcript cannot be written
 */
int save_all(void *arg, struct err *e);

/** save_json() - What became of each, as a list of objects, taken over; or NULL */
cJSON *save_json(struct save *s);

/** save_free() - Free what there is; safe on a zeroed struct */
void save_free(struct save *s);

/**
 * skills_store() - Put a function into the folder, then into the index
 * @line:	skills_line()'s
 *
 * The file is made under another name, written down to the disk and then named, which
 * fails where there is one; the line is one write, behind whatever others have added.
 *
 * Return: 0, -EEXIST, or -errno; nothing is left behind then
 */
int skills_store(struct skills *s, const char *name, const struct text *source,
		 const struct text *line, struct err *e);

#endif
