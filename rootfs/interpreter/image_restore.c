/* SPDX-License-Identifier: MIT */
/*
 * image_restore.c - make /work what an image says: see image.h
 *
 * Theory of operation
 *   First everything goes, so that what the step left takes no room from what comes back;
 *   then the image is read from its beginning to its end, and each record is made. A
 *   folder gets its mode and mtime when all that is in it is there. A folder that another
 *   file system is mounted in cannot be removed: it must be one of the image's, or the
 *   files are not what they were.
 *   An image comes from image_write(), and is held by stepjail meanwhile; yet all that it
 *   says is bounded and checked as if it did not.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "init/io.h"
#include "rootfs/interpreter/image.h"

#define PIECE_BYTES 65536

struct restoring {
	struct image_walk walk;
	int fd;
	uint64_t at;
	unsigned char piece[PIECE_BYTES]; /* that was read ahead */
	size_t begin, end;
	unsigned int left;    /* folders that could not be removed */
	unsigned int folders; /* that are open in the image */
};

/* ---- everything goes */

static int remove_entry(void *owner, const char *name, const struct stat *about)
{
	struct restoring *x = owner;
	struct image_level level = { 0 };

	if (S_ISDIR(about->st_mode))
		return image_push(&x->walk, &level, name);
	return unlinkat(x->walk.fd, name, 0) < 0 ? -errno : 0;
}

static int empty(struct restoring *x)
{
	struct image_level level;
	char name[NAME_MAX + 1];
	struct stat about;
	int r = image_each(&x->walk, remove_entry, x);

	while (r == 0 && image_pop(&x->walk, &level, name)) {
		if (!level.entered) {
			r = image_enter(&x->walk, name, &about);
			if (r == 0)
				r = image_each(&x->walk, remove_entry, x);
			continue;
		}
		r = image_leave(&x->walk, &level);
		if (r == 0 && unlinkat(x->walk.fd, name, AT_REMOVEDIR) < 0) {
			if (errno != ENOTEMPTY && errno != EBUSY)
				return -errno;
			x->left++;
		}
	}
	return r;
}

/* ---- the image comes */

/* as many bytes of it as there are at once, at most @most */
static ssize_t look(struct restoring *x, const unsigned char **bytes, uint64_t most)
{
	size_t have;

	if (x->begin == x->end) {
		ssize_t n = pread(x->fd, x->piece, sizeof(x->piece), (off_t)x->at);

		if (n <= 0)
			return n < 0 ? -errno : -EBADMSG;
		x->at += (uint64_t)n;
		x->begin = 0;
		x->end = (size_t)n;
	}
	have = x->end - x->begin;
	if (have > most)
		have = (size_t)most;
	*bytes = x->piece + x->begin;
	x->begin += have;
	return (ssize_t)have;
}

static int take(struct restoring *x, void *into, size_t length)
{
	unsigned char *to = into;

	while (length) {
		const unsigned char *bytes;
		ssize_t n = look(x, &bytes, length);

		if (n < 0)
			return (int)n;
		memcpy(to, bytes, (size_t)n);
		to += n;
		length -= (size_t)n;
	}
	return 0;
}

