/* SPDX-License-Identifier: MIT */
/*
 * out.h - --out: what the jail left in /work/out, copied into a folder of the user's
 *
 * At the end, from the last state, empty folders too. Names and bytes are the jail's: a
 * name becomes a file's only if it is a plain one, a folder is made by the agent and gone
 * into by itself, nothing is written over, and files, folders, depth and bytes are
 * counted. A name that begins with a dot is left out unless it is asked for: other
 * programs obey such files where they find them, as git does .git/config. A file is there
 * whole or not at all. What is left out is named, with its reason.
 */
#pragma once

#include "agent/base/folder.h"
#include "agent/confine/confine.h"
#include "agent/show/show.h"

#define OUT_FOLDER "out"           /* below /work */
#define OUT_MARKER ".stepjail"     /* an empty file, put so that the folder is there */
#define OUT_DEPTH_MAX 16u          /* of folders in it */
#define OUT_FILES_MAX 10000u       /* files and folders in all */
#define OUT_LEFT_MAX 100u          /* told of what is left out */
#define OUT_STATUS 6               /* listed for users in main.c's exits[] */
#define OUT_LIST_BYTES (8u << 20)  /* of one folder's listing */
#define OUT_NAMES_BYTES (4u << 20) /* of all files that are copied: they are recorded */

struct out_options {
	const char *folder;
	uint64_t limit_bytes;
	bool hidden;
};

extern const struct opt out_opts[]; /* of a struct out_options */

struct out {
	struct folder folder; /* its fd is -1 without --out */
	uint64_t limit_bytes;
	bool hidden;                /* names that begin with a dot, too */
	struct session_file marker; /* for struct session_plan's files */
	/* at the end */
	uint64_t seen;       /* files and folders */
	uint64_t bytes;      /* of files that are kept */
	uint64_t name_bytes; /* of these, with their folders */
	uint64_t came; /* bytes, also of files that are not kept: what the limit is on */
	uint64_t left_count; /* names that were left out */
	cJSON *files;        /* list: name, bytes, sha256; NULL: nothing was collected */
	cJSON *left;         /* list of the first OUT_LEFT_MAX: name, why */
	struct text why;     /* why nothing was collected, or not all */
	uint64_t unwritten;  /* files that could not be written here */
	struct text failed;  /* a line about the first of them */
};

#define OUT_NONE ((struct out){ .folder = FOLDER_NONE, .marker = { .fd = -1 } })

/** out_open() - Open the folder, and allow it, and out_mark(); @o is OUT_NONE; 0 or
 * -errno */
int out_open(struct out *o, const struct out_options *options, struct jail_binds *b,
	     struct confine_policy *policy, struct err *e);

/** out_mark() - Put the marker into each new session, so that it has the folder; 0 or
 * -errno */
int out_mark(struct out *o, struct jail_binds *b, struct err *e);

/**
 * out_collect() - Copy what there is
 * @ended:	A step ran into the end of the task's time, and may still be running
 *
 * What fails is in @o, in words.
 *
 * Return: 0, or -EINTR
 */
int out_collect(struct out *o, struct session *s, bool ended, struct err *e);

/** out_skip() - It is not to be collected, for this reason */
void out_skip(struct out *o, const char *why);

/** out_record() - Add "files" and "files_left_out"; "files_lost" where not all was copied */
void out_record(const struct out *o, cJSON *object);

/**
 * out_status() - The exit status of a run that has ended well but for its files
 *
 * Return: 0, or OUT_STATUS with a line on stderr where some could not be written
 */
int out_status(const struct out *o, struct stop *stop);

/** out_show() - Say what was copied, and what was not */
void out_show(const struct out *o, struct show *show);

/** out_close() - Safe on OUT_NONE */
void out_close(struct out *o);
