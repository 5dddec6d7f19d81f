/* SPDX-License-Identifier: MIT */
/*
 * skills.c - a folder of saved functions, looked through: see skills.h
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/escape.h"
#include "agent/base/path.h"
#include "agent/skills/skills.h"
#include "init/io.h"

#define INDEX_MAX_BYTES ((size_t)8 << 20)
#define SUFFIX ".py"
#define NOTES_MAX ((size_t)16 << 10)

static const struct {
	const char *name;
	const char *words; /* why it is not offered; NULL where there is nothing to say */
} states[] = {
	[SKILL_FITS] = { "fits", NULL },
	[SKILL_CHANGED] = { "changed", "the file is not the one that was saved" },
	[SKILL_UNLISTED] = { "unlisted", "it is not in the index" },
	[SKILL_GONE] = { "gone", NULL },
	[SKILL_UNREADABLE] = { "unreadable",
			       "it is no plain file of at most 64 KiB that can be read" },
};

const char *skill_state_name(enum skill_state s)
{
	return states[s].name;
}

/* the bytes of a plain file below @dir, or -errno; no link is followed */
static ssize_t read_plain(int dir, const char *name, char *bytes, size_t size)
{
	cleanup_fd int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if ((uint64_t)st.st_size > size)
		return -EFBIG;
	return io_read_all(fd, bytes, size);
}

static bool digest_of(int dir, const char *name, char hex[CHAIN_HEX])
{
	char bytes[SKILL_BYTES_MAX];
	ssize_t n = read_plain(dir, name, bytes, sizeof(bytes));

	if (n >= 0)
		chain_digest(bytes, (size_t)n, hex);
	return n >= 0;
}

static int take_file(struct skills *s, const char *name, struct err *e)
{
	size_t length = strlen(name);
	size_t base = length > strlen(SUFFIX) ? length - strlen(SUFFIX) : 0;
	struct skill *one;

	if (name[0] == '.' || strcmp(name, SKILLS_INDEX) == 0)
		return 0;
	if (strcmp(name + base, SUFFIX) != 0 || !skill_name_good(name, base)) {
		s->misfits++;
		text_puts(&s->notes, "skills: ");
		escape_line(&s->notes, name, length);
		text_puts(&s->notes, " has no name that a saved function has\n");
		return 0;
	}
	one = skills_entry(s, name, base);
	if (!one)
		return err_say(e, E2BIG, "more than %d of them", SKILLS_KNOWN_MAX);
	one->state = digest_of(s->dir_fd, name, one->sha256) ? SKILL_UNLISTED
							     : SKILL_UNREADABLE;
	return 0;
}

static int take_files(struct skills *s, struct err *e)
{
	int fd = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int r = 0;

	if (!dir) {
		r = err_set(e, errno, "its files");
		io_close_fd(&fd);
		return r;
	}
	while (r == 0 && (entry = readdir(dir)))
		r = take_file(s, entry->d_name, e);
	(void)closedir(dir);
	return r;
}

static int take_lines(struct skills *s, struct err *e)
{
	char *bytes = malloc(INDEX_MAX_BYTES);
	ssize_t n = bytes ? read_plain(s->dir_fd, SKILLS_INDEX, bytes, INDEX_MAX_BYTES)
			  : -ENOMEM;
	int r = 0;

	if (n == -EINVAL)
		r = err_say(e, EINVAL, SKILLS_INDEX " is no plain file");
	else if (n < 0 && n != -ENOENT)
		r = err_set(e, (int)-n, SKILLS_INDEX);
	else if (n > 0)
		r = skills_take_index(s, bytes, (size_t)n, e);
	free(bytes);
	return r;
}

static int by_line(const void *a, const void *b)
{
	const struct skill *one = a, *other = b;

	if (one->at != other->at)
		return one->at < other->at ? -1 : 1;
	return strcmp(one->name, other->name);
}

