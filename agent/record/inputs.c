/* SPDX-License-Identifier: MIT */
/*
 * inputs.c - what a run's jails were made with: see inputs.h
 */
#include <string.h>

#include "agent/base/json.h"
#include "agent/base/path.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"

/* so that it means the same in any folder */
static void add_path(cJSON *o, const char *name, const char *path)
{
	cleanup_text struct text whole = { 0 };

	path_absolute(path, &whole);
	record_string(o, name, text_string(&whole), whole.length);
}

static void add_digest(cJSON *o, const char *name, const char *hex, uint64_t bytes)
{
	record_string(o, "name", name, strlen(name));
	(void)cJSON_AddNumberToObject(o, "bytes", (double)bytes);
	(void)cJSON_AddStringToObject(o, "sha256", hex);
}

int inputs_file(cJSON *o, const char *path, const char *name, struct stop *stop,
		struct err *e)
{
	char hex[DIGEST_HEX];
	uint64_t bytes = 0;
	int r = inputs_digest(path, stop, hex, &bytes, e);

	if (r < 0)
		return r;
	add_path(o, "path", path);
	add_digest(o, name, hex, bytes);
	return 0;
}

/* what came by a pipe has no path but its name */
static int add_stream(cJSON *o, const struct input_file *f, int fd, struct stop *stop,
		      struct err *e)
{
	char hex[DIGEST_HEX];
	uint64_t bytes = 0;
	int r = inputs_fd(fd, f->path, stop, hex, &bytes, e);

	if (r < 0)
		return r;
	record_string(o, "path", f->name, strlen(f->name));
	add_digest(o, f->name, hex, bytes);
	(void)cJSON_AddTrueToObject(o, "stream");
	return 0;
}

cJSON *inputs_record(const struct jail_options *o, const struct jail_binds *b,
		     bool stateless, struct stop *stop, struct err *e)
{
	cJSON *given = cJSON_CreateObject();
	cJSON *options, *files;
	size_t streams = 0;
	int r = 0;

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
	for (size_t i = 0; r == 0 && i < o->files.count; i++) {
		const struct input_file *f = &b->files[i];
		cJSON *one = json_append(files);

		r = f->stream ? add_stream(one, f, b->puts[streams++].fd, stop, e)
			      : inputs_file(one, f->path, f->name, stop, e);
	}
	if (r == 0)
		return given;
	cJSON_Delete(given);
	return NULL;
}
