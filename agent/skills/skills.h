/* SPDX-License-Identifier: MIT */
/*
 * skills.h - functions that outlive a task: a folder of Python modules, which jails have
 * as the package skills
 *
 *	skills_plan()	bind the folder, read-only, and plan one command line for jails
 *			that look at its functions (list.py, trial.py)
 *	skills_list()	a jail reads what the modules are; the model is told
 *	skills_save()	the task has been answered: fetch what the model left in
 *			/work/skills_new, try each file in a fresh jail, save what passes
 *
 * Models wrote these files, so this process hashes and copies them, and reads none. A
 * file that is there is never written over.
 */
#pragma once

#include "agent/base/chain.h"
#include "agent/judge/task.h"
#include "agent/session/jail_opts.h"

#define SKILLS_NAME_MAX ((size_t)48)
#define SKILLS_FILE_MAX ((size_t)64 << 10) /* bytes of a function that is saved */
#define SKILLS_SAVE_MAX 16                 /* functions of one task */
#define SKILLS_TRIAL_MS ((uint64_t)10000)  /* or a step's limit, where that is shorter */

struct skills {
	struct task *task; /* the caller sets it */
	const char *dir;   /* of --skills, or NULL for none of it */
	bool save;         /* where the folder can be written, and jails are kept */
	int fd;            /* of the folder; only where @path is not empty */
	struct text path;  /* absolute */
	uint64_t bytes;    /* of all modules */
	char sha256[DIGEST_HEX];
	struct launch_args args; /* of a jail, @line of the broker */
	int line;
	uint64_t limit_ms;
	struct text preface; /* for the model */
	cJSON *told;         /* what became of each function; NULL: there was none */
};

/**
 * skills_bind() - Have a folder of modules in a jail
 * @hex:	Gets one digest of the names and bytes of its *.py
 * @bytes:	Gets the size of these
 *
 * Return: the folder's fd, for the caller to close; or -errno with a line that names it
 */
int skills_bind(const char *dir, struct jail_binds *b, struct stop *stop,
		char hex[DIGEST_HEX], uint64_t *bytes, struct err *e);

/**
 * skills_plan() - Bind the folder, made where it is missing, and plan for jails and files
 * @s:		Its task's broker gets their command line, and its policy the folder,
 *		where functions may be saved
 * @dir:	Of --skills; NULL: nothing is done
 *
 * Should be called before this process is confined. skills_free() in any case.
 *
 * Return: 0, or -errno with a line that names what is wrong
 */
int skills_plan(struct skills *s, const char *dir, struct err *e);

/** skills_record() - The folder and its digest as an object; NULL without memory */
cJSON *skills_record(const struct skills *s);

/**
 * skills_list() - Have a jail read the modules, and write the preface
 *
 * Return: 0, or -errno: no jail could be started, a signal came, the task's time is over
 */
int skills_list(struct skills *s, struct err *e);

/**
 * skills_save() - Fetch what the task has left, try each function, save what passes
 *
 * A function that is not saved takes nothing from the answer: that is told and recorded.
 *
 * Return: 0, -EINTR, or -errno where the transcript cannot be written
 */
int skills_save(struct skills *s, struct err *e);

/** skills_free() - Free what there is; safe on a zeroed struct */
void skills_free(struct skills *s);

/* ---- skills_*.c and tests only */

/**
 * skills_run() - Run the command line in a fresh jail
 * @order:	Its stdin: see main() of trial.py
 * @said:	Gets its stdout: at most LAUNCH_OUTPUT_KIB, hostile
 *
 * Return: 0; -EBADMSG (it did not end well; @e's line is harmless to show); or -errno as
 * task_run()
 */
int skills_run(struct skills *s, const struct text *order, struct text *said,
	       struct err *e);

/** skills_file_good() - May a saved function's file have this name? */
bool skills_file_good(const char *file);

/**
 * skills_store() - Make a new file in the folder
 *
 * It is written under another name and down to the disk, then named, which fails where
 * the name is taken.
 *
 * Return: 0, -EEXIST, or -errno: nothing is left behind then
 */
int skills_store(const struct skills *s, const char *file, const struct text *source,
		 struct err *e);
