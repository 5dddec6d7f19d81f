/* SPDX-License-Identifier: MIT */
/*
 * inputs.c - what a run's jails were made with: see inputs.h
 */

#include "agent/base/path.h"
#include "agent/record/inputs.h"

void inputs_path(cJSON *o, const char *name, const char *path)
{
	cleanup_text struct text whole = { 0 };

	path_absolute(path, &whole);
	json_add(o, name, &whole);
}

int inputs_file(cJSON *o, const char *path, const char *name, int stream,
		struct stop *stop, struct err *e)
{
	char hex[DIGEST_HEX];
	uint64_t bytes = 0;
	int r = stream < 0 ? inputs_digest(path, stop, hex, &bytes, e)
			   : inputs_fd(stream, path, stop, hex, &bytes, e);

	if (r < 0)
		return r;
	if (stream < 0)
		inputs_path(o, "path", path);
	else
		json_add(o, "path", name);
	json_add(o, "name", name);
	json_add(o, "bytes", bytes);
	json_add(o, "sha256", hex);
	if (stream >= 0)
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
		inputs_path(given, "rootfs", o->rootfs);
	else
		json_add(given, "rootfs", o->rootfs);
	json_add(given, "step_ms", o->step_ms);
	json_add(given, "stateless", stateless);
	if (b->put_count > b->own_puts)
		(void)cJSON_AddTrueToObject(given, "out");
	options = cJSON_AddObjectToObject(given, "options");
	for (size_t i = 0; i + 1 < o->pass.count; i += 2)
		json_add(options, o->pass.items[i], o->pass.items[i + 1]);
	files = cJSON_AddArrayToObject(given, "files");
	for (size_t i = 0; r == 0 && i < o->files.count; i++) {
		const struct input_file *f = &b->files[i];
		int stream = f->stream ? b->puts[streams++].fd : -1;

		r = inputs_file(json_append(files), f->path, f->name, stream, stop, e);
	}
	if (r == 0)
		return given;
	cJSON_Delete(given);
	return NULL;
}
