/* SPDX-License-Identifier: MIT */
/*
 * image_write.c - make an image of /work, or compare it with one: see image.h
 *
 * Theory of operation
 *   Both are one walk that gives out the same bytes. They go to the memfd through a
 *   window of it that is mapped: write(2) to a memfd would be bound by --file-size, which
 *   is no limit of an image. Or they are held against it, up to the first that differs.
 *   All contents are read for that: a file that is mapped can be written to without any
 *   of its times telling of it.
 *   Where a mode keeps its owner out, it is opened and the mode put back.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "init/io.h"
#include "rootfs/interpreter/image.h"

#define WINDOW_BYTES ((uint64_t)4 << 20)
#define PIECE_BYTES 65536

struct writing {
	struct image_walk walk;
	int fd;
	bool compare;
	uint64_t at, end; /* of the image */
	unsigned char *window;
	uint64_t window_at;
};

static int move_window(struct writing *w)
{
	int protection = w->compare ? PROT_READ : PROT_READ | PROT_WRITE;
	void *window;

	if (w->window && w->at < w->window_at + WINDOW_BYTES)
		return 0;
	if (w->window)
		(void)munmap(w->window, WINDOW_BYTES);
	w->window_at = w->at - w->at % WINDOW_BYTES;
	window = mmap(NULL, WINDOW_BYTES, protection,
		      w->compare ? MAP_PRIVATE : MAP_SHARED, w->fd, (off_t)w->window_at);
	w->window = window == MAP_FAILED ? NULL : window;
	return w->window ? 0 : -errno;
}

static int emit(struct writing *w, const void *from, size_t length)
{
	const unsigned char *bytes = from;

	if (length > w->end - w->at)
		return w->compare ? -ESTALE : -EFBIG;
	while (length) {
		int r = move_window(w);
		size_t in = (size_t)(w->at % WINDOW_BYTES);
		size_t n = length < WINDOW_BYTES - in ? length : WINDOW_BYTES - in;

		if (r < 0)
			return r;
		if (!w->compare)
			memcpy(w->window + in, bytes, n);
		else if (memcmp(w->window + in, bytes, n) != 0)
			return -ESTALE;
		w->at += n;
		bytes += n;
		length -= n;
	}
	return 0;
}

static int emit_record(struct writing *w, enum image_kind kind, const char *name,
		       const struct stat *about, uint64_t bytes)
{
	struct image_record record = {
		.kind = kind,
		.name_bytes = (uint32_t)strlen(name),
		.mode = about->st_mode & 01777,
		.mtime_ns = (uint32_t)about->st_mtim.tv_nsec,
		.mtime_s = about->st_mtim.tv_sec,
		.bytes = bytes,
	};
	int r = emit(w, &record, sizeof(record));

	return r < 0 ? r : emit(w, name, record.name_bytes);
}

static int emit_extent(struct writing *w, int fd, uint64_t at, uint64_t bytes)
{
	static unsigned char piece[PIECE_BYTES];
	struct image_extent extent = { at, bytes };
	int r = emit(w, &extent, sizeof(extent));

	while (r == 0 && bytes) {
		size_t want = bytes < sizeof(piece) ? (size_t)bytes : sizeof(piece);
		ssize_t n = pread(fd, piece, want, (off_t)at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		r = emit(w, piece, (size_t)n);
		at += (uint64_t)n;
		bytes -= (uint64_t)n;
	}
	return r;
}

/* what is no hole; see lseek(2) */
static int emit_data(struct writing *w, int fd, uint64_t size)
{
	uint64_t at = 0;
	int r = 0;

	while (r == 0 && at < size) {
		off_t data = lseek(fd, (off_t)at, SEEK_DATA);
		off_t hole = data < 0 ? -1 : lseek(fd, data, SEEK_HOLE);

		if (data < 0 && errno == ENXIO)
			break;
		if (hole <= data)
			return hole < 0 ? -errno : -EIO;
		r = emit_extent(w, fd, (uint64_t)data, (uint64_t)(hole - data));
		at = (uint64_t)hole;
	}
	return r < 0 ? r : emit_extent(w, fd, size, 0);
}

static int open_file(int folder, const char *name, const struct stat *about)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	mode_t mode = about->st_mode & 01777;
	bool shut = !(mode & S_IRUSR);
	cleanup_fd int fd = -1;
	struct stat now;

	if (shut && fchmodat(folder, name, mode | S_IRUSR, 0) < 0)
		return -errno;
	fd = openat(folder, name, flags);
	if (fd < 0 || (shut && fchmod(fd, mode) < 0) || fstat(fd, &now) < 0)
		return -errno;
	return now.st_ino == about->st_ino ? io_steal_fd(&fd) : -ESTALE;
}

