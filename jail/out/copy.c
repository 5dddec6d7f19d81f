/* SPDX-License-Identifier: MIT */
/*
 * copy.c - /work/out, folder by folder, into one of the caller's: see copy.h
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/base/folder.h"
#include "jail/base/json.h"
#include "jail/out/copy.h"

#define COPY_FOLDER "out" /* below /work */
/* a file's name until it is whole; what the jail has of this name is left out */
#define PARTIAL ".stepjail.part"
#define NEW_FILE (O_WRONLY | O_CREAT | O_EXCL)
#define FOLDER (O_RDONLY | O_DIRECTORY)
#define NO_REPLACE 1U /* RENAME_NOREPLACE, which musl does not have */

const struct copy_words copy_words[COPY_LEFT_COUNT] = {
	[COPY_LINK] = { "link", "links" },
	[COPY_SPECIAL] = { "special", "neither files nor folders" },
	[COPY_HIDDEN] = { "hidden",
			  "names that begin with a dot (--out-hidden copies these)" },
	[COPY_NAME] = { "name",
			"names with control or invisible characters, or no UTF-8" },
	[COPY_DEEP] = { "deep", "in more than 16 folders" },
	[COPY_LIMIT] = { "limit", "beyond --out-limit, or 10000 files and folders" },
	[COPY_CLOSED] = { "closed", "closed to reading" },
	[COPY_UNWRITTEN] = { "unwritten", "not written" },
};

/* Characters that are not seen, or move what is: as the agent's --out has them. U+FE0F
 * alone is let through, which emojis have */
static const uint32_t unseen[][2] = {
	{ 0x0000, 0x001f },   { 0x007f, 0x009f },   { 0x00ad, 0x00ad },
	{ 0x034f, 0x034f },   { 0x061c, 0x061c },   { 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x200b, 0x200f },
	{ 0x2028, 0x202e },   { 0x2060, 0x206f },   { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0e },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },   { 0x13430, 0x1345f }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

/* where the walk is */
struct place {
	const struct copy *c;
	struct copied *done;
	int from, to;
	unsigned int depth;
};

bool copy_takes(const char *name)
{
	for (const char *at = name; *at;) {
		uint32_t point = 0;
		int n = json_decode((const unsigned char *)at, strlen(at), &point);

		for (size_t i = 0; i < COUNT(unseen); i++)
			if (point >= unseen[i][0] && point <= unseen[i][1])
				return false;
		if (n == 0)
			return false;
		at += n;
	}
	return strcmp(name, PARTIAL) != 0;
}

/* @name: of one part, so that no link is followed */
static int open_in(int folder, const char *name, int flags)
{
	int fd = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC, 0666);

	return fd < 0 ? -errno : fd;
}

/* @errnum: why the caller's folder did not take it, or 0. Return: 0, or -errno where
 * nothing more can be copied */
static int leave_out(const struct place *at, enum copy_left why, int errnum)
{
	at->done->left[why]++;
	if (!at->done->errnum)
		at->done->errnum = errnum;
	return errnum == ENOSPC || errnum == EDQUOT || errnum == ETIMEDOUT ||
			       errnum == ECANCELED
		       ? -errnum
		       : 0;
}

static int is_over(const struct copy *c)
{
	if (clock_now_ms() >= c->until_ms)
		return ETIMEDOUT;
	return poll(&(struct pollfd){ .fd = c->stop, .events = POLLIN }, 1, 0) ? ECANCELED
									       : 0;
}

/* Return: COPY_LEFT_COUNT where all is copied; with COPY_UNWRITTEN, *errnum says why */
static enum copy_left copy_bytes(const struct place *at, int in, int out, uint64_t *bytes,
				 int *errnum)
{
	static char block[1 << 16];

	for (;;) {
		ssize_t n = read(in, block, sizeof(block));

		if (n <= 0)
			return n < 0 ? COPY_CLOSED : COPY_LEFT_COUNT;
		if ((uint64_t)n > at->c->limit_bytes - at->done->bytes - *bytes)
			return COPY_LIMIT;
		*errnum = is_over(at->c);
		if (!*errnum)
			*errnum = -io_write_all(out, block, (size_t)n);
		if (*errnum)
			return COPY_UNWRITTEN;
		*bytes += (uint64_t)n;
	}
}

int copy_begin(int to)
{
	return open_in(to, PARTIAL, NEW_FILE);
}

