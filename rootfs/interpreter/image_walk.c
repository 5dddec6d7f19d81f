/* SPDX-License-Identifier: MIT */
/*
 * image_walk.c - through all of /work, however deep and wide: see image.h
 *
 * Theory of operation
 *   One folder is open at a time. Its folders are put on a stack by name and walked when
 *   it has been read whole; the way back is "..", which must be the folder it was entered
 *   from. So neither fds nor the process's stack bound the depth: the number of inodes
 *   does. Nothing else runs in the jail that could move folders, and names are opened with
 *   no symbolic link followed.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/io.h"
#include "init/step_wire.h"
#include "rootfs/interpreter/image.h"

#define TOP "/work"
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define OWNER_BITS 0700u

/* open a folder whose owner may have shut it */
static int open_folder(int at, const char *name, struct stat *about)
{
	cleanup_fd int fd = -1;
	struct stat now;

	if (fstatat(at, name, about, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISDIR(about->st_mode))
		return -ENOTDIR;
	if ((about->st_mode & OWNER_BITS) != OWNER_BITS &&
	    fchmodat(at, name, (about->st_mode & 01777) | OWNER_BITS, 0) < 0)
		return -errno;
	fd = openat(at, name, FOLDER_FLAGS);
	if (fd < 0 || fstat(fd, &now) < 0)
		return -errno;
	if (now.st_ino != about->st_ino || now.st_dev != about->st_dev)
		return -ESTALE;
	return io_steal_fd(&fd);
}

int image_begin(struct image_walk *w, struct stat *about)
{
	*w = (struct image_walk){ .fd = open_folder(AT_FDCWD, TOP, about) };
	if (w->fd < 0)
		return w->fd;
	w->dev = about->st_dev;
	return 0;
}

int image_push(struct image_walk *w, struct image_level *level, const char *name)
{
	size_t name_bytes = strlen(name), needed = w->used + name_bytes + sizeof(*level);

	if (needed > w->size) {
		size_t size = needed + w->size;
		unsigned char *stack = realloc(w->stack, size);

		if (!stack)
			return -ENOMEM;
		w->stack = stack;
		w->size = size;
	}
	level->name_bytes = (uint32_t)name_bytes;
	memcpy(w->stack + w->used, name, name_bytes);
	memcpy(w->stack + w->used + name_bytes, level, sizeof(*level));
	w->used = needed;
	return 0;
}

int image_pop(struct image_walk *w, struct image_level *level, char name[NAME_MAX + 1])
{
	if (w->used == 0)
		return 0;
	w->used -= sizeof(*level);
	memcpy(level, w->stack + w->used, sizeof(*level));
	w->used -= level->name_bytes;
	memcpy(name, w->stack + w->used, level->name_bytes);
	name[level->name_bytes] = '\0';
	return 1;
}

int image_enter(struct image_walk *w, const char *name, struct stat *about)
{
	struct image_level level = { .entered = true };
	struct stat here;
	int fd, r;

	if (fstat(w->fd, &here) < 0)
		return -errno;
	fd = open_folder(w->fd, name, about);
	if (fd < 0)
		return fd;
	level.above = here.st_ino;
	level.mode = about->st_mode & 01777;
	level.mtime = about->st_mtim;
	r = about->st_dev == w->dev ? image_push(w, &level, name) : -EXDEV;
	if (r < 0) {
		(void)close(fd);
		return r;
	}
	(void)close(w->fd);
	w->fd = fd;
	return 0;
}

int image_leave(struct image_walk *w, const struct image_level *level)
{
	cleanup_fd int fd = openat(w->fd, "..", FOLDER_FLAGS);
	struct stat here;

	if (fd < 0 || fstat(fd, &here) < 0)
		return -errno;
	if (here.st_ino != level->above || here.st_dev != w->dev)
		return -ESTALE;
	(void)close(w->fd);
	w->fd = io_steal_fd(&fd);
	return 0;
}

static int tell(struct image_walk *w, const char *name,
		int (*act)(void *owner, const char *name, const struct stat *about),
		void *owner)
{
	struct stat about;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (fstatat(w->fd, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (about.st_dev != w->dev || about.st_uid != geteuid())
		return 0;
	return act(owner, name, &about);
}

int image_each(struct image_walk *w,
	       int (*act)(void *owner, const char *name, const struct stat *about),
	       void *owner)
{
	int r = 0, fd = openat(w->fd, ".", FOLDER_FLAGS);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!folder) {
		r = -errno;
		io_close_fd(&fd);
		return r;
	}
	while (r == 0 && (errno = 0, entry = readdir(folder)))
		r = tell(w, entry->d_name, act, owner);
	if (r == 0 && errno)
		r = -errno;
	(void)closedir(folder);
	return r;
}

void image_end(struct image_walk *w)
{
	io_close_fd(&w->fd);
	free(w->stack);
	w->stack = NULL;
}

int image_serve(uint32_t op, int fd, uint64_t *bytes)
{
	if (op == STEP_FILE_RESTORE)
		return image_restore(fd);
	return image_write(fd, op == STEP_FILE_COMPARE, bytes);
}
