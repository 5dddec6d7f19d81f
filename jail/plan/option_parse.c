/* SPDX-License-Identifier: MIT */
/*
 * option_parse.c - command lines and policy files into a plan: see option.h
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "init/io.h"
#include "jail/plan/option.h"
#include "jail/plan/option_row.h"

#define POLICY_BYTES_MAX 65536

struct parse {
	struct plan *plan;
	uint64_t seen; /* a bit for each row */
	bool policy_seen;
	const char *policy; /* file that is being read, NULL for the command line */
	unsigned int line;
};

static const struct option_row *find_row(const char *name, size_t length)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (strlen(option_rows[i].name) == length &&
		    memcmp(option_rows[i].name, name, length) == 0)
			return &option_rows[i];
	return NULL;
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

/* Begin the error with the option's name, or with the policy file's name and line. */
static int name_error(const struct parse *ps, const char *name, struct err *e)
{
	if (ps->policy)
		return err_within(e, "%s line %u: %s: ", ps->policy, ps->line, name);
	return err_within(e, "--%s: ", name);
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
	return r < 0 ? name_error(ps, row->name, e) : 0;
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
			ps->policy, ps->line);
	line += strspn(line, blanks);
	if (*line == '\0' || *line == '#')
		return 0;

	size_t n = strcspn(line, blanks);
	char *value = line + n + strspn(line + n, blanks);
	const struct option_row *row = find_row(line, n);

	if (!row)
		return err_say(e, EINVAL, "%s line %u: '%.*s' is not an option",
			       ps->policy, ps->line, n > 64 ? 64 : (int)n, line);
	if (*value == '\0' && !row->bare)
		return err_say(e, EINVAL, "%s line %u: %s needs a value: %s", ps->policy,
			       ps->line, row->name, row->arg);
	return set_option(ps, row, *value ? value : row->bare, e);
}

/* the one policy file's text; the plan points into it */
static char text[POLICY_BYTES_MAX];

static int parse_policy(struct parse *ps, const char *path, struct err *e)
{
	if (ps->policy_seen)
		return err_say(e, EEXIST, "--policy: is given twice");
	ps->policy_seen = true;

	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return err_set(e, errno, "--policy: open %s", path);

	ssize_t got = io_read_all(fd, text, POLICY_BYTES_MAX);

	if (got < 0)
		return err_set(e, (int)-got, "--policy: read %s", path);
	if (got == POLICY_BYTES_MAX)
		return err_say(e, EFBIG, "--policy: %s is longer than %d bytes", path,
			       POLICY_BYTES_MAX - 1);
	text[got] = '\0';
	if (memchr(text, '\0', (size_t)got))
		return err_say(e, EINVAL, "--policy: %s holds a NUL byte", path);

	ps->policy = path;
	ps->line = 0;
	for (char *next = text; next;) {
		char *line = strsep(&next, "\n");
		int r;

		ps->line++;
		r = parse_line(ps, line, e);
		if (r < 0)
			return r;
	}
	ps->policy = NULL;
	return 0;
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

static int parse_words(struct parse *ps, char *const **argv, struct err *e)
{
	static const struct option_row policy = { .name = "policy", .arg = "FILE" };

	while (**argv && (**argv)[0] == '-' && strcmp(**argv, "--") != 0) {
		const char *word = **argv, *value = "";
		size_t n = word[1] == '-' ? strcspn(word + 2, "=") : 0;
		bool is_policy = n == 6 && memcmp(word + 2, "policy", 6) == 0;
		const struct option_row *row =
			is_policy ? &policy : find_row(word + 2, n);
		int r;

		if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
			return 1;
		if (!row)
			return err_say(e, EINVAL, "%.64s is not an option: see --help",
				       word);
		r = take_value(argv, n, row, &value, e);
		if (r == 0)
			r = is_policy ? parse_policy(ps, value, e)
				      : set_option(ps, row, value, e);
		if (r < 0)
			return r;
	}
	if (**argv && strcmp(**argv, "--") == 0)
		(*argv)++;
	return 0;
}

int option_parse(struct plan *p, char *const *argv, struct err *e)
{
	struct parse ps = { .plan = p };

	plan_init(p);
	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].is_limit)
			p->limit[option_rows[i].limit] = option_rows[i].initial;

	int r = parse_words(&ps, &argv, e);

	if (r != 0)
		return r;
	p->argv = *argv ? argv : NULL;
	return plan_complete(p, e);
}
