/* SPDX-License-Identifier: MIT */
/*
 * pipe_file.c - --file of a pipe: see pipe_file.h
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/path.h"
#include "agent/base/units.h"
#include "agent/session/pipe_file.h"
#include "init/io.h"

#define NAME_BYTES 256

/* the number behind /dev/fd/ and its like, or -1 */
static int fd_of(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };
	uint64_t number;

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0)
		return STDIN_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (strncmp(path, folders[i], strlen(folders[i])) == 0 &&
		    units_parse_count(path + strlen(folders[i]), &number) == 0 &&
		    number < 1 << 20)
			return (int)number;
	return -1;
}

bool pipe_file_is_stream(const char *path, char *name)
{
	int fd = fd_of(path);
	struct stat st;

	if (fd == STDIN_FILENO) {
		(void)snprintf(name, NAME_BYTES, "stdin");
		return true;
	}
	if (fd >= 0) {
		(void)snprintf(name, NAME_BYTES, "fd%d", fd);
		return true;
	}
	(void)snprintf(name, NAME_BYTES, "%s", path_last(path));
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* a file that nobody else sees; on a disk if there is one, for it may be large */
static int nameless(struct err *e)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp",
		      O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("stepjail-file", MFD_CLOEXEC);
	return fd < 0 ? err_set(e, errno, "--file: room for a pipe's bytes") : fd;
}

/* 1 when there is something to read, or its end */
static int wait_for(int fd, struct stop *stop)
{
	struct pollfd p[] = { { .fd = fd, .events = POLLIN },
			      { .fd = stop->fd, .events = POLLIN } };

	for (;;) {
		if (stop_came(stop))
			return -EINTR;
		if (poll(p, 2, -1) > 0 && p[0].revents)
			return 1;
	}
}

static int copy(int from, int to, const char *path, uint64_t limit_bytes,
		struct stop *stop, struct err *e)
{
	char piece[65536];
	uint64_t bytes = 0;
	char size[32];

	for (;;) {
		ssize_t n;
		int r;

		if (wait_for(from, stop) < 0)
			return err_say(e, EINTR, "stopped by a signal");
		n = read(from, piece, sizeof(piece));
		if (n == 0)
			return 0;
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return err_set(e, errno, "--file: %s", path);
		bytes += (uint64_t)n;
		if (bytes > limit_bytes)
			return err_say(e, EFBIG,
				       "--file: %s has more than %s (--file-limit)", path,
				       units_say_size(limit_bytes, size, sizeof(size)));
		r = io_write_all(to, piece, (size_t)n);
		if (r < 0)
			return err_set(e, -r, "--file: room for the bytes of %s", path);
	}
}

int pipe_file_take(const char *path, uint64_t limit_bytes, struct stop *stop,
		   struct err *e)
{
	int number = fd_of(path);
	/* opened anew, a socket or another user's pipe would be refused */
	cleanup_fd int from = number >= 0 ? fcntl(number, F_DUPFD_CLOEXEC, 3)
					  : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cleanup_fd int to = -1;
	int r;

	if (from < 0)
		return err_set(e, errno, "--file: %s", path);
	to = nameless(e);
	if (to < 0)
		return to;
	r = copy(from, to, path, limit_bytes, stop, e);
	if (r == 0 && lseek(to, 0, SEEK_SET) < 0)
		r = err_set(e, errno, "--file: %s", path);
	return r < 0 ? r : io_steal_fd(&to);
}
