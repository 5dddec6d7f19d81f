/* SPDX-License-Identifier: MIT */
/*
 * path.c - paths as users give them: see path.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/path.h"

void path_absolute(const char *path, struct text *out)
{
	char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

	if (here)
		text_printf(out, "%s/", here);
	text_puts(out, path);
	/* behind a slash, a link would be followed, and the last part be none */
	while (out->length > 1 && out->bytes[out->length - 1] == '/')
		out->bytes[--out->length] = '\0';
	free(here);
}

const char *path_last(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_of_state(const char *name)
{
	const char *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *path = NULL;
	int n = -1;

	/* the XDG base directory specification: a relative one is to be ignored */
	if (state && state[0] == '/')
		n = asprintf(&path, "%s/stepjail/%s", state, name);
	else if (home && home[0] == '/')
		n = asprintf(&path, "%s/.local/state/stepjail/%s", home, name);
	if (n < 0)
		return NULL;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	return path;
}