static int emit_file(struct writing *w, const char *name, const struct stat *about)
{
	cleanup_fd int fd = open_file(w->walk.fd, name, about);
	int r = fd < 0 ? fd
		       : emit_record(w, IMAGE_FILE, name, about,
				     (uint64_t)about->st_size);

	return r < 0 ? r : emit_data(w, fd, (uint64_t)about->st_size);
}

static int emit_link(struct writing *w, const char *name, const struct stat *about)
{
	char aim[PATH_MAX];
	ssize_t n = readlinkat(w->walk.fd, name, aim, sizeof(aim));
	int r = n < 0 ? -errno : emit_record(w, IMAGE_LINK, name, about, (uint64_t)n);

	return r < 0 ? r : emit(w, aim, (size_t)n);
}

static int emit_entry(void *owner, const char *name, const struct stat *about)
{
	struct writing *w = owner;
	struct image_level level = { 0 };

	switch (about->st_mode & S_IFMT) {
	case S_IFDIR:
		return image_push(&w->walk, &level, name);
	case S_IFREG:
		return emit_file(w, name, about);
	case S_IFLNK:
		return emit_link(w, name, about);
	case S_IFIFO:
		return emit_record(w, IMAGE_FIFO, name, about, 0);
	default:
		return 0;
	}
}

static int put_mode_back(int fd, uint32_t mode)
{
	return (mode & S_IRWXU) == S_IRWXU || fchmod(fd, mode) == 0 ? 0 : -errno;
}

/* a level of the stack: into the folder, or up and out of it */
static int step_on(struct writing *w, const struct image_level *level, const char *name)
{
	static const struct stat none;
	struct stat about;
	int r;

	if (!level->entered) {
		r = image_enter(&w->walk, name, &about);
		if (r == 0)
			r = emit_record(w, IMAGE_FOLDER, name, &about, 0);
		return r < 0 ? r : image_each(&w->walk, emit_entry, w);
	}
	/* a mode is put back last: a folder that is shut has no way up */
	cleanup_fd int fd = fcntl(w->walk.fd, F_DUPFD_CLOEXEC, 3);

	r = fd < 0 ? -errno : image_leave(&w->walk, level);
	if (r == 0)
		r = put_mode_back(fd, level->mode);
	return r < 0 ? r : emit_record(w, IMAGE_UP, "", &none, 0);
}

/* what an error left open: every folder on the way up gets its mode again */
static void go_up(struct writing *w)
{
	struct image_level level;
	char name[NAME_MAX + 1];

	while (image_pop(&w->walk, &level, name)) {
		cleanup_fd int fd = -1;

		if (!level.entered)
			continue;
		fd = fcntl(w->walk.fd, F_DUPFD_CLOEXEC, 3);
		if (image_leave(&w->walk, &level) < 0)
			return;
		(void)put_mode_back(fd, level.mode);
	}
}

int image_write(int fd, bool compare, uint64_t *bytes)
{
	static const struct stat none;
	struct writing w = { .fd = fd, .compare = compare };
	struct image_level level;
	char name[NAME_MAX + 1];
	struct stat image, top;
	int r = fstat(fd, &image) < 0 ? -errno : image_begin(&w.walk, &top);

	if (r < 0)
		return r;
	w.end = (uint64_t)image.st_size;
	r = emit_record(&w, IMAGE_TOP, "", &top, 0);
	if (r == 0)
		r = image_each(&w.walk, emit_entry, &w);
	while (r == 0 && image_pop(&w.walk, &level, name))
		r = step_on(&w, &level, name);
	if (r == 0)
		r = emit_record(&w, IMAGE_END, "", &none, 0);
	if (r == 0 && compare && w.at != w.end)
		r = -ESTALE;
	go_up(&w);
	(void)put_mode_back(w.walk.fd, top.st_mode & 01777);
	image_end(&w.walk);
	*bytes = w.at;
	return r;
}
