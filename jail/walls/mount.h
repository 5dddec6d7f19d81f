/* SPDX-License-Identifier: MIT */
/*
 * mount.h - the jail's file system: an overlay root, five small file systems, the binds
 */
#pragma once

#include <sys/stat.h>

#include "jail/plan/plan.h"
#include "jail/walls/ids.h"

/* a folder or file of the host that the jail will see */
struct source {
	const char *path; /* resolved host path of a folder: a file's is its parent's */
	const char *name; /* the file in that folder, NULL for a folder */
	dev_t dev;        /* which folder or file it was when it was checked */
	ino_t ino;
	int tree;    /* detached mount of the folder, -1 until it is cloned */
	bool mapped; /* closed to the jail's ids, but for an idmapped mount */
};

/* so many can be mapped: a template's clone gets an fd of each in one message */
#define MOUNT_MAPPED_MAX 240

struct sources {
	struct source root;
	struct source bind[PLAN_BINDS_MAX]; /* as in the plan */
};

/**
 * mount_find() - Resolve and check what the plan names on the host
 * @s:		Filled; strings are allocated and live as long as the process
 * @root:	Folder of the root tree
 * @foreign:	The jail's ids are not the caller's. What is closed to the world is then
 *		to be mapped; or, if it is the root tree or writable, or was reached
 *		through a symlink, it is refused now, with a remedy, and not later, to the
 *		program
 *
 * Return: 0, or -errno
 */
int mount_find(struct sources *s, const struct plan *p, const char *root, bool foreign,
	       struct err *e);

/**
 * mount_clone() - Make detached mounts of all sources that have none
 * @ids:	Of the jail: what is to be mapped is shown to its program as its own, by
 *		an idmapped mount; a template does not show them to a program
 * @mapped:	Of those that are to be mapped alone
 *
 * Where the launcher is root it calls this before the clone, because its right to pass
 * through private folders does not reach into the new user namespace. Otherwise the child
 * calls it, because the right to clone a mount begins in the new namespaces.
 * open_tree(2), not recursive: what is mounted inside a source does not come along.
 *
 * Return: 0, or -errno
 */
int mount_clone(struct sources *s, const struct plan *p, const struct ids *ids,
		bool mapped, struct err *e);

/**
 * mount_check_same() - Check that a source is still what mount_find() saw
 * @tree:	A clone of the source, or of its folder
 * @name:	In that folder; NULL for the clone itself
 * @overlay:	The file is seen through an overlay, which shows its inode number and not
 *		its device
 *
 * Return: 0, -ESTALE, or -errno
 */
int mount_check_same(const struct source *s, int tree, const char *name, bool overlay,
		     struct err *e);

/**
 * mount_jail() - Build the jail's tree and pivot into it; nothing of the host remains
 * @cgroup:	A cgroup counts the jail's memory; else /dev/zero is the device /dev/full
 *
 * Return: 0, or -errno
 */
int mount_jail(const struct sources *s, const struct plan *p, bool cgroup, struct err *e);
