/* SPDX-License-Identifier: MIT */
/*
 * cgroup_usage.c - what a leaf has used, as its files count it: see cgroup_usage.h
 *
 * Kernel: Documentation/admin-guide/cgroup-v2.rst, "Format"; accounting/psi.rst
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup_usage.h"
#include "jail/base/json.h"
#include "jail/plan/plan.h"

/*
 * A value stands alone in its file (no key), behind its key ("oom_kill 5"), or behind
 * "key=" in a line of several. Such lines are summed up, or @line names the one.
 */
static const struct row {
	const char *file, *line, *key;
	size_t at; /* in struct cgroup_usage */
	bool peak; /* not a count that only grows */
} rows[] = {
#define ROW(file, line, key, field)                                                      \
	{                                                                                \
		file, line, key, offsetof(struct cgroup_usage, field), false             \
	}
	/* those of one file stand together: it is read once */
	{ "memory.peak", "", "", offsetof(struct cgroup_usage, memory_peak_bytes), true },
	{ "pids.peak", "", "", offsetof(struct cgroup_usage, pids_peak), true },
	ROW("memory.events", "", "low", low),
	ROW("memory.events", "", "high", high),
	ROW("memory.events", "", "max", max),
	ROW("memory.events", "", "oom", oom),
	ROW("memory.events", "", "oom_kill", oom_kills),
	ROW("memory.events", "", "oom_group_kill", oom_group_kills),
	ROW("pids.events", "", "max", pids_refused),
	ROW("cpu.stat", "", "usage_usec", cpu_us),
	ROW("cpu.stat", "", "user_usec", user_us),
	ROW("cpu.stat", "", "system_usec", system_us),
	ROW("cpu.stat", "", "nr_periods", periods),
	ROW("cpu.stat", "", "nr_throttled", throttled),
	ROW("cpu.stat", "", "throttled_usec", throttled_us),
	ROW("io.stat", "", "rbytes=", read_bytes),
	ROW("io.stat", "", "wbytes=", written_bytes),
	ROW("io.stat", "", "rios=", reads),
	ROW("io.stat", "", "wios=", writes),
	ROW("cpu.pressure", "some", "total=", cpu_some_us),
	ROW("cpu.pressure", "full", "total=", cpu_full_us),
	ROW("memory.pressure", "some", "total=", memory_some_us),
	ROW("memory.pressure", "full", "total=", memory_full_us),
	ROW("io.pressure", "some", "total=", io_some_us),
	ROW("io.pressure", "full", "total=", io_full_us),
#undef ROW
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))
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

/* the number behind a key in one line; the key is a whole word of it */
static bool in_line(const char *line, const char *key, uint64_t *sum)
{
	size_t n = strlen(key), length = strcspn(line, "\n");
	bool nested = n && key[n - 1] == '=';

	for (const char *at = line; at;
	     at = memchr(at, ' ', length - (size_t)(at - line))) {
		at += at != line;
		if (strncmp(at, key, n) == 0 && (nested || at[n] == ' ')) {
			*sum += strtoull(at + n, NULL, 10);
			return true;
		}
		/* "key value": only the first word can be a key */
		if (!nested)
			break;
	}
	return false;
}

static uint64_t look_up(const struct row *row, const char *text)
{
	size_t n = strlen(row->line);
	uint64_t sum = 0;
	/* no line of io.stat is no device, and so nothing read or written */
	bool found = *text == '\0' && strcmp(row->file, "io.stat") == 0;

	if (!*row->key)
		return *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : NO_LIMIT;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, row->line, n) == 0)
			found = in_line(line, row->key, &sum) || found;
	}
	return found ? sum : NO_LIMIT;
}

/* rows whose file is @only, or all of them; an unreadable file reads NO_LIMIT in all */
static void read_rows(int leaf, const char *only, struct cgroup_usage *u)
{
	static char text[16384];
	const char *file = "";
	ssize_t n = -1;

	for (size_t i = 0; i < ROW_COUNT; i++) {
		if (only && strcmp(rows[i].file, only) != 0)
			continue;
		if (strcmp(rows[i].file, file) != 0) {
			file = rows[i].file;
			n = io_read_file_at(leaf, file, text, sizeof(text));
		}
		if (n >= 0 || !only)
			put(u, &rows[i], n < 0 ? NO_LIMIT : look_up(&rows[i], text));
	}
}

void cgroup_usage(int leaf, const struct cgroup_usage *before, struct cgroup_usage *u)
{
	read_rows(leaf, NULL, u);
	for (size_t i = 0; before && i < ROW_COUNT; i++) {
		uint64_t was = get(before, &rows[i]), is = get(u, &rows[i]);

		if (!rows[i].peak && was <= is && is != NO_LIMIT)
			put(u, &rows[i], is - was);
	}
}

void cgroup_cpu(int leaf, struct cgroup_usage *u)
{
	read_rows(leaf, "cpu.stat", u);
}

uint64_t cgroup_memory(int leaf, uint64_t enough)
{
	/* pages of files, those of tmpfs aside, and caches of the kernel's */
	static const struct row all = { "memory.current", "", "", 0, false }, free[] = {
		{ "memory.stat", "", "inactive_file", 0, false },
		{ "memory.stat", "", "active_file", 0, false },
		{ "memory.stat", "", "slab_reclaimable", 0, false }
	};
	static char text[16384];
	uint64_t bytes = 0;

	if (io_read_file_at(leaf, all.file, text, sizeof(text)) >= 0)
		bytes = look_up(&all, text);
	if (bytes <= enough || io_read_file_at(leaf, free->file, text, sizeof(text)) < 0)
		return bytes;
	for (size_t i = 0; i < sizeof(free) / sizeof(free[0]); i++) {
		uint64_t back = look_up(&free[i], text);

		if (back != NO_LIMIT)
			bytes -= back < bytes ? back : bytes;
	}
	return bytes;
}

bool cgroup_counted(uint64_t count)
{
	return count > 0 && count != NO_LIMIT;
}

void cgroup_usage_print(const struct cgroup_usage *u, FILE *out)
{
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct row *row = &rows[i];
		uint64_t n = get(u, row);

		(void)fprintf(out, "%s\"%s%s%s%s%.*s", i ? "," : "{", row->file,
			      *row->line ? "." : "", row->line, *row->key ? "." : "",
			      (int)strcspn(row->key, "="), row->key);
		json_number("\":", n != NO_LIMIT, n, out);
	}
	(void)fputc('}', out);
}
