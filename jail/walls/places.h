/* SPDX-License-Identifier: MIT */
/*
 * places.h - what is mounted in a jail, and what may be done there: one table for three
 * walls
 *
 * mount.c mounts the rows, landlock.c makes its rules of them, and the launcher's
 * read-back (jail/launch/posture_mount.c) demands these mounts and no other.
 */
#pragma once

#include "jail/plan/plan.h"

struct place {
	const char *at;      /* path in the jail */
	const char *type;    /* of its file system, NULL for what the host has there */
	uint64_t attr;       /* MOUNT_ATTR_ flags that it has, at the least */
	uint64_t landlock;   /* LANDLOCK_ACCESS_FS_ rights that hold there and below */
	const char *options; /* of its file system, NULL for any */
	bool shows_path;     /* of the host */
	unsigned int major, minor; /* of a device node */
};

/* all places but for binds */
extern const struct place place_rows[];
extern const size_t place_row_count;

#define PLACES_MAX (13 + PLAN_BINDS_MAX)

/* Where a template keeps the root tree for its clones; places_kept() tells of the binds.
 * Clones see nothing else of the host: a clone's mount namespace begins as a copy of its
 * template's, and only mounts that are attached there can be cloned. */
#define PLACES_KEPT_ROOT "/stepjail/root"

/**
 * places_kept() - Where a template keeps the source of a bind; the string lives for ever
 */
const char *places_kept(size_t bind);

/**
 * places_list() - List all mounts that a jail of this plan has, and no other
 * @list:	Gets at most PLACES_MAX; strings are the plan's, or live for ever
 *
 * Return: how many
 */
size_t places_list(const struct plan *p, struct place *list);
