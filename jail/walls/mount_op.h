/* SPDX-License-Identifier: MIT */
/*
 * mount_op.h - single steps on the new mount API, for mount.c
 *
 * Each returns an fd or 0, or -errno with one line in @e. fds belong to the caller.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "init/err.h"
#include "jail/base/sys.h"

/* flags of places that are writable: no file there can be executed */
#define MOUNT_WRITABLE (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)
/* of /dev and /proc */
#define MOUNT_READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_WRITABLE)
/* of a device node in /dev */
#define MOUNT_NODE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC)
/* of the root tree and read-only binds, which the program may execute */
#define MOUNT_TREE (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

struct tmpfs {
	uint64_t bytes, inodes;
	mode_t mode;
	uid_t owner; /* id inside the jail; 0: whoever mounts */
};

/** mount_tmpfs() - Mount a tmpfs with MOUNT_ATTR_ flags @attr at a folder of the caller's
 */
int mount_tmpfs(const char *at, const struct tmpfs *fs, uint64_t attr, struct err *e);

/** mount_overlay() - The same of a read-only overlay of layers named from the current
 * folder, of a few letters each */
int mount_overlay(const char *at, const char *lowerdir, struct err *e);

/* OWN and ALL have process folders alone (subset=pid); of OWN a reader sees those that
 * are its own to look into (hidepid) */
enum mount_proc_of { MOUNT_PROC_OWN, MOUNT_PROC_ALL, MOUNT_PROC_WHOLE };

/** mount_proc() - A detached procfs */
int mount_proc(uint64_t attr, enum mount_proc_of of, struct err *e);

/**
 * mount_locks() - Open the list of file locks, of the caller's PID namespace alone: see
 * proc_locks(5). No procfs stays mounted anywhere
 */
int mount_locks(struct err *e);

#define MOUNT_BACKLOG "sys/net/core/somaxconn" /* in a procfs */
#define MOUNT_BACKLOG_MAX "4"

/**
 * mount_limit_backlog() - Of the caller's network namespace, which it has rights over
 *
 * A connection that nobody has accepted holds what was written into it, and no fd:
 * without a cgroup, --files times --pids bounds such memory only if a listener has few of
 * them.
 */
int mount_limit_backlog(struct err *e);

/** mount_attach() - Attach a detached mount at a path that no guest controls, seen from
 * @at. At its end no symlink is followed */
int mount_attach(int tree, int at, const char *path, struct err *e);

/** mount_attach_beneath() - Attach at a clean path under @root, following no symlink */
int mount_attach_beneath(int tree, int root, const char *path, struct err *e);

/**
 * mount_node() - Bind the host's device @node to the file @name of the jail's /dev
 * @device:	Its number: any other file at that path would be shown to the jail
 *
 * The caller sets flags of all nodes together.
 */
int mount_node(int dev, const char *name, const char *node, dev_t device, struct err *e);

/** mount_set_flags() - Set MOUNT_ATTR_ flags of a mount, detached or not, and of all
 * that is mounted in it, and have them private: see mount_namespaces(7) */
int mount_set_flags(int tree, uint64_t attr, struct err *e);

/** mount_clone_at() - Detached clone of @folder, or of the file @name in it */
int mount_clone_at(const char *folder, const char *name, struct err *e);

/**
 * mount_make_point() - Make a clean path under @root a folder or an empty file
 *
 * Makes the folders above it too. What is there already and is of the right kind stays.
 */
int mount_make_point(int root, const char *path, bool folder, struct err *e);
