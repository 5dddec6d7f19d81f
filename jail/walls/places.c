/* SPDX-License-Identifier: MIT */
/*
 * places.c - what is mounted in a jail, and what may be done there: see places.h
 *
 * Landlock allows reading and executing below /. Each row has the rights that are allowed
 * there beyond those. /proc is read-only by its mount.
 * Kernel: Documentation/admin-guide/devices.txt, Documentation/userspace-api/landlock.rst
 */
#include <stdio.h>
#include <string.h>

#include "jail/walls/landlock.h"
#include "jail/walls/mount_op.h"
#include "jail/walls/places.h"

#define READ                                                                             \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE |                     \
	 LANDLOCK_ACCESS_FS_READ_DIR)
/* a tmpfs of the jail, or a writable bind: everything but devices, which nodev refuses
 * too */
#define WRITE                                                                            \
	(LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |                 \
	 LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |                  \
	 LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK |                    \
	 LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_SYM |                    \
	 LANDLOCK_ACCESS_FS_REFER | LANDLOCK_TRUNCATE)

#define TMPFS(path)                                                                      \
	{                                                                                \
		.at = (path), .type = "tmpfs", .attr = MOUNT_WRITABLE, .landlock = WRITE \
	}
#define NODE(path, high, low, rights)                                                    \
	{                                                                                \
		.at = (path), .attr = MOUNT_NODE, .major = (high), .minor = (low),       \
		.landlock = LANDLOCK_ACCESS_FS_WRITE_FILE | (rights)                     \
	}

const struct place place_rows[] = {
	{ .at = "/", .type = "overlay", .attr = MOUNT_TREE, .landlock = READ },
	{ .at = "/dev", .type = "tmpfs", .attr = MOUNT_READ_ONLY },
	NODE("/dev/null", 1, 3, LANDLOCK_TRUNCATE),
	NODE("/dev/zero", 1, 5, LANDLOCK_TRUNCATE),
	NODE("/dev/full", 1, 7, LANDLOCK_TRUNCATE),
	NODE("/dev/random", 1, 8, 0),
	NODE("/dev/urandom", 1, 9, 0),
	NODE("/dev/tty", 5, 0, LANDLOCK_IOCTL_DEV),
	TMPFS("/work"),
	TMPFS("/tmp"),
	TMPFS("/dev/shm"),
	/* the last row, which --proc none leaves out */
	{ .at = "/proc",
	  .type = "proc",
	  .attr = MOUNT_READ_ONLY,
	  .options = "hidepid=invisible,subset=pid" },
};
#define ROWS (COUNT(place_rows))
const size_t place_row_count = ROWS;
_Static_assert(ROWS + 1 + PLAN_BINDS_MAX == PLACES_MAX, "as places.h says");

const char *places_kept(size_t bind)
{
	static char at[PLAN_BINDS_MAX][16];

	(void)snprintf(at[bind], sizeof(at[bind]), "/stepjail/%zu", bind);
	return at[bind];
}

size_t places_list(const struct plan *p, struct place *list)
{
	size_t n = ROWS - (p->proc == PROC_NONE && !p->template);

	memcpy(list, place_rows, n * sizeof(list[0]));
	if (p->template) {
		list[n - 1].attr = MOUNT_WRITABLE; /* /proc */
		list[n++] = (struct place){ .at = PLACES_KEPT_ROOT,
					    .attr = MOUNT_TREE,
					    .shows_path = true };
	}
	for (size_t i = 0; i < p->bind_count; i++) {
		bool writable = p->bind[i].writable, host = writable || p->template;

		list[n++] = (struct place){
			.at = p->template ? places_kept(i) : p->bind[i].dst,
			.type = host ? NULL : "overlay",
			.attr = writable ? MOUNT_WRITABLE : MOUNT_TREE,
			.landlock = writable ? WRITE : 0,
			.shows_path = host,
		};
	}
	return n;
}
