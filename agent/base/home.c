/* SPDX-License-Identifier: MIT */
/*
 * home.c - the folder of what outlives a run: see home.h
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/base/home.h"

char *home_state_path(const char *name)
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
