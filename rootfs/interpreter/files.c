/* SPDX-License-Identifier: MIT */
/*
 * files.c - put, get and list files below /work, for the client of a session
 *
 * Theory of operation
 *   The client is outside and the files are the user's code's, which may be running in
 *   another process at this moment. So it is done in here, with a step's rights, by a
 *   process that has run none of that code: whatever a path turns out to be, no wall is
 *   crossed. What is left to mind is to do as asked or not at all. A path is relative to
 *   /work, or begins with it, as code would write it; "." in it is nothing, and ".." is
 *   refused. It is walked part by part, each from the folder before it, and no symbolic
 *   link is followed; only regular files are opened for their bytes, so that no FIFO
 *   keeps anybody waiting. A file that is put appears whole, by rename(2), or not.
 *
 *   The data come and go by a fd whose other end is stepjail's. The end of a put's data
 *   is the file's, unless stepjail has closed the channel by then: then it is dropped.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "rootfs/interpreter/state.h"

#define ROOM "/work"
#define PIECE_BYTES 65536

struct job {
	struct step_file ask;
	char path[STEP_PATH_MAX + 1];
	const char *name; /* last part of the path */
	int folder;       /* that it is in */
	int channel;
	int data;
	uint64_t bytes; /* of data, so far */
};

/* a folder in a folder; @make: where it is missing, make it */
static int step_into(int folder, const char *name, bool make)
{
	const int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(folder, name, flags);

	if (fd < 0 && errno == ENOENT && make) {
		/* another process may have made it meanwhile */
		if (mkdirat(folder, name, 0755) < 0 && errno != EEXIST)
			return -errno;
		fd = openat(folder, name, flags);
	}
	return fd < 0 ? -errno : fd;
}

static bool is_name(const char *part)
{
	return *part && strcmp(part, ".") != 0 && strcmp(part, "..") != 0;
}

/* a path as code may name it, without the folder that files are in; NULL where it is in
 * another one */
static char *inside(char *path)
{
	/* the second is a link to the first, in the trees that have it */
	static const char *const names[] = { ROOM, "/home/user" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t n = strlen(names[i]);

		if (strncmp(path, names[i], n) == 0 &&
		    (path[n] == '/' || path[n] == '\0'))
			return path + n;
	}
	return *path == '/' ? NULL : path;
}

/* put the path's names behind each other, each with its NUL, before anything is made: how
 * many bytes these are, none for the room itself; or -EINVAL */
static ssize_t cut(char *rest, char *names)
{
	const char *begin = names, *part;

	while ((part = strsep(&rest, "/"))) {
		size_t n = strlen(part) + 1;

		if (strcmp(part, "..") == 0)
			return -EINVAL;
		if (!is_name(part))
			continue;
		memmove(names, part, n);
		names += n;
	}
	return names - begin;
}

/* walk down to the folder of the path's last part */
static int walk(struct job *j, size_t length)
{
	bool make = j->ask.op == STEP_FILE_PUT;
	char *path = inside(j->path);

	/* a NUL would end the path where its sender did not mean it to */
	if (!path || memchr(j->path, '\0', length))
		return -EINVAL;

	const char *slash = strrchr(path, '/');
	bool folder = !is_name(slash ? slash + 1 : path); /* by its end */
	ssize_t size = cut(path, j->path);

	if (size < 0 || (folder && j->ask.op != STEP_FILE_LIST))
		return -EINVAL;
	j->name = size ? j->path : ".";
	j->folder = step_into(AT_FDCWD, ROOM, false);
	while (size && j->folder >= 0 && j->name + strlen(j->name) + 1 < j->path + size) {
		int next = step_into(j->folder, j->name, make);

		io_close_fd(&j->folder);
		j->folder = next;
		j->name += strlen(j->name) + 1;
	}
	return j->folder < 0 ? j->folder : 0;
}

