/* SPDX-License-Identifier: MIT */
/*
 * solve.h - what is shared by the files of stepjail-agent solve
 */
#pragma once

#include "agent/model/settings.h"
#include "agent/replay/resume.h"
#include "agent/repl/lines.h"

struct solve_options {
	const char *system;
	const char *model;
	struct model_plan plan; /* what of it is asked for */
	const char *transcript;
	uint64_t code_in;
	uint64_t context_tokens;
	uint64_t reply_tokens;
	struct budget_options budget;
	uint64_t color;
	bool stateless;
	bool require_confinement;
	bool json;
	bool quiet;
	bool events;
	bool confirm;
	const char *again; /* --continue; "no" is none */
	struct opt_list set;
	struct opt_list tests;
	struct jail_options jail;
	struct checks_options checks;
	const char *skills;
	struct out_options out;
};

/* all of one run, so that one function can free it */
struct solve {
	const struct solve_options *o;
	struct text asked;        /* the task, where it came by stdin */
	struct jail_options jail; /* as asked, with the files of a run that goes on */
	struct jail_binds binds;
	char skills_hex[DIGEST_HEX]; /* of what is in --skills */
	struct model_plan model_plan;
	cJSON *settings; /* of --set; or NULL */
	struct task task;
	struct loop loop;
	struct resume resume;
	bool chat;          /* a person talks: */
	struct lines lines; /* where that is typed */
};

#define SOLVE_TASK_MAX ((size_t)1 << 20)    /* bytes of a task that comes by stdin */
#define SOLVE_RULES_MAX ((size_t)256 << 10) /* of --system */

/** solve_read_task() - Read the task from stdin into s->asked; 0 or -errno */
int solve_read_task(struct solve *s, struct err *e);

/**
 * solve_plan() - Take the options: files, judges, model, transcript, what is confined
 *
 * Return: 0, or -errno with one line about what is wrong with them
 */
int solve_plan(struct solve *s, struct err *e);

/** chat_talk() - Hear a person until they leave; OUTCOME_ENDED, or what ended it */
enum outcome chat_talk(struct solve *s, struct err *e);

/** solve_print_answer() - Where it is not shown already; 0 or -errno */
int solve_print_answer(struct solve *s, struct err *e);

/**
 * solve_finish() - Say the last words: the answer where there was no progress, --json's
 * object, else the reason on stderr
 * @e:		Why there is no answer
 *
 * Return: the exit status, or -errno
 */
int solve_finish(struct solve *s, enum outcome end, struct err *e);
