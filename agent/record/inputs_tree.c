/* SPDX-License-Identifier: MIT */
/*
 * inputs_tree.c - the digest of a file or a folder of the user's: see inputs.h
 *
 * That of a folder is of lines in the order of names: kind, path, size, and the SHA-256
 * of a file, or where a link points to; no link is followed. Whose a file is, and when it
 * was written, is not in it.
 */
#include <limits.h>
#include <stdlib.h>

#include "agent/base/file.h"
#include "agent/base/folder.h"
#include "agent/record/inputs.h"
#include "init/io.h"

#define DEPTH_MAX 64u

struct tree {
	int (*takes)(const struct dirent *entry);
	struct stop *stop;
	struct sha256_ctx sum;
	uint64_t bytes;
	unsigned int depth;
};

static int add_folder(struct tree *t, int fd, const char *path, struct err *e);

static void add_line(struct tree *t, char kind, const char *path, uint64_t bytes,
		     const char *rest)
{
	cleanup_text struct text line = { 0 };

	text_printf(&line, "%c %" PRIu64 " %s %s", kind, bytes, rest, path);
	/* with the NUL behind it: a name may hold all others */
	sha256_update(&t->sum, line.length + 1, (const uint8_t *)text_string(&line));
}

int inputs_fd(int fd, const char *path, struct stop *stop, char hex[DIGEST_HEX],
	      uint64_t *bytes, struct err *e)
{
	int r = digest_fd(fd, stop, hex, bytes);

	if (r == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return r < 0 ? err_set(e, -r, "%s", path) : 0;
}

static int add_link(struct tree *t, int folder, const char *name, const char *path,
		    struct err *e)
{
	char to[PATH_MAX + 1];
	ssize_t n = readlinkat(folder, name, to, sizeof(to) - 1);

	if (n < 0)
		return err_set(e, errno, "%s", path);
	to[n] = '\0';
	add_line(t, 'l', path, (uint64_t)n, to);
	return 0;
}

static int add_file(struct tree *t, int fd, const char *path, struct err *e)
{
	char hex[DIGEST_HEX];
	uint64_t bytes = 0;
	int r = inputs_fd(fd, path, t->stop, hex, &bytes, e);

	if (r < 0)
		return r;
	add_line(t, '-', path, bytes, hex);
	t->bytes += bytes;
	return 0;
}

static int add_entry(struct tree *t, int folder, const char *name, const char *path,
		     struct err *e)
{
	struct stat st;
	cleanup_fd int fd = file_look(folder, name, O_NOFOLLOW, &st);

	if (fd == -EINVAL && S_ISLNK(st.st_mode))
		return add_link(t, folder, name, path, e);
	if (fd == -EINVAL) {
		add_line(t, '?', path, 0, "");
		return 0;
	}
	if (fd < 0)
		return err_set(e, -fd, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return add_file(t, fd, path, e);
	add_line(t, 'd', path, 0, "");
	return add_folder(t, fd, path, e);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_folder(struct tree *t, int fd, const char *path, struct err *e)
{
	struct dirent **entries = NULL;
	int count = scandirat(fd, ".", &entries, t->takes, by_bytes);
	int r = 0;

	if (count < 0)
		return err_set(e, errno, "%s", path);
	if (++t->depth > DEPTH_MAX)
		r = err_say(e, ELOOP, "%s: folders are nested too deep", path);
	for (int i = 0; i < count; i++) {
		cleanup_text struct text whole = { 0 };

		text_printf(&whole, "%s/%s", path, entries[i]->d_name);
		if (r == 0 && t->stop && stop_came(t->stop))
			r = err_say(e, EINTR, "stopped by a signal");
		if (r == 0)
			r = add_entry(t, fd, entries[i]->d_name, text_string(&whole), e);
		free(entries[i]);
	}
	free(entries);
	t->depth--;
	return r;
}

static int is_module(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > 3 && strcmp(entry->d_name + length - 3, ".py") == 0;
}

static int add_all(struct tree *t, int fd, char hex[DIGEST_HEX], struct err *e)
{
	sha256_init(&t->sum);

	int r = add_folder(t, fd, ".", e);

	digest_hex(&t->sum, hex);
	return r;
}

int inputs_modules(int fd, struct stop *stop, char hex[DIGEST_HEX], struct err *e)
{
	struct tree modules = { .takes = is_module, .stop = stop };

	return add_all(&modules, fd, hex, e);
}

int inputs_digest(const char *path, struct stop *stop, char hex[DIGEST_HEX],
		  uint64_t *bytes, struct err *e)
{
	struct tree all = { .takes = folder_has, .stop = stop };
	struct stat st;
	cleanup_fd int fd = file_look_at(path, "", &st, e);

	if (fd < 0)
		return fd;
	if (!S_ISDIR(st.st_mode))
		return inputs_fd(fd, path, stop, hex, bytes, e);

	int r = add_all(&all, fd, hex, e);

	*bytes = all.bytes;
	return r < 0 && r != -EINTR ? err_within(e, "%s: ", path) : r;
}
