/* SPDX-License-Identifier: MIT */
/*
 * cgroup.h - one cgroup v2 leaf per run: limits in, kill at the end
 */
#pragma once

#include <sys/types.h>

#include "jail/launch/cgroup/cgroup_limit.h"

#define CGROUP_HELD 9
#define CGROUP_HELD_RUN 7 /* the others are for sessions alone */

/* their names */
extern const char *const cgroup_held[CGROUP_HELD];

struct cgroup {
	int base;  /* directory fd that leaves are made in */
	int leaf;  /* directory fd of this run's leaf */
	int inner; /* of a template: directory fd for its clones' leaves; or -1 */
	int held[CGROUP_HELD];       /* files of the leaf, from cgroup_hold(); or -1 */
	char name[64];               /* the leaf's, within base */
	struct cgroup_limits limits; /* as read back at the gate */
};

#define CGROUP_NONE                                                                      \
	(struct cgroup)                                                                  \
	{                                                                                \
		.base = -1, .leaf = -1, .inner = -1, .held = {                           \
			[0 ... CGROUP_HELD - 1] = -1                                     \
		}                                                                        \
	}

/**
 * cgroup_find() - Open the place where this process may make leaves
 * @p:		Says which controllers are needed, and they are enabled; NULL only looks,
 *		and changes nothing
 * @base:	Gets a directory fd
 * @where:	Gets words for it, at most @size bytes
 *
 * As root: /sys/fs/cgroup/stepjail, unless the own cgroup is delegated. Otherwise the
 * parent of the own cgroup, or the own cgroup, whichever is delegated to this user; its
 * processes then step aside into a child of it. Follows cgroup-v2.rst, "Delegation" and
 * "No Internal Process Constraint", and systemd's CGROUP_DELEGATION.
 *
 * Return: 0, -ENOENT (no cgroup v2, or a controller is missing), -EACCES (nothing is
 * delegated), -EBUSY (root's place has processes in it), or -errno; @e then holds one
 * line with the remedy
 */
int cgroup_find(const struct plan *p, int *base, char *where, size_t size, struct err *e);

/**
 * cgroup_enter_scope() - Where no leaves may be made, start again in a place for them
 * @argv:	The command line from the program's name on
 *
 * Returns if leaves may be made here, or if systemd-run(1) cannot help; what it said is
 * then part of cgroup_find()'s error. Otherwise this process becomes systemd-run, which
 * makes a delegated scope, moves this process into it and executes stepjail once more:
 * same pid, fds, folder and signals. Must come before anything is read, opened or locked.
 */
void cgroup_enter_scope(char *const *argv);

/* this process was started by cgroup_enter_scope(): for main() to set */
extern bool cgroup_in_scope;

/**
 * cgroup_ask() - Run a program with the caller's rights, and take the first line that it
 * says
 * @argv:	Its path and its words; for systemd's, and for check
 * @stream:	1: of its stdout, 2: of its stderr; all else of 0 to 2 is /dev/null
 * @text:	Empty where it said nothing
 *
 * Return: its wait status, as wait(2) has it; -1 where it could not be started
 */
int cgroup_ask(char *const *argv, int stream, char *text, size_t size);

/**
 * cgroup_ask_delegated() - Does systemd say that the unit of this cgroup is delegated?
 */
bool cgroup_ask_delegated(const char *path);

/** cgroup_advice() - What to type where nothing is delegated; valid until called again */
const char *cgroup_advice(void);

/**
 * cgroup_enable() - Enable the controllers that a plan needs for the children of a folder
 *
 * Return: 0, -EBUSY (there are processes in the folder), or -errno
 */
int cgroup_enable(int folder, const struct plan *p);

/**
 * cgroup_place() - Find the folder for a leaf, and choose the leaf's name
 * @cg:		base and name are filled; the caller ends it with cgroup_close(), whatever
 *		this returns
 * @template:	The leaf goes into this template's folder; NULL: to where cgroup_find()
 *		says
 *
 * Return: 0, or as cgroup_find()
 */
int cgroup_place(struct cgroup *cg, const struct plan *p, const struct cgroup *template,
		 struct err *e);

/**
 * cgroup_make() - Make a leaf, and write a plan's limits into it
 * @cg:		From cgroup_place()
 *
 * A template's own leaf lies in a folder of the same name. Whoever removes the leaf must
 * know of it before: keeper_add().
 *
 * Fails closed: a limit that cannot be written is an error, never a run without it.
 *
 * Return: 0, or what a write returned
 */
int cgroup_make(struct cgroup *cg, const struct plan *p, struct err *e);

/** cgroup_hold() - Open the files that are read and written until the leaf is removed */
void cgroup_hold(struct cgroup *cg, bool session);

/** cgroup_release() - Close these files again */
void cgroup_release(struct cgroup *cg);

/**
 * cgroup_give() - Let this user move processes into, or between those below, a cgroup
 * @dir:	Directory fd of the cgroup
 *
 * Return: 0, or -errno
 */
int cgroup_give(int dir, uid_t uid, struct err *e);

/** cgroup_kill() - SIGKILL to everything in the leaf, by cgroup.kill (Linux 5.14) */
void cgroup_kill(const struct cgroup *cg);

/**
 * cgroup_remove() - Try once to remove a leaf, and kill what is in it
 * @base:	Directory fd of the folder that it is in
 *
 * rmdir(2) is refused for a moment while killed processes leave.
 *
 * Return: 0 (it is gone), -EBUSY (try again), or -errno
 */
int cgroup_remove(int base, const char *name);

/** cgroup_close() - Close all fds; the leaf is the keeper's to remove */
void cgroup_close(struct cgroup *cg);
