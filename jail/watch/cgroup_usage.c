/* SPDX-License-Identifier: MIT */
/*
 * cgroup_usage.c - what a leaf has used, as its files count it: see cgroup_usage.h
 *
 * Kernel: Documentation/admin-guide/cgroup-v2.rst, "Format"
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "jail/base/procfs.h"
#include "jail/watch/cgroup_usage.h"

/* a value stands behind its key and a blank ("oom_kill 5"), or, of a peak, alone in its
 * file */
static const struct row {
	const char *file, *key;
	size_t at; /* in struct cgroup_usage */
} rows[] = {
#define ROW(file, key, field)                                                            \
	{                                                                                \
		file, key, offsetof(struct cgroup_usage, field)                          \
	}
	ROW("memory.peak", "", memory_peak_bytes),
	ROW("pids.peak", "", pids_peak),
	ROW("memory.events", "oom_kill ", oom_kills),
	ROW("pids.events", "max ", pids_refused),
	/* those of one file stand together: it is read once */
	ROW("cpu.stat", "user_usec ", user_us),
	ROW("cpu.stat", "system_usec ", system_us),
	ROW("cpu.stat", "throttled_usec ", throttled_us),
#undef ROW
};
#define ROW_COUNT (COUNT(rows))
_Static_assert(ROW_COUNT * sizeof(uint64_t) == sizeof(struct cgroup_usage),
	       "a row for each field");

static uint64_t get(const struct cgroup_usage *u, const struct row *row)
{
	uint64_t n;

	memcpy(&n, (const char *)u + row->at, sizeof(n));
	return n;
}

static void put(struct cgroup_usage *u, const struct row *row, uint64_t n)
{
	memcpy((char *)u + row->at, &n, sizeof(n));
}

static uint64_t look_up(const char *key, const char *text)
{
	const char *at = procfs_find(text, key);

	return at && *at >= '0' && *at <= '9' ? strtoull(at, NULL, 10) : NO_LIMIT;
}

/* rows whose file is @only, or all of them; an unreadable file reads NO_LIMIT in all */
static void read_rows(const struct cgroup *cg, const char *only, struct cgroup_usage *u)
{
	static char text[16384];
	const char *file = "";
	ssize_t n = -1;

	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (only && strcmp(rows[i].file, only) != 0)
			continue;
		if (strcmp(rows[i].file, file) != 0) {
			file = rows[i].file;
			n = cgroup_read(cg, file, text, sizeof(text));
		}
		if (n >= 0 || !only)
			put(u, &rows[i], n < 0 ? NO_LIMIT : look_up(rows[i].key, text));
	}
}

void cgroup_usage(const struct cgroup *cg, const struct cgroup_usage *before,
		  struct cgroup_usage *u)
{
	read_rows(cg, NULL, u);
	for (size_t i = 0; before && i < ROW_COUNT; i++) {
		uint64_t was = get(before, &rows[i]), is = get(u, &rows[i]);

		if (*rows[i].key && was <= is && is != NO_LIMIT)
			put(u, &rows[i], is - was);
	}
}

void cgroup_cpu(const struct cgroup *cg, struct cgroup_usage *u)
{
	read_rows(cg, "cpu.stat", u);
}

uint64_t cgroup_memory(const struct cgroup *cg, uint64_t enough)
{
	/* pages of files, those of tmpfs aside, and caches of the kernel's */
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

bool cgroup_counted(uint64_t count)
{
	return count > 0 && count != NO_LIMIT;
}
