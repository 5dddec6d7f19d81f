/* SPDX-License-Identifier: MIT */
/*
 * events.c - what a container that runs uses, as runc's events tell it
 */
#include <inttypes.h>
#include <sys/file.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/oci/command.h"

#define EVENTS_MS 5000 /* as runc */

/* what a leaf counts, and what runc's events call it */
static const struct {
	const char *name, *file, *key;
	unsigned int unit;
} counts[] = {
	{ "{\"cpu\":{\"usage\":{\"total\":", "cpu.stat", "usage_usec ", 1000 },
	{ ",\"kernel\":", "cpu.stat", "system_usec ", 1000 },
	{ ",\"user\":", "cpu.stat", "user_usec ", 1000 },
	{ "}},\"memory\":{\"usage\":{\"usage\":", "memory.current", "", 1 },
	{ ",\"max\":", "memory.peak", "", 1 },
	{ ",\"limit\":", "memory.max", "", 1 }, /* 0 for "max" */
	{ "}},\"pids\":{\"current\":", "pids.current", "", 1 },
	{ ",\"limit\":", "pids.max", "", 1 },
};

int command_events(const struct call *c, struct err *e)
{
	char leaf[PATH_MAX], path[PATH_MAX + 64], text[4096];
	cleanup_container struct container box = CONTAINER_NONE;
	int r = container_leaf(&box, c, leaf, sizeof(leaf), e);

	if (r < 0)
		return r;
	(void)flock(box.folder, LOCK_UN);
	do {
		printf("{\"type\":\"stats\",\"id\":\"%s\",\"data\":", c->id);
		for (size_t i = 0; i < COUNT(counts); i++) {
			(void)snprintf(path, sizeof(path), "%s/%s", leaf, counts[i].file);
			(void)io_read_file_at(AT_FDCWD, path, text, sizeof(text));
			printf("%s%" PRIu64, counts[i].name,
			       counts[i].unit * procfs_number(text, counts[i].key, 10));
		}
		printf("}}}\n");
	} while (!c->option[OPTION_STATS] && fflush(stdout) == 0 &&
		 !process_await(&box.watcher, EVENTS_MS));
	return 0;
}
