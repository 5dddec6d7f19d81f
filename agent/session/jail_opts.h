/* SPDX-License-Identifier: MIT */
/*
 * jail_opts.h - the options of a session's jail, the same in each command that has one
 */
#pragma once

#include "agent/cli/options.h"
#include "agent/session/input_file.h"

#define HOUR_MS ((uint64_t)3600000)

/* part of a command's struct */
struct jail_options {
	const char *rootfs;
	const char *stepjail;
	const char *server;
	const char *config;
	uint64_t step_ms;
	uint64_t file_limit_bytes;
	struct opt_list files;
	struct opt_list pass;
};

/* a file that each new session begins with, written below /work by PUT */
struct session_file {
	int fd; /* read from its beginning each time */
	const char *path;
};

struct jail_binds {
	struct input_file *files; /* one for each --file */
	char *list[OPT_LIST_MAX]; /* "PATH:/work/in/NAME" */
	size_t count;             /* of these */
	/* what came by a pipe, and one more that each new session is to begin with, whose
	 * fd stays the caller's */
	struct session_file puts[OPT_LIST_MAX + 1];
	size_t put_count, own_puts; /* those opened here come first */
	struct text stepjail;       /* where that is, once there is a broker */
};

/**
 * jail_binds_make() - Look at the files of --file and say where they go
 * @b:		Zeroed; jail_binds_free() in any case. Pipes are read to their end
 * @streams:	Of each file, whether it is put in place as if it came by a pipe; or NULL
 *
 * Return: 0, or -errno with a line that names the file
 */
int jail_binds_make(const struct jail_options *o, const bool *streams, struct stop *stop,
		    struct jail_binds *b, struct err *e);

/** jail_binds_more() - Have one more file, in a folder of the jail; 0 or -E2BIG */
int jail_binds_more(struct jail_binds *b, const char *path, const char *folder,
		    const char *name, struct err *e);

/** jail_passed() - The value of one of the options that are handed on, or NULL */
const char *jail_passed(const struct opt_list *pass, const char *name);

/** jail_binds_free() - Free what there is */
void jail_binds_free(struct jail_binds *b);

/* options of a struct jail_options: those that are handed on to stepjail and give up no
 * wall; what depends on the host; and the others */
extern const struct opt pass_opts[], host_opts[], jail_opts[];

/* of one field of a command's struct: a path; a bool; enum show_color */
extern const struct opt transcript_opts[], confine_opts[], color_opts[];
