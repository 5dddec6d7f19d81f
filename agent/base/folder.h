/* SPDX-License-Identifier: MIT */
/*
 * folder.h - a folder of the user's that new files may be made in, and nothing else
 *
 * It is opened before the agent is confined, and Landlock then allows to make files and
 * folders there. Nothing that is there is written over, and no link is followed: a name
 * that exists is an error. A file gets its name when it is whole.
 */
#pragma once

#include <dirent.h>
#include <sys/types.h>

#include "agent/base/secret.h"
#include "agent/base/text.h"

struct folder {
	int fd;           /* O_PATH; -1 for none */
	struct text path; /* absolute */
};

#define FOLDER_TEMPORARY (sizeof(".stepjail-.part") + SECRET_NONCE_HEX)

#define FOLDER_NONE ((struct folder){ .fd = -1 })

/** folder_has() - Is that an entry but for "." and ".."? For scandir(3) */
int folder_has(const struct dirent *entry);

/**
 * folder_open() - Make it where it is missing, and open it
 * @f:		Overwritten; folder_close()
 * @option:	Whose word it is, for the error: "--out"
 * @fresh:	It must be empty
 *
 * Its last part may not be a link.
 *
 * Return: 0, or -errno: -ENOTEMPTY with a line that says what to give
 */
int folder_open(struct folder *f, const char *path, const char *option, bool fresh,
		struct err *e);

/** folder_enter() - A folder in an open one, made where it is missing; fd (O_PATH) or
 * -errno */
int folder_enter(int folder, const char *name);

/** folder_make() - A new file in an open folder, to write; fd, or -errno: -EEXIST */
int folder_make(int folder, const char *name, mode_t mode);

/* a new file that has no name yet which anybody looks at */
struct folder_file {
	int folder; /* borrowed */
	int fd;     /* to write; -1 for none */
	char name[FOLDER_TEMPORARY];
};

/** folder_begin() - A new file in an open folder, under a name of its own; 0 or -errno */
int folder_begin(struct folder_file *f, int folder, mode_t mode);

/**
 * folder_keep() - All of it is written: give it its name
 *
 * Nothing that is there is written over. Where it fails the file is removed.
 *
 * Return: 0, or -errno: -EEXIST
 */
int folder_keep(struct folder_file *f, const char *name);

/** folder_drop() - Remove it; safe on one that is dropped or kept */
void folder_drop(struct folder_file *f);

/** folder_close() - Safe on FOLDER_NONE */
void folder_close(struct folder *f);
