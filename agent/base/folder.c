/* SPDX-License-Identifier: MIT */
/*
 * folder.c - a folder of the user's that new files may be made in: see folder.h
 */
#include <stdio.h>

#include "agent/base/file.h"
#include "agent/base/folder.h"
#include "agent/base/path.h"
#include "init/io.h"

#define ENTER (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

int folder_has(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int check_empty(const char *path, const char *option, struct err *e)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	int r = 0;

	if (!dir)
		return err_set(e, errno, "%s: %s", option, path);
	while (r == 0 && (entry = readdir(dir)))
		if (folder_has(entry))
			r = err_say(
				e, ENOTEMPTY,
				"%s: %s is not empty, and no file in it would be overwritten; give a new folder",
				option, path);
	(void)closedir(dir);
	return r;
}

int folder_open(struct folder *f, const char *path, const char *option, bool fresh,
		struct err *e)
{
	struct stat st;

	*f = FOLDER_NONE;
	path_absolute(path, &f->path);
	path = text_string(&f->path);
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_set(e, errno, "%s: make the folder %s%s", option, path,
			       errno == ENOENT ? " in a folder that is not there" : "");
	f->fd = open(path, ENTER);
	if (f->fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return err_say(
			e, ENOTDIR,
			"%s: %s exists, and is not a folder (links are not followed)",
			option, path);
	if (f->fd < 0 || faccessat(f->fd, ".", W_OK | X_OK, AT_EACCESS) < 0 ||
	    fstat(f->fd, &st) < 0)
		return err_set(e, errno, "%s: %s", option, path);
	/* root's rights are given up before anything is written */
	if (geteuid() == 0 && st.st_uid != 0 &&
	    !(st.st_mode & (st.st_gid == getegid() ? S_IWGRP : S_IWOTH)))
		return err_set(e, EACCES, "%s: %s belongs to uid %u%s", option, path,
			       st.st_uid, FILE_LACKS);
	return fresh ? check_empty(path, option, e) : 0;
}

int folder_enter(int folder, const char *name)
{
	if (mkdirat(folder, name, 0777) < 0 && errno != EEXIST)
		return -errno;

	int fd = openat(folder, name, ENTER);

	return fd < 0 ? -errno : fd;
}

int folder_make(int folder, const char *name, mode_t mode)
{
	int fd = openat(folder, name,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	return fd < 0 ? -errno : fd;
}

int folder_begin(struct folder_file *f, int folder, mode_t mode)
{
	char nonce[SECRET_NONCE_HEX];
	struct err e;
	int r = secret_nonce(nonce, &e);

	*f = (struct folder_file){ .folder = folder, .fd = -1 };
	if (r < 0)
		return r;
	(void)snprintf(f->name, sizeof(f->name), ".stepjail-%s.part", nonce);
	f->fd = folder_make(folder, f->name, mode);
	return f->fd < 0 ? f->fd : 0;
}

/* the name, if nobody has it */
static int give_name(const struct folder_file *f, const char *name)
{
	if (renameat2(f->folder, f->name, f->folder, name, RENAME_NOREPLACE) == 0)
		return 0;
	/* NFS and others know no such flag; a link replaces nothing, either */
	if (errno != EINVAL || linkat(f->folder, f->name, f->folder, name, 0) < 0)
		return -errno;
	(void)unlinkat(f->folder, f->name, 0);
	return 0;
}

int folder_keep(struct folder_file *f, const char *name)
{
	/* some file systems tell only now that there was no room */
	int r = close(io_steal_fd(&f->fd)) < 0 ? -errno : 0;

	if (r == 0)
		r = give_name(f, name);
	if (r < 0)
		(void)unlinkat(f->folder, f->name, 0);
	return r;
}

void folder_drop(struct folder_file *f)
{
	if (f->fd >= 0)
		(void)unlinkat(f->folder, f->name, 0);
	io_close_fd(&f->fd);
}

void folder_close(struct folder *f)
{
	io_close_fd(&f->fd);
	text_free(&f->path);
}