static int take_name(struct restoring *x, const struct image_record *record, char *name)
{
	int r;

	if (record->name_bytes == 0 || record->name_bytes > NAME_MAX)
		return -EBADMSG;
	r = take(x, name, record->name_bytes);
	if (r < 0)
		return r;
	name[record->name_bytes] = '\0';
	if (strlen(name) != record->name_bytes || strchr(name, '/') ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EBADMSG;
	return 0;
}

static int write_extent(struct restoring *x, int fd, const struct image_extent *extent)
{
	uint64_t left = extent->bytes;
	const unsigned char *bytes;

	if (lseek(fd, (off_t)extent->at, SEEK_SET) < 0)
		return -errno;
	while (left) {
		ssize_t n = look(x, &bytes, left);
		int r = n < 0 ? (int)n : io_write_all(fd, bytes, (size_t)n);

		if (r < 0)
			return r;
		left -= (uint64_t)n;
	}
	return 0;
}

static void mtimes(const struct image_record *record, struct timespec times[2])
{
	times[0] = (struct timespec){ .tv_nsec = UTIME_OMIT };
	times[1].tv_sec = record->mtime_s;
	times[1].tv_nsec = record->mtime_ns;
}

static int put_file(struct restoring *x, const struct image_record *record,
		    const char *name)
{
	cleanup_fd int fd =
		openat(x->walk.fd, name,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct image_extent extent;
	struct timespec times[2];
	uint64_t at = 0;

	if (fd < 0)
		return -errno;
	if (record->bytes > INT64_MAX || ftruncate(fd, (off_t)record->bytes) < 0)
		return record->bytes > INT64_MAX ? -EBADMSG : -errno;
	do {
		int r = take(x, &extent, sizeof(extent));

		if (r == 0 && (extent.at < at || extent.at > record->bytes ||
			       extent.bytes > record->bytes - extent.at))
			r = -EBADMSG;
		if (r == 0)
			r = write_extent(x, fd, &extent);
		if (r < 0)
			return r;
		at = extent.at + extent.bytes;
	} while (extent.bytes);
	mtimes(record, times);
	return fchmod(fd, record->mode) < 0 || futimens(fd, times) < 0 ? -errno : 0;
}

static int put_link(struct restoring *x, const struct image_record *record,
		    const char *name)
{
	char aim[PATH_MAX];
	struct timespec times[2];
	int r = record->bytes < sizeof(aim) ? take(x, aim, (size_t)record->bytes)
					    : -EBADMSG;

	if (r < 0)
		return r;
	aim[record->bytes] = '\0';
	mtimes(record, times);
	if (symlinkat(aim, x->walk.fd, name) < 0 ||
	    utimensat(x->walk.fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

static int put_fifo(struct restoring *x, const struct image_record *record,
		    const char *name)
{
	struct timespec times[2];

	mtimes(record, times);
	if (mknodat(x->walk.fd, name, S_IFIFO | record->mode, 0) < 0 ||
	    fchmodat(x->walk.fd, name, record->mode, 0) < 0 ||
	    utimensat(x->walk.fd, name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 0;
}

static int put_folder(struct restoring *x, const struct image_record *record,
		      const char *name)
{
	struct image_level level;
	char unused[NAME_MAX + 1];
	struct stat about;
	int r;

	if (mkdirat(x->walk.fd, name, 0700) < 0) {
		if (errno != EEXIST)
			return -errno;
		if (x->left == 0)
			return -EBADMSG; /* a name that comes twice */
		x->left--;
	}
	r = image_enter(&x->walk, name, &about);
	if (r < 0)
		return r;
	/* on the stack is what it shall be */
	(void)image_pop(&x->walk, &level, unused);
	level.mode = record->mode;
	level.mtime.tv_sec = record->mtime_s;
	level.mtime.tv_nsec = record->mtime_ns;
	x->folders++;
	return image_push(&x->walk, &level, name);
}

static int finish_folder(int fd, uint32_t mode, struct timespec mtime)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, mtime };

	return futimens(fd, times) < 0 || fchmod(fd, mode) < 0 ? -errno : 0;
}

static int go_up(struct restoring *x)
{
	cleanup_fd int fd = fcntl(x->walk.fd, F_DUPFD_CLOEXEC, 3);
	struct image_level level;
	char name[NAME_MAX + 1];
	int r;

	if (fd < 0 || !image_pop(&x->walk, &level, name))
		return fd < 0 ? -errno : -EBADMSG;
	x->folders--;
	/* a folder that is shut has no way up */
	r = image_leave(&x->walk, &level);
	return r < 0 ? r : finish_folder(fd, level.mode, level.mtime);
}

static int put_entry(struct restoring *x, const struct image_record *record)
{
	char name[NAME_MAX + 1];
	int r = take_name(x, record, name);

	if (r < 0)
		return r;
	switch (record->kind) {
	case IMAGE_FOLDER:
		return put_folder(x, record, name);
	case IMAGE_FILE:
		return put_file(x, record, name);
	case IMAGE_LINK:
		return put_link(x, record, name);
	case IMAGE_FIFO:
		return put_fifo(x, record, name);
	default:
		return -EBADMSG;
	}
}

static int take_record(struct restoring *x, struct image_record *record)
{
	int r = take(x, record, sizeof(*record));

	if (r == 0 && (record->mode & ~01777u || record->mtime_ns >= 1000000000))
		r = -EBADMSG;
	return r;
}

static int put_all(struct restoring *x)
{
	struct image_record top, record;
	int r = take_record(x, &top);

	if (r == 0 && (top.kind != IMAGE_TOP || top.name_bytes))
		r = -EBADMSG;
	while (r == 0) {
		r = take_record(x, &record);
		if (r < 0)
			return r;
		if (record.kind == IMAGE_END)
			break;
		r = record.kind == IMAGE_UP ? go_up(x) : put_entry(x, &record);
	}
	if (r < 0)
		return r;
	if (x->folders || record.name_bytes)
		return -EBADMSG;
	r = finish_folder(x->walk.fd, top.mode,
			  (struct timespec){ top.mtime_s, top.mtime_ns });
	return r == 0 && x->left ? -EBUSY : r;
}

int image_restore(int fd)
{
	static struct restoring x;
	struct stat about;
	int r = image_begin(&x.walk, &about);

	if (r < 0)
		return r;
	x.fd = fd;
	(void)umask(0);
	r = empty(&x);
	if (r == 0)
		r = put_all(&x);
	image_end(&x.walk);
	return r;
}
