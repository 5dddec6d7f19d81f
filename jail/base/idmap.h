/* SPDX-License-Identifier: MIT */
/*
 * idmap.h - a mount that shows the owner of a file or folder as somebody else
 */
#pragma once

#include <sys/types.h>

#include "init/err.h"

/* host ids that a mount shows */
struct idmap {
	uid_t owner; /* in place of the owner of the file, or of the folder itself */
	gid_t owner_group;
	uid_t way; /* in place of the owner of the file's folder, if it is another */
	gid_t way_group;
};

/**
 * idmap_set() - Make a detached mount an idmapped one: see mount_setattr(2)
 * @tree:	Of a folder
 * @name:	The file in it, NULL for the folder
 *
 * Whatever has any other owner is shown as nobody's. The files themselves, and how others
 * see them, stay as they are. Where names are changed meanwhile, the owner of another
 * file may be mapped: compare what is there afterwards.
 *
 * Return: 0, or -errno; -EINVAL where the file system has no idmapped mounts, -EPERM
 * where it was not mounted by the host's root
 */
int idmap_set(int tree, const char *name, const struct idmap *ids, struct err *e);
