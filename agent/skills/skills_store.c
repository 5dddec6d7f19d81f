/* SPDX-License-Identifier: MIT */
/*
 * skills_store.c - a new function, in its folder and index: see skills_save.h
 *
 * By calls that a confined agent has, below an fd that was opened before: see the rows of
 * CONFINE_CREATE and CONFINE_KEEP in confine_calls.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/skills/skills_save.h"
#include "init/io.h"

#define FILE_BYTES 80

/* whole and on the disk, but under a name that nobody looks at */
static int write_file(struct skills *s, const char *name, const struct text *source,
		      struct err *e)
{
	cleanup_fd int fd =
		openat(s->dir_fd, name,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	int r;

	if (fd < 0)
		return err_set(e, errno, "a new file in its folder");
	r = io_write_all(fd, source->bytes, source->length);
	/* whatever the umask, jails of other users are to read it */
	if (r == 0 && (fchmod(fd, 0644) < 0 || fsync(fd) < 0))
		r = -errno;
	if (r < 0)
		(void)unlinkat(s->dir_fd, name, 0);
	return r < 0 ? err_set(e, -r, "a new file in its folder") : 0;
}

/* one write, for two agents may be here at once */
static int add_line(struct skills *s, const struct text *line, struct err *e)
{
	cleanup_text struct text whole = { 0 };
	struct stat st;
	ssize_t n;

	if (fstat(s->index_fd, &st) < 0 || st.st_nlink == 0)
		return err_say(e, ESTALE, "the index was removed while the task ran");
	text_puts(&whole, s->half ? "\n" : "");
	text_add(&whole, line->bytes, line->length);
	if (whole.failed)
		return err_set(e, whole.failed, "the index");
	n = write(s->index_fd, whole.bytes, whole.length);
	if (n < 0)
		return err_set(e, errno, "the index");
	s->half = (size_t)n != whole.length;
	if (s->half)
		return err_set(e, ENOSPC, "the index");
	return fsync(s->index_fd) < 0 ? err_set(e, errno, "the index") : 0;
}

int skills_store(struct skills *s, const char *name, const struct text *source,
		 const struct text *line, struct err *e)
{
	char own[FILE_BYTES], other[FILE_BYTES];
	uint64_t random = 0;
	int r;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return err_set(e, errno, "getrandom");
	(void)snprintf(own, sizeof(own), "%s.py", name);
	(void)snprintf(other, sizeof(other), ".%016" PRIx64 ".new", random);
	r = write_file(s, other, source, e);
	if (r < 0)
		return r;
	if (renameat2(s->dir_fd, other, s->dir_fd, own, RENAME_NOREPLACE) < 0) {
		r = errno == EEXIST
			    ? err_say(e, EEXIST, "another of that name is saved already")
			    : err_set(e, errno, "its name");
		(void)unlinkat(s->dir_fd, other, 0);
		return r;
	}
	r = add_line(s, line, e);
	if (r < 0)
		(void)unlinkat(s->dir_fd, own, 0);
	else
		(void)fsync(s->dir_fd);
	return r;
}
