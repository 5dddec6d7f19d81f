/* SPDX-License-Identifier: MIT */
/*
 * vet.h - programs of the user's that have a word in what goes to a model, what comes
 * from it, and what is taken for its answer
 *
 * Each is a command line, fixed before anything is heard of a model, and runs in a jail
 * of its own, made as the steps' one is: the same root tree, limits and files. Besides it
 * has the user's files below VET_FOLDER, which no step has, so that a model cannot read
 * its judge. What is to be looked at comes on its stdin. Exit status 0 lets it pass; any
 * other end does not, that of a check which crashed, took too long or hit a wall neither:
 * nothing passes because it could not be looked at. One that does not even begin ends the
 * task.
 */
#ifndef STEPJAIL_AGENT_VET_H
#define STEPJAIL_AGENT_VET_H

#include <cjson/cJSON.h>

#include "agent/chat.h"
#include "agent/jail_opts.h"
#include "agent/judge.h"
#include "agent/once.h"
#include "agent/show.h"
#include "agent/transcript.h"

#define VET_FOLDER "/work/check"

enum vet_kind {
	VET_PROMPT, /* before each request: what is sent for the first time */
	VET_REPLY,  /* after each: its text, and code that came by a call */
	VET_ANSWER, /* the answer, before it is taken for one */
	VET_KINDS,
};

/* part of a command's struct */
struct vet_options {
	const char *command[VET_KINDS];
	struct opt_list files;
	uint64_t time_ms;
};

/* large */
struct vet {
	const struct vet_options *o;
	struct once_plan plan;
	int line[VET_KINDS]; /* the broker's; 0 where there is no such check */
	struct launch_args args[VET_KINDS];
	const struct chat *chat; /* only compared, like the next one */
	const char *first;
	size_t sent; /* messages of it that have been looked at */
	uint64_t asked[VET_KINDS], refused[VET_KINDS];
	struct once once;
	/* of the task */
	struct session *session;
	struct transcript *transcript;
	struct show *show;
};

/**
 * vet_plan() - Give the broker a command line for each check that was asked for
 * @v:		Zeroed; vet_free() in any case
 * @jail:	The steps' jail
 * @binds:	Its files, "PATH:/work/in/NAME"
 * @broker:	Not open yet
 *
 * Return: 0, or -errno with a line that names the option
 */
int vet_plan(struct vet *v, const struct vet_options *o, const struct jail_options *jail,
	     const char *const *binds, size_t bind_count, struct broker *broker,
	     struct err *e);

/** vet_judge() - The check of the answer as a judge; true where there is one */
bool vet_judge(struct vet *v, struct judge *judge);

/**
 * vet_prompt() - Look at what of a conversation is sent for the first time
 * @v:		May be NULL, as below: then everything passes
 *
 * Return: 1; 0, with @e filled; -ETIMEDOUT (the task's time is over), -EINTR, -errno
 */
int vet_prompt(struct vet *v, const struct chat *chat, struct err *e);

/**
 * vet_reply() - Look at a reply
 * @code:	What would be run of it, or an empty text
 * @words:	Gets what the model is told
 *
 * Return: as vet_prompt(), but 0 with @words
 */
int vet_reply(struct vet *v, const struct reply *reply, const struct text *code,
	      struct text *words, struct err *e);

/** vet_record() - The checks as an object for the transcript's beginning, their files
 * with digests; NULL with @e filled */
cJSON *vet_record(const struct vet *v, struct err *e);

/** vet_json() - How often each was asked and refused; NULL without a check */
cJSON *vet_json(const struct vet *v);

/** vet_free() - Free what there is */
void vet_free(struct vet *v);

#define VET_COMMANDS                                                                     \
	{                                                                                \
		"check-answer", "check-reply", "check-prompt"                            \
	}

/* rows of a command's table, for a struct with a struct vet_options named vet */
#define VET_OPTS(type)                                                                   \
	{ "check-answer", "CMD", NULL,                                                   \
	  "A program that is given the answer on stdin, in a jail of its own: exit "     \
	  "status 0 lets it stand; else the model is told what it printed, and goes "    \
	  "on.",                                                                         \
	  OPT_ROW(TEXT, type, vet.command[VET_ANSWER]) },                                \
		{ "check-reply", "CMD", NULL,                                            \
		  "The same for each reply of the model, before anything of it is run.", \
		  OPT_ROW(TEXT, type, vet.command[VET_REPLY]) },                         \
		{ "check-prompt", "CMD", NULL,                                           \
		  "The same for what is about to be sent to the model, before each "     \
		  "request; else the task ends, and it is not sent.",                    \
		  OPT_ROW(TEXT, type, vet.command[VET_PROMPT]) },                        \
		{ "check-file",                                                          \
		  "PATH",                                                                \
		  NULL,                                                                  \
		  "Put a file, read-only, into the checks' /work/check, where the "      \
		  "model's code cannot read it. May be given again.",                    \
		  OPT_ROW(LIST, type, vet.files),                                        \
		  .with = VET_COMMANDS },                                                \
	{                                                                                \
		"check-time", "TIME", "30s",                                             \
			"Longest time for one check, which counts in --wall-time.",      \
			OPT_ROW(TIME, type, vet.time_ms), .min = 100, .max = HOUR_MS,    \
							  .with = VET_COMMANDS           \
	}

#endif
