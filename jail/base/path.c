/* SPDX-License-Identifier: MIT */
/*
 * path.c - paths that can be opened beneath a root without climbing out of it: see path.h
 */
#include <limits.h>
#include <string.h>

#include "jail/base/path.h"

bool path_is_clean(const char *path)
{
	if (path[0] != '/' || strlen(path) >= PATH_MAX)
		return false;
	if (path[1] == '\0')
		return true;

	for (const char *part = path; *part;) {
		size_t n = strcspn(++part, "/");

		if (n == 0 || n > NAME_MAX || (n == 1 && part[0] == '.') ||
		    (n == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		part += n;
	}
	return true;
}

bool path_is_below(const char *path, const char *top)
{
	size_t n = strlen(top);

	return strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
