/* SPDX-License-Identifier: MIT */
/*
 * cgroup_usage.c - usage of a cgroup leaf, as its files count it: see cgroup_usage.h
 *
 * Kernel: Documentation/admin-guide/cgroup-v2.rst, "Format"
 */
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/watch/cgroup_usage.h"

static int find_held(const struct cgroup *cg, const char *file)
{
	for (size_t i = 0; i < CGROUP_HELD; i++)
		if (strcmp(cgroup_held[i], file) == 0)
			return cg->held[i];
	return -1;
}

ssize_t cgroup_read(const struct cgroup *cg, const char *file, char *text, size_t size)
{
	int fd = find_held(cg, file);

	if (fd < 0)
		return io_read_file_at(cg->leaf, file, text, size);
	return lseek(fd, 0, SEEK_SET) < 0 ? -errno : io_read_text(fd, text, size);
}

int cgroup_count(const struct cgroup *cg)
{
	char text[16384] = "";
	int lines = 0;
	ssize_t n = cgroup_read(cg, "cgroup.procs", text, sizeof(text));

	/* more than fits is still told, as a lower bound */
	if (n == -EFBIG)
		n = sizeof(text);
	if (n < 0)
		return (int)n;
	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

/* A value stands behind its key and a blank ("oom_kill 5"). A peak is alone in its file:
 * its key is empty. */
static const struct row {
	const char *file, *key;
	size_t at; /* in struct cgroup_usage */
} rows[] = {
	{ "memory.peak", "", offsetof(struct cgroup_usage, memory_peak_bytes) },
	{ "pids.peak", "", offsetof(struct cgroup_usage, pids_peak) },
	{ "memory.events", "oom_kill ", offsetof(struct cgroup_usage, oom_kills) },
	{ "memory.events", "oom ", offsetof(struct cgroup_usage, ooms) },
	{ "pids.events", "max ", offsetof(struct cgroup_usage, pids_refused) },
	/* rows of one file stand together, so that the file is read once */
	{ "cpu.stat", "user_usec ", offsetof(struct cgroup_usage, user_us) },
	{ "cpu.stat", "system_usec ", offsetof(struct cgroup_usage, system_us) },
	{ "cpu.stat", "throttled_usec ", offsetof(struct cgroup_usage, throttled_us) },
};
_Static_assert(COUNT(rows) * sizeof(uint64_t) == sizeof(struct cgroup_usage),
	       "a row for each field");

static uint64_t *field(struct cgroup_usage *u, const struct row *row)
{
	return (uint64_t *)(void *)((char *)u + row->at);
}

static uint64_t look_up(const char *key, const char *text)
{
	const char *at = procfs_find(text, key);

	return at && *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : NO_LIMIT;
}

/* Read the rows of the file @only, or of all files for NULL, where NO_LIMIT is the value
 * of rows whose file cannot be read. */
static void read_rows(const struct cgroup *cg, const char *only, struct cgroup_usage *u)
{
	static char text[16384];
	const char *file = "";
	ssize_t n = -1;

	for (size_t i = 0; i < COUNT(rows); i++) {
		if (only && strcmp(rows[i].file, only) != 0)
			continue;
		if (strcmp(rows[i].file, file) != 0) {
			file = rows[i].file;
			n = cgroup_read(cg, file, text, sizeof(text));
		}
		if (n >= 0 || !only)
			*field(u, &rows[i]) =
				n < 0 ? NO_LIMIT : look_up(rows[i].key, text);
	}
}

void cgroup_usage(const struct cgroup *cg, const struct cgroup_usage *before,
		  struct cgroup_usage *u)
{
	struct cgroup_usage start = before ? *before : (struct cgroup_usage){ 0 };

	read_rows(cg, NULL, u);
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t was = *field(&start, &rows[i]), *is = field(u, &rows[i]);

		if (*rows[i].key && was <= *is && *is != NO_LIMIT)
			*is -= was;
	}
}

void cgroup_cpu(const struct cgroup *cg, struct cgroup_usage *u)
{
	read_rows(cg, "cpu.stat", u);
}

uint64_t cgroup_memory(const struct cgroup *cg, uint64_t enough)
{
	/* pages of files other than tmpfs, and caches of the kernel */
	static const char *const keys[] = { "inactive_file ", "active_file ",
					    "slab_reclaimable " };
	static char text[16384];
	uint64_t bytes = 0;

	if (cgroup_read(cg, "memory.current", text, sizeof(text)) >= 0)
		bytes = look_up("", text);
	if (bytes <= enough || cgroup_read(cg, "memory.stat", text, sizeof(text)) < 0)
		return bytes;
	for (size_t i = 0; i < COUNT(keys); i++) {
		uint64_t back = look_up(keys[i], text);

		if (back != NO_LIMIT)
			bytes -= back < bytes ? back : bytes;
	}
	return bytes;
}
