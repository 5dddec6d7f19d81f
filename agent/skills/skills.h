/* SPDX-License-Identifier: MIT */
/*
 * skills.h - functions that earlier tasks have saved: a folder of the user's, and its
 * index
 *
 *	DIR/NAME.py		one function NAME, as a model wrote it
 *	DIR/index.jsonl		a line for each: its file's digest, what was found of it,
 *				and where it comes from. Each line has a digest of its
 *				own (chain.h)
 *
 * A file is offered only where a line of the index has its digest. A person may delete
 * either: without its file a line means nothing, and without its line a file is not
 * offered, which is said. Nothing is ever written over: a saved function stays what it
 * is.
 *
 * All of it was written by models. Before the agent is confined, lines and files are only
 * hashed and compared (skills_find()); what a line says is read afterwards
 * (skills_read()).
 */
#ifndef STEPJAIL_AGENT_SKILLS_H
#define STEPJAIL_AGENT_SKILLS_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "agent/base/chain.h"
#include "agent/base/text.h"
#include "agent/confine/confine.h"
#include "agent/session/jail_opts.h"

#define SKILLS_INDEX "index.jsonl"
#define SKILLS_FOLDER "/work/skills" /* in the jail */
#define SKILLS_KNOWN_MAX 1024        /* lines and files of a folder that are looked at */
#define SKILLS_OFFERED_MAX 32        /* the last ones */
#define SKILL_NAME_MAX ((size_t)48)
#define SKILL_BYTES_MAX ((size_t)64 << 10)
#define SKILL_WORDS_MAX ((size_t)1024) /* of a signature, a line of a docstring */

enum skill_state {
	SKILL_FITS,
	SKILL_CHANGED,  /* no line has its digest */
	SKILL_UNLISTED, /* there is no line at all */
	SKILL_GONE,     /* there is no file */
	SKILL_UNREADABLE,
};

struct skill {
	char name[SKILL_NAME_MAX + 1];
	enum skill_state state;
	char sha256[CHAIN_HEX]; /* of the file; empty where it could not be read */
	size_t at;              /* which of the lines that fit, from 1; 0 for none */
	bool offered;
	struct text line; /* of the index, where it fits */
	cJSON *told;      /* that line, read; NULL before */
};

struct skills {
	struct text dir;      /* absolute */
	int dir_fd, index_fd; /* -1 for none; the index for adding lines alone */
	bool half;            /* the index does not end in a newline */
	struct skill *list;
	size_t count, fitted;
	char *binds[SKILLS_OFFERED_MAX]; /* "DIR/NAME.py:/work/skills/NAME.py" */
	size_t bind_count;
	size_t misfits;    /* files and lines */
	struct text notes; /* lines about what does not fit, harmless to show */
};

#define SKILLS_NONE ((struct skills){ .dir_fd = -1, .index_fd = -1 })

/** skill_name_good() - May a function have this name? A small letter, then small letters,
 * digits and _; no keyword of Python */
bool skill_name_good(const char *name, size_t length);

/** skill_state_name() - As in --json: "fits", "changed", ... */
const char *skill_state_name(enum skill_state s);

/**
 * skills_find() - Look through a folder, without reading what its index says
 * @s:		SKILLS_NONE; skills_free() in any case
 * @make:	Make the folder where there is none, and be ready to add to it
 *
 * Return: 0, or -errno with a line that names the folder
 */
int skills_find(struct skills *s, const char *dir, bool make, struct err *e);

/** skills_read() - Read the lines of those that fit; one that cannot be read does not
 * fit. 0, or -ENOMEM */
int skills_read(struct skills *s, struct err *e);

/**
 * skills_prompt() - Add what the model is told
 * @save:	Tell how to save one
 */
void skills_prompt(const struct skills *s, bool save, struct text *out);

/** skills_record() - What is offered, as an object: folder, names, digests; NULL without
 * memory */
cJSON *skills_record(const struct skills *s);

/**
 * skills_again() - Bind functions of a record again, where they are what they were
 * @recorded:	skills_record()'s object, a stranger's words
 * @differs:	Called with a line for each that is not
 *
 * Return: 0, or -errno
 */
int skills_again(struct skills *s, const cJSON *recorded,
		 void (*differs)(void *arg, const char *line), void *arg, struct err *e);

/** skills_confine() - Plan for adding to the folder; 0, or -errno */
int skills_confine(const struct skills *s, struct confine_policy *p, struct err *e);

/** skills_named() - The entry of a name, or NULL */
struct skill *skills_named(const struct skills *s, const char *name);

/**
 * skills_string() - What the index says of one, as harmless words on one line
 * @inside:	Of its "origin", where not of itself
 * @max:	Bytes of it that are taken at most
 */
void skills_string(const struct skill *one, bool inside, const char *name, size_t max,
		   struct text *out);

/** skills_free() - Free what there is */
void skills_free(struct skills *s);

/* ---- skills_*.c and tests only */

/** skills_entry() - The entry of a name, a new one where there is none; NULL without
 * room */
struct skill *skills_entry(struct skills *s, const char *name, size_t length);

/** skills_take_index() - Take the lines of an index: names and digests */
int skills_take_index(struct skills *s, const char *bytes, size_t length, struct err *e);

/**
 * skills_line() - Make a line of the index
 * @members:	What was found of it, without its name and digest; not changed
 *
 * Return: 0, or -errno
 */
int skills_line(const char *name, const char *sha256, const cJSON *members,
		struct text *line, struct err *e);

/** skills_bind() - Have a function be seen in a jail; 0, -E2BIG or -ENOMEM */
int skills_bind(struct skills *s, const char *dir, const char *name, struct err *e);

#endif
