/* SPDX-License-Identifier: MIT */
/*
 * io.c - whole reads and writes, files by directory fd: see io.h
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "init/io.h"

void io_close_fd(int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
	errno = saved;
}

void io_free(void *where)
{
	void *memory;

	/* the cleanup attribute hands over the address of a pointer of any type */
	memcpy(&memory, where, sizeof(memory));
	free(memory);
}

int io_write_all(int fd, const void *bytes, size_t length)
{
	const char *at = bytes;

	while (length) {
		ssize_t n = write(fd, at, length);

		if (n >= 0) {
			at += n;
			length -= (size_t)n;
		} else if (errno == EAGAIN) {
			(void)poll(&(struct pollfd){ fd, POLLOUT, 0 }, 1, -1);
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

ssize_t io_read_all(int fd, void *bytes, size_t length)
{
	char *at = bytes;
	size_t got = 0;

	while (got < length) {
		ssize_t n = read(fd, at + got, length - got);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		got += (size_t)n;
	}
	return (ssize_t)got;
}

ssize_t io_read_text(int fd, char *text, size_t size)
{
	ssize_t n = io_read_all(fd, text, size);
	size_t end = n < 0 ? 0 : (size_t)n;

	/* a caller may use what there is, whatever this returns */
	text[end < size ? end : size - 1] = '\0';
	return end < size ? n : -EFBIG;
}

ssize_t io_read_file_at(int dir, const char *name, char *text, size_t size)
{
	cleanup_fd int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	text[0] = '\0';
	return fd < 0 ? -errno : io_read_text(fd, text, size);
}

int io_write_text(int fd, const char *text)
{
	size_t length = strlen(text);
	ssize_t n = write(fd, text, length);

	if (n < 0)
		return -errno;
	return (size_t)n == length ? 0 : -EIO;
}

int io_write_file_at(int dir, const char *name, const char *text)
{
	cleanup_fd int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : io_write_text(fd, text);
}

int io_hold_standard(int flags)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", flags) != fd)
			return -errno;
	return 0;
}
