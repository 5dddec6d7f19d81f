/* SPDX-License-Identifier: MIT */
/*
 * config.c - defaults of the user's for options: see config.h
 */
#include <ctype.h>
#include <stdlib.h>

#include "agent/base/file.h"
#include "agent/base/path.h"
#include "agent/cli/config.h"
#include "init/io.h"
#include "init/owner.h"

#define PREFIX "STEPJAIL_"
#define BLANKS " \t"

static int add(struct config *c, struct config_line line, struct err *e)
{
	if (c->count == CONFIG_LINES_MAX)
		return err_say(e, E2BIG, "more than %d defaults of options",
			       CONFIG_LINES_MAX);
	c->lines[c->count++] = line;
	return 0;
}

/* STEPJAIL_STEP_TIME=5s is "step-time"; whether there is such an option is not known here.
 * No value is copied: one is the key */
static int add_variables(struct config *c, struct err *e)
{
	int r = 0;

	for (char **at = environ; r == 0 && *at; at++) {
		const char *equals = strchr(*at, '=');
		struct text name = { 0 };

		if (strncmp(*at, PREFIX, strlen(PREFIX)) != 0 || !equals || !equals[1] ||
		    equals == *at + strlen(PREFIX))
			continue;
		for (const char *k = *at + strlen(PREFIX); k < equals; k++)
			text_printf(&name, "%c",
				    *k == '_' ? '-' : tolower((unsigned char)*k));
		r = add(c, (struct config_line){ name.bytes, equals + 1, *at, 0 }, e);
	}
	return r;
}

static int take_lines(struct config *c, char *rest, struct err *e)
{
	size_t number = 0;
	int r = 0;

	for (char *line; r == 0 && (line = strsep(&rest, "\n"));) {
		char *name = line + strspn(line, BLANKS);
		char *value = name + strcspn(name, BLANKS);
		size_t length = strlen(line);

		number++;
		if (!*name || *line == '#')
			continue;
		while (strchr(BLANKS, line[length - 1]))
			line[--length] = '\0';
		while (*value && strchr(BLANKS, *value))
			*value++ = '\0';
		r = add(c, (struct config_line){ name, value, NULL, number }, e);
	}
	return r;
}

int config_read(const char *asked, struct config *c, struct err *e)
{
	struct text path = { 0 };
	size_t from = 0; /* bytes of it that somebody said */

	if (c->taken)
		return 0;
	c->taken = true;
	c->file.max = CONFIG_BYTES_MAX;
	asked = asked ? asked : getenv(PREFIX "CONFIG");
	if (add_variables(c, e) < 0)
		return -e->errnum;
	if (asked || path_of_user("XDG_CONFIG_HOME", "/.config", &path)) {
		text_puts(&path, asked ? asked : "");
		from = path.length;
		text_puts(&path, asked ? "" : "/stepjail/agent.conf");
	}
	c->path = path.bytes;
	if (!c->path || strcmp(c->path, "none") == 0 ||
	    (!asked && access(c->path, F_OK) < 0))
		return 0; /* none, or one in a folder that is another user's */

	cleanup_fd int fd = file_open(c->path, "--config: ", e);

	/* whoever writes it chooses which programs run, and what goes where */
	if (fd >= 0 &&
	    (owner_way(c->path, from, e) < 0 || owner_check(fd, 022, c->path, e) < 0))
		return err_within(e, "--config: ");
	if (fd < 0 || file_read_fd(fd, c->path, "--config: ", &c->file, e) < 0)
		return -e->errnum;
	if (strcspn(text_string(&c->file), "\r") != c->file.length)
		return err_say(e, EINVAL,
			       "--config: %s holds a carriage return or a NUL byte",
			       c->path);
	return take_lines(c, c->file.bytes, e);
}

int config_within(const struct config *c, const struct config_line *line, struct err *e)
{
	return line->variable ? err_within(e, "%.*s: ", (int)strcspn(line->variable, "="),
					   line->variable)
			      : err_within(e, "%s:%zu: ", c->path, line->number);
}
