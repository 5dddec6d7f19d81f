/* SPDX-License-Identifier: MIT */
/*
 * inputs.c - what a run's jails were made with: see inputs.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/digest.h"
#include "agent/base/file.h"
#include "agent/base/json.h"
#include "agent/base/path.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "init/io.h"

/* of one piece, or of the whole */
static int said(int r, const char *path, struct err *e)
{
	if (r == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return r < 0 ? err_set(e, -r, "%s", path) : 0;
}

int inputs_digest(const char *path, struct stop *stop, char hex[DIGEST_HEX],
		  uint64_t *bytes, struct err *e)
{
	struct stat st;
	cleanup_fd int fd = file_look(AT_FDCWD, path, 0, &st);
	int r;

	if (fd == -EINVAL)
		return err_say(e, EINVAL, "%s is not a regular file", path);
	if (fd < 0)
		return err_set(e, -fd, "%s", path);
	if (!S_ISDIR(st.st_mode))
		return said(digest_fd(fd, stop, hex, bytes), path, e);
	r = inputs_tree(fd, stop, hex, bytes, e);
	return r < 0 && r != -EINTR ? err_within(e, "%s: ", path) : r;
}

/* so that it means the same in any folder */
static void add_path(cJSON *o, const char *name, const char *path)
{
	cleanup_text struct text whole = { 0 };

	path_absolute(path, &whole);
	record_string(o, name, text_string(&whole), whole.length);
}

cJSON *inputs_file(const char *path, const char *name, struct stop *stop, struct err *e)
{
	char hex[DIGEST_HEX];
	uint64_t bytes = 0;
	cJSON *o;

	if (inputs_digest(path, stop, hex, &bytes, e) < 0)
		return NULL;
	o = cJSON_CreateObject();
	add_path(o, "path", path);
	record_string(o, "name", name, strlen(name));
	(void)cJSON_AddNumberToObject(o, "bytes", (double)bytes);
	(void)cJSON_AddStringToObject(o, "sha256", hex);
	return o;
}

/* what came by a pipe has no path but its name */
static cJSON *inputs_stream(const struct input_file *f, int fd, struct stop *stop,
			    struct err *e)
{
	char hex[DIGEST_HEX];
	uint64_t bytes = 0;
	cJSON *o;

	if (said(digest_fd(fd, stop, hex, &bytes), f->path, e) < 0)
		return NULL;
	o = cJSON_CreateObject();
	record_string(o, "path", f->name, strlen(f->name));
	record_string(o, "name", f->name, strlen(f->name));
	(void)cJSON_AddNumberToObject(o, "bytes", (double)bytes);
	(void)cJSON_AddStringToObject(o, "sha256", hex);
	(void)cJSON_AddTrueToObject(o, "stream");
	return o;
}

cJSON *inputs_record(const struct jail_options *o, const struct jail_binds *b,
		     bool stateless, struct stop *stop, struct err *e)
{
	cJSON *given = cJSON_CreateObject();
	cJSON *options, *files;
	size_t streams = 0;

	if (strchr(o->rootfs, '/'))
		add_path(given, "rootfs", o->rootfs);
	else
		record_string(given, "rootfs", o->rootfs, strlen(o->rootfs));
	(void)cJSON_AddNumberToObject(given, "step_ms", (double)o->step_ms);
	(void)cJSON_AddBoolToObject(given, "stateless", stateless);
	if (b->put_count > b->own_puts)
		(void)cJSON_AddTrueToObject(given, "out");
	options = cJSON_AddObjectToObject(given, "options");
	for (size_t i = 0; i + 1 < o->pass.count; i += 2)
		record_string(options, o->pass.items[i], o->pass.items[i + 1],
			      strlen(o->pass.items[i + 1]));
	files = cJSON_AddArrayToObject(given, "files");
	for (size_t i = 0; i < o->files.count; i++) {
		const struct input_file *f = &b->files[i];
		cJSON *one = f->stream ? inputs_stream(f, b->puts[streams++].fd, stop, e)
				       : inputs_file(f->path, f->name, stop, e);

		if (!one) {
			cJSON_Delete(given);
			return NULL;
		}
		(void)cJSON_AddItemToArray(files, one);
	}
	return given;
}
