/* SPDX-License-Identifier: MIT */
/*
 * tree.h - the digest of a root tree, and whether the tree matches its list
 *
 * The list TREE.sha256 beside a tree has one line for each thing in it, sorted by the
 * bytes of its path, as rootfs/trees/build makes it:
 *
 *	dir MODE - PATH
 *	file MODE SHA256 PATH
 *	link - TARGET PATH
 *
 * A blank, tab, newline or backslash in PATH or TARGET is written as \ooo, so that no
 * name can look like another field or line.
 *
 * The digest of a tree is the SHA-256 of its list. The file TREE.sha256.sum holds the
 * digest, as sha256sum(1) writes it, so that a run need not hash a list of a thousand
 * lines.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "init/err.h"
#include "jail/base/sha256.h"

/* the path of a tree, and the folder that was found there */
struct tree_at {
	const char *path;
	dev_t dev;
	ino_t ino;
};

enum tree_state {
	TREE_UNKNOWN,  /* there is no list, so no digest */
	TREE_CLAIMED,  /* the digest of its list; the tree was not looked at */
	TREE_VERIFIED, /* the digest of its list; the tree matches the list */
	TREE_LISTED,   /* there is no list file: the digest of a list that was made now */
};

struct tree {
	enum tree_state state;
	char sha256[SHA256_HEX];
};

/**
 * tree_digest() - Find a tree's digest
 * @root:	The tree. Another folder in its place is refused if @verify
 * @verify:	Walk it, following no symlink and entering no other mount, and compare it
 *		with its list
 *
 * Return: 0, -EBADMSG (the tree differs from the list; @e names the first path), or
 * -errno
 */
int tree_digest(const struct tree_at *root, bool verify, struct tree *t, struct err *e);
