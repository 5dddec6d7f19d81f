/* SPDX-License-Identifier: MIT */
/*
 * jail_opts.c - the files that a session's jail is given: see jail_opts.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/jail_opts.h"

void jail_path(const char *path, struct text *out)
{
	char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);

	if (here)
		text_printf(out, "%s/", here);
	text_puts(out, path);
	free(here);
}

int jail_binds_more(struct jail_binds *b, const char *path, const char *folder,
		    const char *name, struct err *e)
{
	cleanup_text struct text whole = { 0 };

	if (b->count == OPT_LIST_MAX)
		return err_say(e, E2BIG, "%s: a jail takes at most %d files", path,
			       OPT_LIST_MAX);
	/* the same plan, and so the same digest of it, from whatever folder */
	jail_path(path, &whole);
	if (asprintf(&b->list[b->count], "%s:%s/%s", text_string(&whole), folder, name) <
	    0) {
		b->list[b->count] = NULL;
		return err_set(e, ENOMEM, "%s", path);
	}
	b->count++;
	return 0;
}

int jail_binds_make(const struct opt_list *files, struct jail_binds *b, struct err *e)
{
	b->files = calloc(files->count + 1, sizeof(*b->files));
	if (!b->files)
		return err_set(e, ENOMEM, "--file");
	for (size_t i = 0; i < files->count; i++) {
		int r = prompt_look(files->items[i], &b->files[i], e);

		if (r < 0)
			return r;
		for (size_t k = 0; k < i; k++)
			if (strcmp(b->files[k].name, b->files[i].name) == 0)
				return err_say(e, EEXIST,
					       "--file: two files are called %s; the "
					       "jail's " PROMPT_FOLDER " holds one",
					       b->files[i].name);

		r = jail_binds_more(b, files->items[i], PROMPT_FOLDER, b->files[i].name,
				    e);
		if (r < 0)
			return r;
	}
	return 0;
}

void jail_binds_free(struct jail_binds *b)
{
	for (size_t i = 0; i < OPT_LIST_MAX; i++)
		free(b->list[i]);
	free(b->files);
	*b = (struct jail_binds){ 0 };
}
