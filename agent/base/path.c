/* SPDX-License-Identifier: MIT */
/*
 * path.c - paths as users give them: see path.h
 */
#include <stdlib.h>
#include <string.h>
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
