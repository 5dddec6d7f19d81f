/* SPDX-License-Identifier: MIT */
/*
 * input_file.c - a file or folder given by --file: see input_file.h
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/file.h"
#include "agent/base/utf8.h"
#include "agent/session/input_file.h"
#include "init/io.h"

/* the names that are in it, in order, as far as the head has room */
static int list_folder(int fd, struct input_file *f, struct err *e)
{
	struct dirent **entries = NULL;
	int count = scandirat(fd, ".", &entries, NULL, alphasort);

	if (count < 0)
		return err_set(e, errno, "--file: %s", f->path);
	f->whole = true;
	f->head_length = 0;
	f->size_bytes = 0;
	for (int i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		size_t length = strlen(name);

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0) {
			f->size_bytes++;
			f->whole = f->whole && f->head_length + length < sizeof(f->head);
			if (f->whole) {
				memcpy(f->head + f->head_length, name, length);
				f->head_length += length;
				f->head[f->head_length++] = '\n';
			}
		}
		free(entries[i]);
	}
	free(entries);
	return 0;
}

/* stepjail splits SRC:DST at its last colon, and a model must be able to type it */
static int check_name(const char *path, const char *name, struct err *e)
{
	for (const char *c = name; *c; c++)
		if (*c == ':' || (unsigned char)*c < ' ' || *c == 0x7f)
			return err_say(
				e, EINVAL,
				"--file: %s: the name holds a colon or a control character; give it another name",
				path);
	if (!utf8_valid(name, strlen(name)))
		return err_say(e, EINVAL, "--file: %s: the name is not UTF-8", path);
	return 0;
}

/* its last part, slashes behind it left out */
static int take_name(const char *path, struct input_file *f, struct err *e)
{
	size_t end = strlen(path);
	size_t start;

	while (end && path[end - 1] == '/')
		end--;
	start = end;
	while (start && path[start - 1] != '/')
		start--;
	if (end - start >= sizeof(f->name))
		return err_set(e, ENAMETOOLONG, "--file: %s", path);
	memcpy(f->name, path + start, end - start);
	f->name[end - start] = '\0';
	if (!f->name[0] || strcmp(f->name, ".") == 0 || strcmp(f->name, "..") == 0)
		return err_say(e, EINVAL, "--file: %s: write the folder by its name",
			       path);
	return 0;
}

int input_file_look_at(int fd, struct input_file *f, struct err *e)
{
	struct stat st;
	ssize_t n = io_read_all(fd, f->head, sizeof(f->head));

	if (check_name(f->path, f->name, e) < 0)
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
	cleanup_fd int fd = file_look(AT_FDCWD, path, 0, &st);
	int r;

	if (fd == -EINVAL)
		return err_say(e, EINVAL, "--file: %s is not a regular file", path);
	if (fd < 0)
		return err_set(e, -fd, "--file: %s", path);
	f->path = path;
	f->folder = S_ISDIR(st.st_mode);
	r = take_name(path, f, e);
	if (r == 0)
		r = check_name(path, f->name, e);
	if (r < 0)
		return r;
	return f->folder ? list_folder(fd, f, e) : input_file_look_at(fd, f, e);
}
