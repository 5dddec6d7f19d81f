/* SPDX-License-Identifier: MIT */
/*
 * image.h - all of /work as one row of bytes, so that it can be made so again
 *
 * An image is records, each with its name and data behind it, in the order of a walk: a
 * TOP, then entries; a FOLDER is followed by what is in it, up to its UP; END is the last.
 * A FILE's data are extents, the last one of no bytes: what lies between them is a hole.
 *
 * Kept are names, kinds, modes, mtimes, contents and holes of files, folders, symbolic
 * links and FIFOs. Hard links become files of their own. Sockets, extended attributes and
 * what the step does not own are left out; of another file system, such as a --bind below
 * /work, nothing is looked into or touched.
 */
#ifndef STEPJAIL_ROOTFS_IMAGE_H
#define STEPJAIL_ROOTFS_IMAGE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum image_kind {
	IMAGE_TOP = 1,
	IMAGE_FOLDER,
	IMAGE_UP,
	IMAGE_FILE,
	IMAGE_LINK,
	IMAGE_FIFO,
	IMAGE_END,
};

struct image_record {
	uint32_t kind;
	uint32_t name_bytes; /* of the name that follows */
	uint32_t mode;       /* permission bits */
	uint32_t mtime_ns;
	int64_t mtime_s;
	uint64_t bytes; /* FILE: its length; LINK: of its aim, which follows the name */
};

struct image_extent {
	uint64_t at, bytes;
};

/*
 * A walk through /work with one fd and no recursion, however deep it is. Nothing else may
 * change it meanwhile.
 */
struct image_walk {
	int fd; /* of the folder that it is at, or -1 */
	dev_t dev;
	unsigned char *stack; /* of levels, each behind its name */
	size_t used, size;
};

/* on the stack: a folder that is yet to be walked, or one that the walk is in */
struct image_level {
	bool entered;
	uint32_t name_bytes;
	uint32_t mode; /* these three of a folder that was entered */
	ino_t above;
	struct timespec mtime;
};

/** image_begin() - At /work itself; @about gets what it was. 0 or -errno */
int image_begin(struct image_walk *w, struct stat *about);

/** image_push() - Put a level on the stack; 0 or -ENOMEM */
int image_push(struct image_walk *w, struct image_level *level, const char *name);

/** image_pop() - Take the last one; 1, or 0 when there is none */
int image_pop(struct image_walk *w, struct image_level *level, char name[NAME_MAX + 1]);

/**
 * image_enter() - Go into a folder of this one, and put it on the stack
 * @about:	Gets what it was; it can be read, written and searched by its owner now
 *
 * Return: 0 or -errno
 */
int image_enter(struct image_walk *w, const char *name, struct stat *about);

/** image_leave() - Go up from a folder that was popped; 0 or -errno */
int image_leave(struct image_walk *w, const struct image_level *level);

/**
 * image_each() - Tell of every entry of this folder that is the step's own
 *
 * Return: 0, or what @act returned when it was not 0, or -errno
 */
int image_each(struct image_walk *w,
	       int (*act)(void *owner, const char *name, const struct stat *about),
	       void *owner);

/** image_end() - Free what it holds */
void image_end(struct image_walk *w);

/**
 * image_write() - Make an image of /work, or compare it with one
 * @fd:		memfd: as long as an image may be, or is
 * @bytes:	Gets how long it is
 *
 * Return: 0, -EFBIG, -ESTALE (they differ), or -errno
 */
int image_write(int fd, bool compare, uint64_t *bytes);

/**
 * image_restore() - Empty /work, and make it what an image says
 *
 * Return: 0, -EBADMSG (not an image), -EBUSY (something cannot be removed), or -errno:
 * /work is then neither what it was nor what it shall be
 */
int image_restore(int fd);

/** image_serve() - One of STEP_FILE_IMAGE, _COMPARE, _RESTORE; 0 or -errno */
int image_serve(uint32_t op, int fd, uint64_t *bytes);

#endif
