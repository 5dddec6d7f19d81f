/* SPDX-License-Identifier: MIT */
/*
 * output_open.c - open the report, the folder of --out and the pipes of captured output
 *
 * The functions of report.h and capture.h, and out_open() of run.h, that run with the
 * caller's rights. They read nothing from a jail. The launcher opens these files before
 * it starts one; report.c and capture.c, which read the program's output and print it,
 * belong to the confined watcher.
 */
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/base/sys.h"
#include "jail/watch/report.h"
#include "jail/watch/run.h"

#define RESERVED_BYTES 32768
#define JSON_ESCAPE_MAX 6   /* \u00xx for one byte */
#define JSON_FIELDS_MAX 512 /* of a stream, without its text */

const char *const capture_names[CAPTURE_STREAMS] = { "stdout", "stderr" };

static bool is_wanted(const struct plan *p, int i)
{
	return p->capture == CAPTURE_BOTH || (p->capture == CAPTURE_STDERR && i == 1);
}

/* a pipe that the program may open again under any id as /dev/stdout, to write */
static int open_pipe(struct capture_stream *s, int *inside, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, errno, "run: make a pipe for the program's output");
	s->outside = ends[0];
	*inside = ends[1];
	if (fchmod(*inside, 0222) < 0 || fcntl(s->outside, F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, errno, "run: set up a pipe for the program's output");
	return 0;
}

static int open_kept(struct capture_stream *s, int *inside, const struct plan *p,
		     struct err *e)
{
	s->half = (size_t)p->limit[LIMIT_OUTPUT_BYTES] / 2;
	s->kept = calloc(3, s->half);
	return s->kept ? open_pipe(s, inside, e)
		       : err_set(e, errno, "--capture: keep --output-limit bytes");
}

/* Where fd @i is a pipe of the caller's. That is opened once more, since O_NONBLOCK on
 * the caller's own fd would be the caller's, too. Who may not, may not read it either. */
static int open_passed(struct capture *c, int i, int stdio[3], struct err *e)
{
	struct capture_stream *s = &c->stream[i];
	struct stat st, first;
	char path[32];

	if (fstat(1 + i, &st) < 0)
		return err_set(e, errno, "run: look at %s", capture_names[i]);
	if (!S_ISFIFO(st.st_mode))
		return 0;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", 1 + i);
	if (i && c->stream[0].to >= 0 && fstat(1, &first) == 0 &&
	    first.st_dev == st.st_dev && first.st_ino == st.st_ino)
		return stdio[2] = fcntl(stdio[1], F_DUPFD_CLOEXEC, 3);
	s->to = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (s->to < 0 && access(path, R_OK) < 0)
		return 0;
	s->next = malloc(CAPTURE_READ);
	if (s->to < 0 || !s->next)
		return err_set(e, errno, "run: open the pipe again that is %s",
			       capture_names[i]);
	return open_pipe(s, &stdio[1 + i], e);
}

int capture_open(struct capture *c, int stdio[3], const struct plan *p, struct err *e)
{
	int r = 0;

	for (int i = 0; i < CAPTURE_STREAMS && r >= 0; i++)
		r = is_wanted(p, i) ? open_kept(&c->stream[i], &stdio[1 + i], p, e)
				    : open_passed(c, i, stdio, e);
	return r < 0 ? r : 0;
}

void capture_end(struct capture *c)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		io_close_fd(&c->stream[i].outside);
}

size_t capture_print_max(const struct plan *p)
{
	size_t all = 0;

	for (int i = 0; i < CAPTURE_STREAMS; i++)
		if (is_wanted(p, i))
			all += JSON_FIELDS_MAX +
			       JSON_ESCAPE_MAX * (size_t)p->limit[LIMIT_OUTPUT_BYTES];
	return all;
}

bool report_is_own_file(int fd, struct stat *st)
{
	return fd >= 0 && fstat(fd, st) == 0 && S_ISREG(st->st_mode) &&
	       !(fcntl(fd, F_GETFL) & O_APPEND);
}

