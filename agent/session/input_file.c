/* SPDX-License-Identifier: MIT */
/*
 * input_file.c - a file, a folder or a pipe given by --file: see input_file.h
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "agent/base/file.h"
#include "agent/base/folder.h"
#include "agent/base/path.h"
#include "agent/base/units.h"
#include "agent/base/utf8.h"
#include "agent/session/input_file.h"
#include "init/io.h"

/* stepjail splits SRC:DST at its last colon, and a model must be able to type it */
static int check_name(const struct input_file *f, struct err *e)
{
	for (const char *c = f->name; *c; c++)
		if (*c == ':' || (unsigned char)*c < ' ' || *c == 0x7f)
			return err_say(
				e, EINVAL,
				"--file: %s: the name holds a colon or a control character; give it another name",
				f->path);
	if (!utf8_valid(f->name, strlen(f->name)))
		return err_say(e, EINVAL, "--file: %s: the name is not UTF-8", f->path);
	return 0;
}

/* the names that are in it, in order, as far as the head has room */
static int list_folder(int fd, struct input_file *f, struct err *e)
{
	struct dirent **entries = NULL;
	int count = scandirat(fd, ".", &entries, folder_has, alphasort);

	if (count < 0)
		return err_set(e, errno, "--file: %s", f->path);
	f->size_bytes = (uint64_t)count;
	f->whole = true;
	f->head_length = 0;
	for (int i = 0; i < count; i++) {
		size_t room = sizeof(f->head) - f->head_length;
		size_t n = (size_t)snprintf(f->head + f->head_length, room, "%s\n",
					    entries[i]->d_name);

		f->whole = f->whole && n < room;
		f->head_length += f->whole ? n : 0;
		free(entries[i]);
	}
	free(entries);
	return 0;
}

/* its last part, slashes behind it left out */
static int take_name(struct input_file *f, struct err *e)
{
	cleanup_text struct text whole = { 0 };

	path_absolute(f->path, &whole);

	const char *name = path_last(text_string(&whole));

	if (strlen(name) >= sizeof(f->name))
		return err_set(e, ENAMETOOLONG, "--file: %s", f->path);
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return err_say(e, EINVAL, "--file: %s: give the folder by its name",
			       f->path);
	memcpy(f->name, name, strlen(name) + 1);
	return check_name(f, e);
}

int input_file_look_at(int fd, struct input_file *f, struct err *e)
{
	struct stat st;
	ssize_t n = io_read_all(fd, f->head, sizeof(f->head));

	if (check_name(f, e) < 0)
		return -e->errnum;
	if (n < 0)
		return err_set(e, (int)-n, "--file: %s", f->path);
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_set(e, errno, "--file: %s", f->path);
	f->head_length = (size_t)n;
	f->size_bytes = (uint64_t)st.st_size;
	f->whole = (uint64_t)n == f->size_bytes;
	f->binary = memchr(f->head, '\0', (size_t)n) != NULL;
	return 0;
}

int input_file_look(const char *path, struct input_file *f, struct err *e)
{
	struct stat st;
	cleanup_fd int fd = file_look_at(path, "--file: ", &st, e);

	if (fd < 0)
		return fd;
	f->path = path;
	f->folder = S_ISDIR(st.st_mode);

	int r = take_name(f, e);

	if (r < 0)
		return r;
	return f->folder ? list_folder(fd, f, e) : input_file_look_at(fd, f, e);
}

/* ---- of a pipe */

/* the number behind /dev/fd/, or -1 */
static int fd_of(const char *path)
{
	static const char folder[] = "/dev/fd/";
	size_t n = sizeof(folder) - 1;
	uint64_t number;

	if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0)
		return STDIN_FILENO;
	return strncmp(path, folder, n) == 0 &&
			       units_parse_count(path + n, &number) == 0 &&
			       number < 1 << 20
		       ? (int)number
		       : -1;
}

bool input_file_is_stream(const char *path, char *name)
{
	int fd = fd_of(path);
	struct stat st;

	if (fd > STDIN_FILENO)
		(void)snprintf(name, INPUT_FILE_NAME_BYTES, "fd%d", fd);
	else
		(void)snprintf(name, INPUT_FILE_NAME_BYTES, "%s",
			       fd < 0 ? path_last(path) : "stdin");
	return fd >= 0 ||
	       (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

/* a file that nobody else sees; on a disk if there is one, for it may be large */
static int nameless(struct err *e)
{
	const char *folder = getenv("TMPDIR");
	int fd = open(folder && *folder ? folder : "/tmp",
		      O_RDWR | O_TMPFILE | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		fd = memfd_create("stepjail-file", MFD_CLOEXEC);
	return fd < 0 ? err_set(e, errno,
				"--file: make a temporary file for a pipe's bytes")
		      : fd;
}

static int copy(int from, int to, const char *path, uint64_t limit_bytes,
		struct stop *stop, struct err *e)
{
	char piece[65536];
	uint64_t bytes = 0;

	for (;;) {
		ssize_t n;
		int r;

		r = stop_wait(stop, from, POLLIN, UINT64_MAX);
		if (r == -EINTR)
			return err_say(e, EINTR, "stopped by a signal");
		if (r < 0)
			return err_set(e, -r, "--file: %s", path);
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
				       units_say_size(limit_bytes).text);
		r = io_write_all(to, piece, (size_t)n);
		if (r < 0)
			return err_set(
				e, -r,
				"--file: write the bytes of %s to a temporary file",
				path);
	}
}

int input_file_take_stream(const char *path, uint64_t limit_bytes, struct stop *stop,
			   struct err *e)
{
	int number = fd_of(path);
	/* opened anew, a socket or another user's pipe would be refused */
	cleanup_fd int from = number >= 0 ? fcntl(number, F_DUPFD_CLOEXEC, 3)
					  : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	cleanup_fd int to = -1;

	if (from < 0)
		return err_set(e, errno, "--file: %s", path);
	to = nameless(e);
	if (to < 0)
		return to;

	int r = copy(from, to, path, limit_bytes, stop, e);

	if (r == 0 && lseek(to, 0, SEEK_SET) < 0)
		r = err_set(e, errno, "--file: %s", path);
	return r < 0 ? r : io_steal_fd(&to);
}
