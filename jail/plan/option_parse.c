/* SPDX-License-Identifier: MIT */
/*
 * option_parse.c - defaults, policy file and command line into a plan: see option.h
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "init/io.h"
#include "init/owner.h"
#include "jail/plan/option_row.h"

#define POLICY_BYTES_MAX 65536
#define HOST_DEFAULTS "/etc/stepjail/defaults"

enum file { FILE_HOST, FILE_USER, FILE_POLICY, FILES };

struct parse {
	struct plan *plan;
	uint64_t seen;    /* a bit for each row, in this file or on the command line */
	const char *file; /* that is being read, NULL for the command line */
	unsigned int line;
	size_t home; /* bytes of the path of the user's own file that a variable says */
};

static const struct option_row *find_row(const char *name, size_t length)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (strlen(option_rows[i].name) == length &&
		    memcmp(option_rows[i].name, name, length) == 0)
			return &option_rows[i];
	return NULL;
}

const struct option_group *option_group(const struct option_row *row)
{
	const struct option_group *group = option_groups;

	for (const struct option_row *at = option_rows; at <= row; at++)
		if (group[1].first && strcmp(group[1].first, at->name) == 0)
			group++;
	return group;
}

static int set_limit(const struct option_row *row, struct plan *p, const char *value,
		     struct err *e)
{
	char lo[VALUE_TEXT_MAX], hi[VALUE_TEXT_MAX];
	uint64_t n = NO_LIMIT;

	if (strcmp(value, "unlimited") == 0) {
		if (!row->may_be_unlimited)
			return err_say(e, EINVAL, "cannot be unlimited");
		p->limit[row->limit] = NO_LIMIT;
		return 0;
	}

	int r = value_parse(row->kind, value, &n, e);

	if (r < 0)
		return r;
	if (n < row->min || n > row->max)
		return err_say(e, ERANGE, "'%s' is not between %s and %s", value,
			       value_print(row->kind, row->min, lo),
			       value_print(row->kind, row->max, hi));
	p->limit[row->limit] = n;
	return 0;
}

/* The output of explain must read back the same: refuse values that a policy file would
 * change. */
static bool carried_by_policy(const char *value)
{
	size_t n = strlen(value);

	return n > 0 && !strchr(" \t", value[0]) && !strchr(" \t\r", value[n - 1]) &&
	       !memchr(value, '\n', n);
}

static int set_option(struct parse *ps, const struct option_row *row, const char *value,
		      struct err *e)
{
	uint64_t bit = 1ULL << (row - option_rows);
	int r;

	if ((ps->seen & bit) && !row->repeatable)
		r = err_say(e, EEXIST, "is given twice");
	else if (!carried_by_policy(value))
		r = err_say(
			e, EINVAL,
			"the value is empty, begins or ends with a blank, or holds a newline: no policy file could carry it");
	else if (row->is_limit)
		r = set_limit(row, ps->plan, value, e);
	else
		r = row->set(row, ps->plan, value, e);
	ps->seen |= bit;
	if (r < 0 && ps->file)
		return err_within(e, "%s line %u: %s: ", ps->file, ps->line, row->name);
	return r < 0 ? err_within(e, "--%s: ", row->name) : 0;
}

/* The option that half of the letters make, from the front and from the back; or NULL */
static const struct option_row *find_nearest(const char *name, size_t n)
{
	const struct option_row *best = NULL;
	size_t most = 49;

	for (size_t i = 0; i < option_row_count; i++) {
		const char *at = option_rows[i].name;
		size_t length = strlen(at), least = n < length ? n : length;
		size_t head = 0, tail = 0, percent;

		while (head < least && at[head] == name[head])
			head++;
		while (head + tail < least && at[length - 1 - tail] == name[n - 1 - tail])
			tail++;
		percent = 100 * (head + tail) / (n + length - least);
		if (percent <= most)
			continue;
		most = percent;
		best = &option_rows[i];
	}
	return best;
}

/* @n: length of the name in a file; on the command line, @word has dashes before it */
static int refuse_unknown(const struct parse *ps, const char *word, size_t n,
			  struct err *e)
{
	const char *name = ps->file ? word : word + strspn(word, "-");
	const struct option_row *nearest =
		find_nearest(name, ps->file ? n : strcspn(name, "="));
	char hint[64] = "see --help";