/* NFS and others know no such flag; a link replaces nothing, either */
int copy_end(int to, int out, const char *name)
{
	/* some file systems tell only now that there was no room */
	int errnum = close(out) < 0 ? errno : 0;

	if (name && !errnum) {
		if (syscall(SYS_renameat2, to, PARTIAL, to, name, NO_REPLACE) == 0)
			return 0;
		if (errno != EINVAL || linkat(to, PARTIAL, to, name, 0) < 0)
			errnum = errno;
	}
	/* what has its name already may keep the other as well */
	return unlinkat(to, PARTIAL, 0) < 0 && !name && !errnum ? errno : errnum;
}

static int copy_file(const struct place *at, const char *name)
{
	cleanup_fd int in = open_in(at->from, name, O_RDONLY | O_NONBLOCK);
	int out = in < 0 ? in : copy_begin(at->to);
	enum copy_left why;
	uint64_t bytes = 0;
	int errnum = 0, late;

	if (out < 0)
		return in < 0 ? leave_out(at, COPY_CLOSED, 0)
			      : leave_out(at, COPY_UNWRITTEN, -out);
	why = copy_bytes(at, in, out, &bytes, &errnum);
	late = copy_end(at->to, out, why == COPY_LEFT_COUNT ? name : NULL);
	if (why != COPY_LEFT_COUNT || late)
		return leave_out(at, late ? COPY_UNWRITTEN : why, errnum ? errnum : late);
	at->done->files++;
	at->done->bytes += bytes;
	return 0;
}

static enum copy_left wrong_entry(const struct place *at, const char *name,
				  struct stat *st)
{
	const struct copied *done = at->done;

	if (done->files + done->folders == COPY_COUNT_MAX)
		return COPY_LIMIT;
	if (!copy_takes(name))
		return COPY_NAME;
	if (name[0] == '.' && !at->c->hidden)
		return COPY_HIDDEN;
	if (fstatat(at->from, name, st, AT_SYMLINK_NOFOLLOW) < 0)
		return COPY_CLOSED;
	if (S_ISDIR(st->st_mode))
		return at->depth == COPY_DEPTH_MAX ? COPY_DEEP : COPY_LEFT_COUNT;
	if (!S_ISREG(st->st_mode))
		return S_ISLNK(st->st_mode) ? COPY_LINK : COPY_SPECIAL;
	return (uint64_t)st->st_size > at->c->limit_bytes - done->bytes ? COPY_LIMIT
									: COPY_LEFT_COUNT;
}

static int walk(const struct place *at, DIR *list);

static int copy_folder(const struct place *at, const char *name)
{
	cleanup_folder DIR *list = folder_list(open_in(at->from, name, FOLDER));
	cleanup_fd int to = -1;

	if (!list)
		return leave_out(at, COPY_CLOSED, 0);
	to = mkdirat(at->to, name, 0777) < 0 ? -errno : open_in(at->to, name, FOLDER);
	if (to < 0)
		return leave_out(at, COPY_UNWRITTEN, -to);
	at->done->folders++;
	return walk(&(struct place){ at->c, at->done, dirfd(list), to, at->depth + 1 },
		    list);
}

static int walk(const struct place *at, DIR *list)
{
	const char *name;
	int r = 0;

	while (r == 0 && (name = folder_next(list))) {
		struct stat st;
		enum copy_left why = wrong_entry(at, name, &st);
		int over = is_over(at->c);

		if (over || why != COPY_LEFT_COUNT)
			r = leave_out(at, over ? COPY_UNWRITTEN : why, over);
		else if (S_ISDIR(st.st_mode))
			r = copy_folder(at, name);
		else
			r = copy_file(at, name);
	}
	/* the rest of a list that cannot be read on */
	return r == 0 && errno ? leave_out(at, COPY_CLOSED, 0) : r;
}

int copy_try(int to)
{
	int fd = copy_begin(to);

	return fd < 0 ? fd : -copy_end(to, fd, NULL);
}

void copy_run(const struct copy *c, struct copied *done)
{
	cleanup_folder DIR *list = folder_list(open_in(c->work, COPY_FOLDER, FOLDER));
	const struct place top = { c, done, list ? dirfd(list) : -1, c->to, 0 };

	if (list)
		(void)walk(&top, list);
	else if (errno != ENOENT)
		(void)leave_out(&top, errno == ENOTDIR ? COPY_SPECIAL : COPY_CLOSED, 0);
}