/* up to max_bytes from one fd to the other; one byte more is -EFBIG */
static int copy(struct job *j, int from, int to)
{
	static char piece[PIECE_BYTES];

	for (;;) {
		uint64_t room = j->ask.max_bytes - j->bytes;
		/* a full one is told from one that is too long by a byte that is not
		 * kept */
		size_t want = room < sizeof(piece) ? (size_t)room + 1 : sizeof(piece);
		ssize_t n = read(from, piece, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;

		size_t keep = (uint64_t)n > room ? (size_t)room : (size_t)n;
		int r = io_write_all(to, piece, keep);

		if (r < 0)
			return r;
		j->bytes += keep;
		if (keep < (size_t)n)
			return -EFBIG;
	}
}

/* stepjail asked for it and wants it no more */
static bool is_dropped(const struct job *j)
{
	struct pollfd channel = { .fd = j->channel };

	return poll(&channel, 1, 0) != 0;
}

/* a file of no other's name; Return: fd, or -errno */
static int make_temporary(const struct job *j, char *name, size_t size)
{
	for (unsigned int i = 0;; i++) {
		(void)snprintf(name, size, ".put-%d-%u", (int)getpid(), i);
		int fd = openat(j->folder, name,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				0600);
		if (fd >= 0 || errno != EEXIST)
			return fd < 0 ? -errno : fd;
	}
}

static int put(struct job *j)
{
	char name[40];
	cleanup_fd int fd = make_temporary(j, name, sizeof(name));

	if (fd < 0)
		return fd;

	int r = copy(j, j->data, fd);

	if (r == 0 && is_dropped(j))
		r = -ECANCELED;
	if (r == 0 && fchmod(fd, j->ask.mode & 0777) < 0)
		r = -errno;
	if (r == 0 && renameat(j->folder, name, j->folder, j->name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(j->folder, name, 0);
	return r;
}

static int get(struct job *j)
{
	cleanup_fd int fd =
		openat(j->folder, j->name,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat about;

	if (fd < 0 || fstat(fd, &about) < 0)
		return -errno;
	if (S_ISDIR(about.st_mode))
		return -EISDIR;
	if (!S_ISREG(about.st_mode))
		return -EOPNOTSUPP;
	/* none of a file that is too large already; it may still grow meanwhile */
	if ((uint64_t)about.st_size > j->ask.max_bytes)
		return -EFBIG;
	return copy(j, fd, j->data);
}

/* as in ls(1) */
static char kind(mode_t mode)
{
	static const struct {
		mode_t mode;
		char letter;
	} kinds[] = { { S_IFREG, '-' }, { S_IFDIR, 'd' },  { S_IFLNK, 'l' },
		      { S_IFIFO, 'p' }, { S_IFSOCK, 's' }, { S_IFCHR, 'c' },
		      { S_IFBLK, 'b' } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((mode & S_IFMT) == kinds[i].mode)
			return kinds[i].letter;
	return '?';
}

static int list_entry(struct job *j, int folder, const char *name)
{
	char entry[NAME_MAX + 64];
	struct stat about;

	if (fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno; /* removed meanwhile */

	int n = snprintf(entry, sizeof(entry), "%c %jd %jd %s", kind(about.st_mode),
			 (intmax_t)about.st_size, (intmax_t)about.st_mtim.tv_sec, name);

	if (n < 0 || (size_t)n >= sizeof(entry))
		return -ENAMETOOLONG;

	size_t length = (size_t)n + 1; /* its NUL too */

	if (length > j->ask.max_bytes - j->bytes)
		return -EFBIG;
	j->bytes += length;
	return io_write_all(j->data, entry, length);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_entry(const struct dirent *entry)
{
	return is_name(entry->d_name);
}

/* by name, whatever order the folder is kept in */
static int list(struct job *j)
{
	cleanup_fd int fd = openat(j->folder, j->name,
				   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct dirent **entries = NULL;
	int r = fd < 0 ? -1 : scandirat(fd, ".", &entries, is_entry, by_bytes);

	if (r < 0)
		return -errno;

	/* the process ends when it is done: nothing is freed */
	int count = r;

	r = 0;
	for (int i = 0; r == 0 && i < count; i++)
		r = list_entry(j, fd, entries[i]->d_name);
	return r;
}

static int serve(struct job *j, size_t length)
{
	int r = walk(j, length);

	if (r < 0)
		return r;
	switch (j->ask.op) {
	case STEP_FILE_PUT:
		return put(j);
	case STEP_FILE_GET:
		return get(j);
	case STEP_FILE_LIST:
		return list(j);
	default:
		return -EINVAL;
	}
}

_Noreturn void files_serve(int channel, const struct state_mail *m)
{
	static struct job job;
	size_t length = m->length - sizeof(job.ask);

	memcpy(&job.ask, m->payload, sizeof(job.ask));
	memcpy(job.path, m->payload + sizeof(job.ask), length);
	job.channel = channel;
	job.data = m->fds[STEP_FD_DATA];

	int r = serve(&job, length);
	struct step_filed filed = { .errnum = (uint32_t)-r, .bytes = job.bytes };

	/* the data's end comes before the word that it was all */
	(void)close(job.data);
	_exit(wire_send(channel, WIRE_DONE, m->step, &filed, sizeof(filed)) < 0);
}
