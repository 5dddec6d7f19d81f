/* SPDX-License-Identifier: MIT */
/*
 * transcripts.c - the folder of the transcripts that the agent named itself: see
 * transcripts.h
 */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>

#include "agent/base/file.h"
#include "agent/base/path.h"
#include "agent/record/transcripts.h"
#include "init/io.h"

#define ENDING ".jsonl"
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* count the bytes of the files in NAME.shown, where it is a folder */
static void look_at_shown(int folder, const char *name, uint64_t *bytes)
{
	char path[NAME_MAX + sizeof(".shown")];
	const struct dirent *entry;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s.shown", name);

	int fd = openat(folder, path, FOLDER_FLAGS);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	while (dir && (entry = readdir(dir)))
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISDIR(st.st_mode))
			*bytes += (uint64_t)st.st_size;
	if (dir)
		(void)closedir(dir);
	else
		io_close_fd(&fd);
}

/* @name: its beginning is COMMAND-TIME, so the last one begun is behind all others */
static void add(struct transcripts *t, const char *name)
{
	const char *end = strrchr(name, '.');
	struct stat st;

	if (!end || end == name || strcmp(end, ENDING) != 0 ||
	    fstatat(t->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	t->bytes += (uint64_t)st.st_size;
	look_at_shown(t->fd, name, &t->bytes);
	t->count++;
	if ((strncmp(name, "solve-", 6) != 0 && strncmp(name, "chat-", 5) != 0) ||
	    (t->last.length && strcmp(strchr(name, '-'), strchr(t->last.bytes, '-')) < 0))
		return;
	text_clear(&t->last);
	text_puts(&t->last, name);
}

int transcripts_find(struct transcripts *t, struct err *e)
{
	cleanup_free char *path = path_of_state("transcripts/", e);
	const struct dirent *entry;

	*t = TRANSCRIPTS_NONE;
	if (!path)
		return err_within(e, "transcripts: ");
	path_absolute(path, &t->path);
	t->fd = open(text_string(&t->path), FOLDER_FLAGS);

	DIR *dir = t->fd < 0 ? NULL : fdopendir(dup(t->fd));

	if (!dir)
		return err_set(e, errno, "transcripts: the folder %s",
			       text_string(&t->path));
	while ((entry = readdir(dir)))
		add(t, entry->d_name);
	(void)closedir(dir);
	return 0;
}

static int open_one(const struct transcripts *t, const char *name)
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
	    transcripts_find(&t, &unheard) == 0) {
		text_printf(&name, "%s.jsonl", operand);
		fd = open_one(&t, operand);
		fd = fd < 0 ? open_one(&t, text_string(&name)) : fd;
	}
	return fd < 0 ? file_open(operand, "", e) : fd;
}

void transcripts_free(struct transcripts *t)
{
	text_free(&t->last);
	text_free(&t->path);
	io_close_fd(&t->fd);
}