static int open_fd(const char *spec, struct err *e)
{
	char *end;
	long n = strtol(spec, &end, 10);

	if (n < 0 || n > 65535 || *end)
		return err_say(e, EINVAL, "--report: '%s' is no fd's number", spec);
	/* a copy: the jail's stages may place other fds at this number */
	int fd = fcntl((int)n, F_DUPFD_CLOEXEC, 3);

	if (fd < 0)
		return err_say(
			e, EBADF,
			"--report: fd %ld is not open: redirect it, as in %ld>report.json",
			n, n);
	int flags = fcntl(fd, F_GETFL);

	/* musl counts O_PATH to O_ACCMODE, so such an fd does not read as O_RDONLY */
	if ((flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY) {
		(void)close(fd);
		return err_say(e, EBADF, "--report: fd %ld is not open for writing", n);
	}
	if (n > 2)
		(void)fcntl((int)n, F_SETFD, FD_CLOEXEC);
	return fd;
}

static int reserve(int fd, size_t output_max, struct err *e)
{
	off_t bytes = (off_t)(RESERVED_BYTES + output_max);
	struct stat st;

	if (report_is_own_file(fd, &st) &&
	    fallocate(fd, FALLOC_FL_KEEP_SIZE, st.st_size, bytes) < 0 &&
	    errno != EOPNOTSUPP)
		return err_set(e, errno, "--report: reserve %lld bytes",
			       (long long)bytes);
	return 0;
}

static int refuse_link(const char *option, const char *path, struct err *e)
{
	return err_say(
		e, ELOOP,
		"%s: %.200s is a symlink, or behind one, which a jail could have made: give its real path (realpath -m)",
		option, path);
}

/*
 * An earlier jail may have been able to write to the folder. It could have left a
 * symlink, to have another file overwritten, or a FIFO, to have stepjail wait.
 */
static int open_file(const char *spec, struct err *e)
{
	cleanup_fd int fd =
		sys_openat2(AT_FDCWD, spec, O_WRONLY | O_CREAT | O_NOCTTY | O_NONBLOCK,
			    RESOLVE_NO_SYMLINKS);
	struct stat st = { 0 };

	if (fd == -ELOOP)
		return refuse_link("--report", spec, e);
	if (fd < 0 && fd != -ENXIO)
		return err_set(e, -fd, "--report: open %s", spec);
	if (fd >= 0 && fstat(fd, &st) < 0)
		return err_set(e, errno, "--report: look at %s", spec);
	if (!S_ISREG(st.st_mode) && !S_ISCHR(st.st_mode))
		return err_say(
			e, EINVAL,
			"--report: %s is neither a file nor a character device: for a pipe, give an fd",
			spec);
	if (S_ISREG(st.st_mode) && ftruncate(fd, 0) < 0)
		return err_set(e, errno, "--report: truncate %s", spec);
	return io_steal_fd(&fd);
}

/* The number of an fd, given by itself or by a name in /dev, which is a symlink, or by
 * "-", stdout; NULL for other paths */
static const char *find_number(const char *spec)
{
	const char *digits = strncmp(spec, "/dev/fd/", 8) == 0 ? spec + 8 : spec;

	if (strcmp(spec, "/dev/stdout") == 0 || strcmp(spec, "-") == 0)
		return "1";
	if (strcmp(spec, "/dev/stderr") == 0)
		return "2";
	return *digits && !digits[strspn(digits, "0123456789")] ? digits : NULL;
}

int report_open(const char *spec, size_t output_max, int *fd, struct err *e)
{
	const char *number = spec ? find_number(spec) : NULL;
	int r;

	*fd = -1;
	if (!spec)
		return 0;

	cleanup_fd int opened = number ? open_fd(number, e) : open_file(spec, e);

	r = opened < 0 ? opened : reserve(opened, output_max, e);
	if (r == 0)
		*fd = io_steal_fd(&opened);
	return r;
}

static int check_empty(int fd, const char *path, struct err *e)
{
	cleanup_folder DIR *list = folder_list(sys_openat2(fd, ".", O_RDONLY, 0));

	if (list && folder_next(list))
		return err_say(
			e, ENOTEMPTY,
			"--out: %.200s is not empty, and nothing in it would be overwritten: give a new folder",
			path);
	return errno ? err_set(e, errno, "--out: list %.200s", path) : 0;
}

int out_open(const char *path, int *fd, struct err *e)
{
	const uint64_t flags = O_RDONLY | O_DIRECTORY;

	*fd = -1;
	if (!path)
		return 0;

	cleanup_fd int opened = sys_openat2(AT_FDCWD, path, flags, RESOLVE_NO_SYMLINKS);
	int r;

	if (opened == -ENOENT)
		opened = mkdir(path, 0777) < 0 ? -errno
					       : sys_openat2(AT_FDCWD, path, flags,
							     RESOLVE_NO_SYMLINKS);
	if (opened == -ELOOP)
		return refuse_link("--out", path, e);
	if (opened < 0)
		return err_set(e, -opened, "--out: %.200s must be a folder", path);
	r = check_empty(opened, path, e);
	if (r == 0)
		*fd = io_steal_fd(&opened);
	return r;
}
