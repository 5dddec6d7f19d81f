/* SPDX-License-Identifier: MIT */
/*
 * io.h - whole reads and writes, files by directory fd, cleanup attributes
 */
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "init/count.h"

/* unused: to clang, a variable that only its cleanup uses is */
#define cleanup_fd __attribute__((cleanup(io_close_fd), unused))
#define cleanup_free __attribute__((cleanup(io_free)))

/** io_close_fd() - Close *@fd unless it is negative, keep errno; for cleanup_fd */
void io_close_fd(int *fd);

/** io_steal_fd() - Take the fd out of a cleanup_fd variable, to return it */
static inline int io_steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/** io_free() - Free what the pointer at @where points to; for cleanup_free */
void io_free(void *where);

/**
 * io_write_all() - Write every byte, whatever the number of calls it takes
 * @fd:		If others have made it non-blocking, the call waits until it is writable
 *
 * SIGPIPE is the caller's business. EINTR is retried.
 *
 * Return: 0, or -errno of write(2)
 */
int io_write_all(int fd, const void *bytes, size_t length);

/**
 * io_read_all() - Read exactly @length bytes
 *
 * Return: @length, fewer at end of file, or -errno of read(2)
 */
ssize_t io_read_all(int fd, void *bytes, size_t length);

/**
 * io_read_text() - Read all that is left of a small file as a string
 *
 * Text and return: as io_read_file_at()
 */
ssize_t io_read_text(int fd, char *text, size_t size);

/**
 * io_write_text() - Write a string in one write(2); 0, -EIO when it was cut, or -errno
 */
int io_write_text(int fd, const char *text);

/**
 * io_read_file_at() - Read a small file under @dir as a string
 * @dir:	Directory fd, or AT_FDCWD
 * @name:	Path relative to @dir; a symlink as its last part is refused
 * @text:	Gets at most @size - 1 bytes and always a NUL: the beginning of a file
 *		that does not fit; "" where none can be read
 *
 * Return: length without the NUL, -EFBIG when it does not fit, or -errno
 */
ssize_t io_read_file_at(int dir, const char *name, char *text, size_t size);

/**
 * io_write_file_at() - Write a string into an existing file under @dir in one write(2)
 * @dir:	Directory fd, or AT_FDCWD
 * @name:	Path relative to @dir; a symlink as its last part is refused
 * @text:	Kernel attribute files take a value in one write, so it is never split
 *
 * Return: 0, or -errno of openat(2) or write(2)
 */
int io_write_file_at(int dir, const char *name, const char *text);

/**
 * io_hold_standard() - Open /dev/null as each of fds 0, 1 and 2 that is closed
 * @flags:	O_RDWR; or O_RDONLY, so that printing to a fd that was closed still fails
 *
 * A program calls this first. Otherwise the next file that it opens gets such a number,
 * and code that uses standard fds, or a child that inherits them, would use that file.
 *
 * Return: 0, or -errno of open(2)
 */
int io_hold_standard(int flags);