	if (nearest)
		(void)snprintf(hint, sizeof(hint), "did you mean %s%s?",
			       ps->file ? "" : "--", nearest->name);
	return ps->file ? err_say(e, EINVAL, "%s line %u: '%.*s' is not an option: %s",
				  ps->file, ps->line, n > 64 ? 64 : (int)n, word, hint)
			: err_say(e, EINVAL, "%.64s is not an option: %s", word, hint);
}

/* one line of a policy file; its text is cut in place */
static int parse_line(struct parse *ps, char *line, struct err *e)
{
	static const char blanks[] = " \t";

	size_t length = strlen(line);

	if (length && line[length - 1] == '\r')
		return err_say(
			e, EINVAL,
			"%s line %u: ends like a Windows line (CR LF): remove the CRs",
			ps->file, ps->line);
	line += strspn(line, blanks);
	if (*line == '\0' || *line == '#')
		return 0;

	size_t n = strcspn(line, blanks);
	char *value = line + n + strspn(line + n, blanks);
	const struct option_row *row = find_row(line, n);

	if (!row)
		return refuse_unknown(ps, line, n, e);
	if (*value == '\0' && !row->bare)
		return err_say(e, EINVAL, "%s line %u: %s needs a value: %s", ps->file,
			       ps->line, row->name, row->arg);
	return set_option(ps, row, *value ? value : row->bare, e);
}

/* Has this user namespace no number for the owner of a file? See user_namespaces(7):
 * instead, the overflow id is shown */
static bool is_unmapped(uid_t uid)
{
	char text[4096];
	unsigned int first, count;
	ssize_t n = io_read_file_at(AT_FDCWD, "/proc/self/uid_map", text, sizeof(text));

	for (char *next = n > 0 ? text : NULL; next;)
		if (sscanf(strsep(&next, "\n"), "%u %*u %u", &first, &count) == 2 &&
		    uid - first < count)
			return false;
	return n > 0;
}

/* Defaults are the host's and the caller's own: nobody else may have written them. Those
 * of the host may be its root's, who is nobody here; another user's are refused. */
static int check_owner(int fd, const char *path, enum file which, struct err *e)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return err_set(e, errno, "look at %s", path);
	if (!S_ISREG(st.st_mode))
		return err_say(e, EINVAL, "%s is no file: remove it", path);
	if ((st.st_uid != 0 && st.st_uid != geteuid() &&
	     !(which == FILE_HOST && is_unmapped(st.st_uid))) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)))
		return err_say(
			e, EPERM,
			"%s belongs to uid %u, mode %04o: only you and root may be able to write to it (chown, chmod go-w)",
			path, st.st_uid, st.st_mode & 07777);
	return 0;
}

/* A file of options, each of which replaces what an earlier file says. There need be no
 * file of defaults. */
static int parse_file(struct parse *ps, enum file which, const char *path, struct err *e)
{
	/* the plan points into them */
	static char texts[FILES][POLICY_BYTES_MAX];
	char *text = texts[which];
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int r = 0;

	/* HOME may be another user's, whose folder is closed to this one */
	if (fd < 0 && which != FILE_POLICY &&
	    (errno == ENOENT || errno == ENOTDIR ||
	     (errno == EACCES && which == FILE_USER)))
		return 0;
	if (fd < 0)
		return err_set(e, errno, "open %s", path);
	if (which == FILE_USER && (r = owner_way(path, ps->home, e)) < 0)
		return r;
	if (which != FILE_POLICY && (r = check_owner(fd, path, which, e)) < 0)
		return r;

	ssize_t got = io_read_all(fd, text, POLICY_BYTES_MAX);

	if (got < 0)
		return err_set(e, (int)-got, "read %s", path);
	if (got == POLICY_BYTES_MAX)
		return err_say(e, EFBIG, "%s is longer than %d bytes", path,
			       POLICY_BYTES_MAX - 1);
	text[got] = '\0';
	if (memchr(text, '\0', (size_t)got))
		return err_say(e, EINVAL, "%s holds a NUL byte", path);

	ps->file = path;
	ps->line = 0;
	for (char *next = text; r == 0 && next;) {
		char *line = strsep(&next, "\n");

		ps->line++;
		r = parse_line(ps, line, e);
	}
	ps->seen = 0;
	if (r == 0)
		ps->file = NULL;
	return r;
}

