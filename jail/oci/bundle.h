/* SPDX-License-Identifier: MIT */
/*
 * bundle.h - a bundle's config.json becomes the options of one `stepjail run`
 *
 * One table (members.c) has a row for each member that the runtime specification knows:
 * what of a jail it becomes, why it is ignored, or why it is refused. A container never
 * gets more than a jail: what asks for more is refused by name, but for what engines ask
 * for by default, which is ignored. Members that the specification does not know are
 * ignored, as it wants them to be.
 */
#pragma once

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "init/err.h"
#include "jail/oci/words.h"

struct bundle {
	char folder[PATH_MAX];
	char rootfs[PATH_MAX];
	cJSON *config;
	struct words options; /* "--name=value" each */
	struct words args;    /* the program's */
	bool terminal;
	FILE *notes; /* gets a line for each member, and what became of it; or NULL */
};

enum member_kind {
	MEMBER_TAKEN,   /* by a function, which may refuse what it holds */
	MEMBER_EACH,    /* the same, for each item of a list */
	MEMBER_OPTION,  /* a string: the value of the option that why names */
	MEMBER_ONLY,    /* refused where it has what is not in the list */
	MEMBER_IGNORED, /* because of what a jail is */
	MEMBER_REFUSED, /* unless it is empty, zero or false */
};

struct member {
	const char *path; /* names with dots between them; of several members, blanks */
	enum member_kind kind;
	const char *why; /* what becomes of it; of a refused one: what to do */
	int (*take)(struct bundle *b, const cJSON *value, struct err *e);
	const char *const *list;
};

extern const struct member members[];
extern const size_t member_count;

/**
 * bundle_read() - Read DIR/config.json, and make options of it
 * @dir:	NULL: the working directory
 * @b:		Zeroed but for notes; ended by bundle_free(), whatever this returns
 *
 * Return: 0, or -errno; -EPERM with the member that is refused
 */
int bundle_read(struct bundle *b, const char *dir, struct err *e);

/** bundle_take() - The same of a parsed config; @b's folder and config are set */
int bundle_take(struct bundle *b, struct err *e);

/** bundle_process() - The same of a file that has the member "process" alone */
int bundle_process(struct bundle *b, const char *path, struct err *e);

void bundle_free(struct bundle *b);

/** bundle_note() - Say what became of a part of a member */
void bundle_note(const struct bundle *b, const char *part, const char *became);

/** bundle_text() - A member that is a string; "" where it is not there or another type */
const char *bundle_text(const cJSON *object, const char *name);

/**
 * bundle_is_listed() - Is a word in a list? NULL ends it
 *
 * A path of the list that ends with "/" stands for all below it.
 */
bool bundle_is_listed(const char *word, const char *const *list);

/** bundle_mount() - Take one of "mounts"; in mounts.c */
int bundle_mount(struct bundle *b, const cJSON *value, struct err *e);

/* Take parts of "process" and "linux"; in limits.c */
int bundle_rlimit(struct bundle *b, const cJSON *value, struct err *e);
int bundle_limits(struct bundle *b, const cJSON *value, struct err *e);
