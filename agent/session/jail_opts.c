/* SPDX-License-Identifier: MIT */
/*
 * jail_opts.c - the files that a session's jail is given: see jail_opts.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/memory.h"
#include "agent/base/path.h"
#include "agent/session/jail_opts.h"
#include "init/io.h"

int jail_binds_more(struct jail_binds *b, const char *path, const char *folder,
		    const char *name, struct err *e)
{
	cleanup_text struct text whole = { 0 };

	if (b->count == OPT_LIST_MAX)
		return err_say(e, E2BIG, "%s: a jail takes at most %d files", path,
			       OPT_LIST_MAX);
	/* the same plan, and so the same digest of it, from whatever folder */
	path_absolute(path, &whole);
	text_printf(&whole, ":%s/%s", folder, name);
	b->list[b->count++] = memory_string(text_string(&whole));
	return 0;
}

static int check_names(const struct jail_binds *b, size_t i, struct err *e)
{
	const struct input_file *f = &b->files[i];

	for (size_t k = 0; k < i; k++)
		if (strcmp(b->files[k].name, f->name) == 0)
			return err_say(
				e, EEXIST,
				"--file: two files are called %s, and the jail's %s can hold only one",
				f->name, f->stream ? INPUT_STREAMS : INPUT_FOLDER);
	return 0;
}

/* of its bytes that are read here */
static int make_put(const char *path, uint64_t limit_bytes, struct stop *stop,
		    struct jail_binds *b, struct input_file *f, struct err *e)
{
	int fd = input_file_take_stream(path, limit_bytes, stop, e);

	if (fd < 0)
		return fd;
	f->stream = true;
	f->path = path;
	b->puts[b->put_count++] = (struct session_file){ fd, f->name };
	b->own_puts = b->put_count;
	if (strcmp(f->name, "in") == 0 || strcmp(f->name, "out") == 0)
		return err_say(e, EEXIST,
			       "--file: %s: the jail has a folder of that name", path);
	return input_file_look_at(fd, f, e);
}

int jail_binds_make(const struct jail_options *o, const bool *streams, struct stop *stop,
		    struct jail_binds *b, struct err *e)
{
	const struct opt_list *files = &o->files;
	int r = 0;

	b->files = memory_zeroed(files->count, sizeof(*b->files));
	for (size_t i = 0; r == 0 && i < files->count; i++) {
		const char *path = files->items[i];
		struct input_file *f = &b->files[i];

		if (input_file_is_stream(path, f->name) || (streams && streams[i])) {
			r = make_put(path, o->file_limit_bytes, stop, b, f, e);
		} else {
			r = input_file_look(path, f, e);
			if (r == 0)
				r = jail_binds_more(b, path, INPUT_FOLDER, f->name, e);
		}
		if (r == 0)
			r = check_names(b, i, e);
	}
	return r;
}

const char *jail_passed(const struct opt_list *pass, const char *name)
{
	for (size_t i = 0; i + 1 < pass->count; i += 2)
		if (strcmp(pass->items[i], name) == 0)
			return pass->items[i + 1];
	return NULL;
}

void jail_binds_free(struct jail_binds *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->list[i]);
	for (size_t i = 0; i < b->own_puts; i++)
		io_close_fd(&b->puts[i].fd);
	free(b->files);
	text_free(&b->stepjail);
	*b = (struct jail_binds){ 0 };
}
