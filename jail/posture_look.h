/* SPDX-License-Identifier: MIT */
/*
 * posture_look.h - one look at the waiting program, for the files that share the work
 *
 * Each function reads one thing, writes it to @out as a JSON value, and returns 0; -EPERM,
 * where it is not as planned; or another -errno, where it cannot be read. @text is what the
 * kernel tells in the file of the function's row in posture.c, and may be cut up; it is
 * empty where the row has no file. Tests hand in texts of their own.
 */
#ifndef STEPJAIL_JAIL_POSTURE_LOOK_H
#define STEPJAIL_JAIL_POSTURE_LOOK_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "init/err.h"
#include "jail/posture.h"

struct look {
	const struct jail *jail;
	const struct posture *own; /* what posture_begin() has found */
	pid_t program;
	int dir;           /* /proc/PID, as proc_open() gives it */
	uint32_t landlock; /* ABI in force, as the program's process says */
	FILE *out;
};

/* posture_status.c: capability sets, no_new_privs, seccomp, ids, the session. Writes
 * several members of an object, without the braces */
int posture_status(const struct look *l, char *text, struct err *e);

/* posture_map.c */
int posture_uid_map(const struct look *l, char *text, struct err *e);
int posture_gid_map(const struct look *l, char *text, struct err *e);
int posture_setgroups(const struct look *l, char *text, struct err *e);
int posture_rlimits(const struct look *l, char *text, struct err *e);
int posture_cgroup(const struct look *l, char *text, struct err *e);

/* posture_mount.c */
int posture_mounts(const struct look *l, char *text, struct err *e);

/** posture_refuse() - Say that @what reads @told where @planned was planned; -EPERM */
int posture_refuse(const char *what, const char *told, const char *planned,
		   struct err *e);

/** posture_find() - What follows @key at the beginning of a line of @text, or NULL */
const char *posture_find(const char *text, const char *key);

#endif
