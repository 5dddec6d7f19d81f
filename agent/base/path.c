/* SPDX-License-Identifier: MIT */
/*
 * path.c - paths as users give them: see path.h
 */
#include <stdlib.h>
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

bool path_of_user(const char *variable, const char *below, struct text *out)
{
	const char *place = getenv(variable);
	const char *home = getenv("HOME");

	if (place && place[0] == '/')
		text_puts(out, place);
	else if (home && home[0] == '/')
		text_printf(out, "%s%s", home, below);
	return out->length;
}

char *path_of_state(const char *name, struct err *e)
{
	struct text path = { 0 };

	if (!path_of_user("XDG_STATE_HOME", "/.local/state", &path)) {
		(void)err_say(e, ENOENT, "HOME is not set");
		return NULL;
	}
	text_printf(&path, "/stepjail/%s", name);
	for (char *at = path.bytes + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path.bytes, 0700) < 0 && errno != EEXIST) {
			(void)err_set(e, errno, "make the folder %s", path.bytes);
			text_free(&path);
			return NULL;
		}
		*at = '/';
	}
	return path.bytes;
}
