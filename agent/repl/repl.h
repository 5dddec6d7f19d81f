/* SPDX-License-Identifier: MIT */
/*
 * repl.h - a person's session: statements as steps, and commands that begin with a colon
 */
#pragma once

#include "agent/loop/out.h"
#include "agent/record/shown.h"
#include "agent/repl/lines.h"
#include "agent/session/confined.h"

#define REPL_BRANCHES_MAX 32
#define REPL_NAME_BYTES 32

/* a name for a branch of the session; its number is its place in the table */
struct repl_branch {
	char name[REPL_NAME_BYTES]; /* empty for one that is gone */
	uint32_t state;
};

struct repl {
	struct confined confined;
	struct jail_binds binds;
	cJSON *given; /* of the first line, until that is in the transcript */
	struct session_plan plan;
	struct session session;
	struct step step, peeked;
	struct lines lines;
	const char *file;  /* of a script that is a program; NULL where it is stdin */
	size_t line;       /* how many of its lines are done with */
	struct text typed; /* lines of a statement that is not whole yet */
	struct show show;  /* the agent's own words: stderr */
	struct stream out, err;
	struct shown shown;
	struct out collected; /* of --out */
	struct transcript transcript;
	uint64_t steps; /* that were run */
	struct repl_branch branches[REPL_BRANCHES_MAX];
	uint32_t branch_count; /* numbers that were used */
	int failed;      /* errno of the first write of the jail's words that failed */
	bool keep_going; /* behind a step or a command that failed */
	bool quitting;
	bool exited; /* the code asked for it: @status is what it said */
	bool asks;   /* the session's code has named input() or its like */
	bool held;   /* an empty line ended what was typed, but more was pasted */
	bool muted;  /* this step's output is no longer shown: Ctrl-C came into it */
	int status;  /* of the last step that failed, 0 for none */
};

/**
 * repl_run() - Read and run until the end
 * @r:		Session and lines open
 *
 * Return: the exit status (at a prompt 0: a person has seen what failed), or -errno
 */
int repl_run(struct repl *r, struct err *e);

/**
 * repl_go_on() - Say what failed, and begin a new session where it is gone
 *
 * Return: 0, or -errno where nothing can go on
 */
int repl_go_on(struct repl *r, struct err *e);

/** repl_start() - Forget what was known of the session before: a new one has begun */
void repl_start(struct repl *r);

/** repl_heard() - For struct session_plan's @heard; @arg is a struct repl */
void repl_heard(void *arg, uint16_t type, const void *bytes, size_t length);

/**
 * repl_record() - Write of a command that changed the session, into the transcript
 * @command:	Its name
 * @file:	inputs_file() of a file that was put; taken over; or NULL
 *
 * Return: 0, or as transcript_add()
 */
int repl_record(struct repl *r, const char *command, uint32_t branch, uint32_t state,
		cJSON *file, struct err *e);

/** repl_status() - A step's exit status, as that of `stepjail run` would be */
int repl_status(const struct verdict_facts *f);

/**
 * repl_command() - Do what a line that begins with a colon says
 * @length:	Of the line, without its newline
 *
 * A command that fails is said, and is no reason to end.
 *
 * Return: 0, or -errno where nothing can go on
 */
int repl_command(struct repl *r, const char *line, size_t length, struct err *e);

/** repl_code() - Run a statement as a step, where it is UTF-8 and not too long; 0, or
 * -errno where nothing can go on */
int repl_code(struct repl *r, const char *bytes, size_t length, struct err *e);

/**
 * repl_marks() - As pieces_ask(); where the jail does not tell, the text is one piece
 *
 * Return: 0, -ECANCELED (Ctrl-C at a prompt), or -errno where nothing can go on
 */
int repl_marks(struct repl *r, const char *text, size_t length, struct text *marks,
	       struct err *e);

/** repl_complete() - For struct lines' @complete: names of the jail, and commands */
void repl_complete(void *arg, const char *line, size_t length, struct text *names);

/** repl_names() - Add the names of commands that begin so */
void repl_names(const char *part, size_t length, struct text *names);

/** repl_typed() - Read a line that a person types, and run what is whole with it; 0, or
 * -errno */
int repl_typed(struct repl *r, struct err *e);

/** repl_files() - :files; @words are those behind it, NULL at the end (repl_command.c) */
int repl_files(struct repl *r, char *const *words, struct err *e);

/** repl_put() - :put, likewise */
int repl_put(struct repl *r, char *const *words, struct err *e);

/** repl_get() - :get, likewise */
int repl_get(struct repl *r, char *const *words, struct err *e);

/** repl_show() - :show, likewise */
int repl_show(struct repl *r, char *const *words, struct err *e);