static int parse_defaults(struct parse *ps, struct err *e)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	static char path[PATH_MAX]; /* ps->file, where it is wrong */
	int r = parse_file(ps, FILE_HOST, HOST_DEFAULTS, e);

	if (config && config[0] == '/')
		(void)snprintf(path, sizeof(path), "%s/stepjail/defaults", config);
	else if (home && home[0] == '/')
		(void)snprintf(path, sizeof(path), "%s/.config/stepjail/defaults", home);
	ps->home = strlen(config && config[0] == '/' ? config : home ? home : "");
	return r < 0 || !path[0] ? r : parse_file(ps, FILE_USER, path, e);
}

/* The value behind '=' or in the next word; *argv moves past the words that were used. An
 * option that may stand alone takes no next word: if that word looks like the option's
 * value, it is a mistake. */
static int take_value(char *const **argv, size_t name_length,
		      const struct option_row *row, const char **value, struct err *e)
{
	const char *word = **argv, *next = *++*argv;

	if (word[2 + name_length] == '=') {
		*value = word + 2 + name_length + 1;
		return 0;
	}
	if (row->bare) {
		for (int i = 0; next && row->choices[i]; i++)
			if (strcmp(next, row->choices[i]) == 0)
				return err_say(
					e, EINVAL,
					"%s %s: write %s=%s, or -- before a program of that name",
					word, next, word, next);
		*value = row->bare;
		return 0;
	}
	if (!next)
		return err_say(e, EINVAL, "%s needs a value: %s", word, row->arg);
	*value = next;
	(*argv)++;
	return 0;
}

/*
 * Walk the options: for @policy, take the file that --policy names; else all the others.
 * So the command line replaces what the file says, wherever the file is named.
 */
static int parse_words(struct parse *ps, char *const **argv, bool policy, struct err *e)
{
	static const struct option_row policy_row = { .name = "policy", .arg = "FILE" };
	const char *path = NULL;

	while (**argv && (**argv)[0] == '-' && strcmp(**argv, "--") != 0) {
		const char *word = **argv, *value = "";
		size_t n = word[1] == '-' ? strcspn(word + 2, "=") : 0;
		bool is_policy = n == 6 && memcmp(word + 2, "policy", 6) == 0;
		const struct option_row *row =
			is_policy ? &policy_row : find_row(word + 2, n);
		int r;

		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
			return 1;
		if (!row)
			return refuse_unknown(ps, word, n, e);
		r = take_value(argv, n, row, &value, e);
		if (r == 0 && is_policy && policy && path)
			return err_say(e, EEXIST, "--policy: is given twice");
		if (is_policy)
			path = value;
		else if (r == 0 && !policy)
			r = set_option(ps, row, value, e);
		if (r < 0)
			return r;
		if (!policy && !is_policy && option_group(row)->serve)
			ps->plan->serve_option = row->name;
	}
	if (**argv && strcmp(**argv, "--") == 0)
		(*argv)++;

	int r = policy && path ? parse_file(ps, FILE_POLICY, path, e) : 0;

	/* a line of the file is named already */
	return r < 0 && !ps->file ? err_within(e, "--policy: ") : r;
}

int option_parse(struct plan *p, char *const *argv, struct err *e)
{
	struct parse ps = { .plan = p };
	char *const *words = argv;

	plan_init(p);
	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].is_limit)
			p->limit[option_rows[i].limit] = option_rows[i].initial;

	int r = parse_defaults(&ps, e);

	p->allow_always = p->allow_missing;
	if (r == 0)
		r = parse_words(&ps, &words, true, e);
	if (r == 0)
		r = parse_words(&ps, &argv, false, e);
	p->argv = *argv ? argv : NULL;
	return r != 0 ? r : plan_complete(p, e);
}
