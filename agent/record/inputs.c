/* SPDX-License-Identifier: MIT */
/*
 * inputs.c - what a run's jails were made with: see inputs.h
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/json.h"
#include "agent/base/path.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "init/io.h"

int inputs_digest_of(int fd, char hex[CHAIN_HEX], uint64_t *bytes)
{
	struct sha256_ctx sum;
	char piece[65536];
	ssize_t n;

	*bytes = 0;
	sha256_init(&sum);
	while ((n = pread(fd, piece, sizeof(piece), (off_t)*bytes)) > 0) {
		sha256_update(&sum, (size_t)n, (const uint8_t *)piece);
		*bytes += (uint64_t)n;
	}
	chain_hex(&sum, hex);
	return n < 0 ? -errno : 0;
}

int inputs_digest(const char *path, char hex[CHAIN_HEX], uint64_t *bytes, struct err *e)
{
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "%s", path);
	if (S_ISDIR(st.st_mode)) {
		r = inputs_tree(fd, hex, bytes, e);
		return r < 0 ? err_within(e, "%s: ", path) : 0;
	}
	if (!S_ISREG(st.st_mode))
		return err_say(e, EINVAL, "%s is not a regular file", path);
	r = inputs_digest_of(fd, hex, bytes);
	return r < 0 ? err_set(e, -r, "%s", path) : 0;
}

/* so that it means the same in any folder */
static void add_path(cJSON *o, const char *name, const char *path)
{
	cleanup_text struct text whole = { 0 };

	path_absolute(path, &whole);
	record_string(o, name, text_string(&whole), whole.length);
}

cJSON *inputs_file(const char *path, const char *name, struct err *e)
{
	char hex[CHAIN_HEX];
	uint64_t bytes = 0;
	cJSON *o;

	if (inputs_digest(path, hex, &bytes, e) < 0)
		return NULL;
	o = cJSON_CreateObject();
	add_path(o, "path", path);
	record_string(o, "name", name, strlen(name));
	(void)cJSON_AddNumberToObject(o, "bytes", (double)bytes);
	(void)cJSON_AddStringToObject(o, "sha256", hex);
	return o;
}

/* what came by a pipe has no path but its name */
static cJSON *inputs_stream(const struct input_file *f, int fd, struct err *e)
{
	char hex[CHAIN_HEX];
	uint64_t bytes = 0;
	int r = inputs_digest_of(fd, hex, &bytes);
	cJSON *o;

	if (r < 0) {
		(void)err_set(e, -r, "--file: %s", f->path);
		return NULL;
	}
	o = cJSON_CreateObject();
	record_string(o, "path", f->name, strlen(f->name));
	record_string(o, "name", f->name, strlen(f->name));
	(void)cJSON_AddNumberToObject(o, "bytes", (double)bytes);
	(void)cJSON_AddStringToObject(o, "sha256", hex);
	(void)cJSON_AddTrueToObject(o, "stream");
	return o;
}

cJSON *inputs_record(const struct jail_options *o, const struct jail_binds *b,
		     bool stateless, struct err *e)
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
		cJSON *one = f->stream ? inputs_stream(f, b->puts[streams++].fd, e)
				       : inputs_file(f->path, f->name, e);

		if (!one) {
			cJSON_Delete(given);
			return NULL;
		}
		(void)cJSON_AddItemToArray(files, one);
	}
	return given;
}
