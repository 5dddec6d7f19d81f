/* SPDX-License-Identifier: MIT */
/*
 * session_shared.c - what a state shares with the steps that came from it
 *
 * A fork copies memory, but not what is mapped as shared, nor the offset of an open file.
 * A step that changes these has changed them for the state that it came from, and for all
 * states and branches in between. Where a branch goes back to a state, its answer says
 * whether that state has any. It is looked for then, and at no other time.
 *
 * A state may have as many mappings and files as its limits allow: a part of them is read.
 * What is beyond, and what cannot be read, counts as shared.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/serve/session/session.h"

#define MAPS_BYTES (512u << 10) /* of some 100 for each mapping */
#define FILES_MAX 256

/* a line of /proc/PID/maps: "from-to rwxs ..." */
static bool is_shared(const char *line)
{
	const char *mode = strchr(line, ' ');

	return mode && strlen(mode) > 4 && mode[2] == 'w' && mode[4] == 's';
}

static bool has_memory(int dir)
{
	int fd = procfs_open_at(dir, "maps", O_RDONLY);
	FILE *maps = fd < 0 ? NULL : fdopen(fd, "re");
	char line[256];
	bool found = !maps, begins = true;
	size_t bytes = 0;

	while (!found && fgets(line, sizeof(line), maps)) {
		size_t length = strlen(line);

		bytes += length;
		found = (begins && is_shared(line)) || bytes > MAPS_BYTES;
		/* the rest of a long line is a file's name */
		begins = length && line[length - 1] == '\n';
	}
	if (maps)
		(void)fclose(maps);
	else
		io_close_fd(&fd);
	return found;
}

static bool has_offset(int folder, const char *name)
{
	char text[32] = ""; /* "pos:\t", and more that is not read */
	cleanup_fd int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return true;
	return strncmp(text, "pos:", 4) != 0 || strtoull(text + 4, NULL, 10) != 0;
}

static bool has_offsets(int dir)
{
	int fd = procfs_open_at(dir, "fdinfo", O_RDONLY | O_DIRECTORY);
	DIR *list = fd < 0 ? NULL : fdopendir(fd);
	bool found = !list;
	int count = 0;

	for (struct dirent *d; !found && (d = readdir(list));)
		found = d->d_name[0] != '.' &&
			(count++ == FILES_MAX || has_offset(fd, d->d_name));
	if (list)
		(void)closedir(list);
	else
		io_close_fd(&fd);
	return found;
}

void shared_print(struct state *state, FILE *out)
{
	cleanup_fd int dir = procfs_open(state->host);
	bool offsets = has_offsets(dir);

	/* it is asleep: what it has mapped does not change any more */
	if (!state->shares)
		state->shares = has_memory(dir) ? 1 : -1;
	(void)fprintf(out, "[%s%s%s]", state->shares > 0 ? "\"shared-memory\"" : "",
		      state->shares > 0 && offsets ? "," : "",
		      offsets ? "\"file-offsets\"" : "");
}