int skills_bind(struct skills *s, const char *dir, const char *name, struct err *e)
{
	char **bind = &s->binds[s->bind_count];

	if (s->bind_count == SKILLS_OFFERED_MAX)
		return err_say(e, E2BIG, "--skills: more than %d functions",
			       SKILLS_OFFERED_MAX);
	if (asprintf(bind, "%s/%s" SUFFIX ":" SKILLS_FOLDER "/%s" SUFFIX, dir, name,
		     name) < 0) {
		*bind = NULL;
		return err_set(e, ENOMEM, "--skills");
	}
	s->bind_count++;
	return 0;
}

/* the last of those that fit; and words about the others */
static int offer(struct skills *s, struct err *e)
{
	size_t skip, fit = 0, seen = 0;
	int r = 0;

	if (s->count)
		qsort(s->list, s->count, sizeof(*s->list), by_line);
	for (size_t i = 0; i < s->count; i++)
		fit += s->list[i].state == SKILL_FITS;
	skip = fit > SKILLS_OFFERED_MAX ? fit - SKILLS_OFFERED_MAX : 0;
	if (skip)
		text_printf(
			&s->notes,
			"skills: the last %d of %zu are offered, which is as many as there may be\n",
			SKILLS_OFFERED_MAX, fit);
	for (size_t i = 0; r == 0 && i < s->count; i++) {
		struct skill *one = &s->list[i];
		const char *words = states[one->state].words;

		s->misfits += words != NULL;
		if (words)
			text_printf(&s->notes,
				    "skills: %s" SUFFIX " is not offered: %s\n",
				    one->name, words);
		if (one->state != SKILL_FITS || seen++ < skip)
			continue;
		one->offered = true;
		r = skills_bind(s, text_string(&s->dir), one->name, e);
	}
	return r;
}

static int open_folder(struct skills *s, const char *dir, bool make, struct err *e)
{
	path_absolute(dir, &s->dir);
	/* whatever the umask: jails that root starts reach the files with ids of their
	 * own */
	if (make && (mkdir(dir, 0700) == 0 ? chmod(dir, 0711) : -(errno != EEXIST)) < 0)
		return err_set(e, errno, "it cannot be made");
	s->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (s->dir_fd < 0)
		return err_set(e, errno, "it cannot be opened");
	if (make)
		s->index_fd = openat(s->dir_fd, SKILLS_INDEX,
				     O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
					     O_NONBLOCK | O_CLOEXEC,
				     0600);
	/* one that others keep for reading is of use, too */
	if (make && s->index_fd < 0 && errno != EACCES && errno != EROFS &&
	    errno != EPERM)
		return err_set(e, errno, SKILLS_INDEX);
	if (make && s->index_fd < 0)
		text_printf(&s->notes,
			    "skills: no function will be saved: " SKILLS_INDEX
			    " in %s cannot be written: %s\n",
			    dir, strerror(errno));
	return text_check(&s->dir, "its path", e);
}

int skills_find(struct skills *s, const char *dir, bool make, struct err *e)
{
	int r;

	s->notes.max = NOTES_MAX;
	r = open_folder(s, dir, make, e);
	if (r == 0)
		r = take_files(s, e);
	if (r == 0)
		r = take_lines(s, e);
	if (r == 0)
		r = offer(s, e);
	if (r == 0)
		return 0;
	return err_within(e, make ? "--skills: %s: " : "skills: %s: ", dir);
}

int skills_confine(const struct skills *s, struct confine_policy *p, struct err *e)
{
	if (s->index_fd < 0)
		return 0;
	p->needs |= CONFINE_CREATE | CONFINE_KEEP;
	return confine_add_kept(p, text_string(&s->dir), e);
}

void skills_free(struct skills *s)
{
	io_close_fd(&s->dir_fd);
	io_close_fd(&s->index_fd);
	for (size_t i = 0; i < s->count; i++) {
		text_free(&s->list[i].line);
		cJSON_Delete(s->list[i].told);
	}
	for (size_t i = 0; i < s->bind_count; i++)
		free(s->binds[i]);
	free(s->list);
	text_free(&s->dir);
	text_free(&s->notes);
	*s = SKILLS_NONE;
}
