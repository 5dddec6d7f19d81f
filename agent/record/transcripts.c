/* SPDX-License-Identifier: MIT */
/*
 * transcripts.c - the folder of the transcripts that the agent named itself: see
 * transcripts.h
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/file.h"
#include "agent/base/memory.h"
#include "agent/base/path.h"
#include "agent/record/transcripts.h"
#include "init/io.h"

#define ENDING ".jsonl"
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* count the bytes of the files in NAME.shown, where it is a folder, or remove it; 0 or
 * -errno */
static int look_at_shown(int folder, const char *name, bool remove, uint64_t *bytes)
{
	char path[NAME_MAX + sizeof(".shown")];
	const struct dirent *entry;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s.shown", name);

	int fd = openat(folder, path, FOLDER_FLAGS);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	while (dir && (entry = readdir(dir))) {
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    S_ISDIR(st.st_mode))
			continue;
		*bytes += (uint64_t)st.st_size;
		if (remove)
			(void)unlinkat(fd, entry->d_name, 0);
	}
	if (dir)
		(void)closedir(dir);
	else
		io_close_fd(&fd);
	return remove && dir && unlinkat(folder, path, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int is_named(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return length > strlen(ENDING) &&
	       strcmp(entry->d_name + length - strlen(ENDING), ENDING) == 0;
}

static void add(struct transcripts *t, const char *name)
{
	struct transcripts_file *f = &t->files[t->count];
	struct stat st;

	if (fstatat(t->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	*f = (struct transcripts_file){ memory_string(name), (uint64_t)st.st_size,
					st.st_mtim };
	(void)look_at_shown(t->fd, name, false, &f->bytes);
	t->bytes += f->bytes;
	t->count++;
}

static int by_time(const void *a, const void *b)
{
	const struct transcripts_file *one = a, *other = b;

	if (one->written.tv_sec != other->written.tv_sec)
		return one->written.tv_sec > other->written.tv_sec ? -1 : 1;
	if (one->written.tv_nsec != other->written.tv_nsec)
		return one->written.tv_nsec > other->written.tv_nsec ? -1 : 1;
	return strcmp(other->name, one->name);
}

int transcripts_find(struct transcripts *t, const char *folder, struct err *e)
{
	cleanup_free char *path =
		folder ? memory_string(folder) : path_of_state("transcripts/", e);
	struct dirent **entries = NULL;
	int count;

	*t = TRANSCRIPTS_NONE;
	if (!path)
		return err_within(e, "transcripts: ");
	path_absolute(path, &t->path);
	t->fd = open(text_string(&t->path), FOLDER_FLAGS);
	count = t->fd < 0 ? -1 : scandirat(t->fd, ".", &entries, is_named, NULL);
	if (count < 0)
		return err_set(e, errno, "transcripts: the folder %s",
			       text_string(&t->path));
	t->files = memory_zeroed((size_t)count, sizeof(*t->files));
	for (int i = 0; i < count; i++) {
		add(t, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	qsort(t->files, t->count, sizeof(*t->files), by_time);
	return 0;
}

int transcripts_open(const struct transcripts *t, const char *name)
{
	struct stat st;
	cleanup_fd int fd = file_look(t->fd, name, O_NOFOLLOW, &st);

	return S_ISDIR(st.st_mode) ? -EINVAL : io_steal_fd(&fd);
}

int transcripts_open_named(const char *operand, struct err *e)
{
	cleanup_transcripts struct transcripts t = TRANSCRIPTS_NONE;
	cleanup_text struct text name = { 0 };
	struct err unheard;
	int fd = -1;

	if (!strchr(operand, '/') && access(operand, F_OK) < 0 &&
	    transcripts_find(&t, NULL, &unheard) == 0) {
		text_printf(&name, "%s.jsonl", operand);
		fd = transcripts_open(&t, operand);
		fd = fd < 0 ? transcripts_open(&t, text_string(&name)) : fd;
	}
	return fd < 0 ? file_open(operand, "", e) : fd;
}

int transcripts_remove(const struct transcripts *t, const char *name, struct err *e)
{
	cleanup_fd int fd = transcripts_open(t, name);
	uint64_t bytes = 0;
	int r;

	if (fd < 0)
		return err_set(e, -fd, "transcripts: %s", name);
	/* a run holds this as long as it writes */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	r = look_at_shown(t->fd, name, true, &bytes);
	if (r < 0)
		return err_set(e, -r, "transcripts: remove %s.shown", name);
	return unlinkat(t->fd, name, 0) < 0
		       ? err_set(e, errno, "transcripts: remove %s", name)
		       : 1;
}

void transcripts_free(struct transcripts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->files[i].name);
	free(t->files);
	text_free(&t->path);
	io_close_fd(&t->fd);
	*t = TRANSCRIPTS_NONE;
}
