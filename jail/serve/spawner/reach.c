/* SPDX-License-Identifier: MIT */
/*
 * reach.c - is a process one of a jail? See spawned_reach()
 *
 * By the kernel's word: the PID namespace of the process that the pidfd holds is the
 * jail's own. A number could be another process's by then; so the pidfd is asked, last,
 * whether its process is still there: if so, the number was its own all the time.
 */
#include <limits.h>
#include <poll.h>

#include "init/io.h"
#include "jail/serve/spawner/spawned.h"

#define THREADS_LOOKED_AT 16

/*
 * The PID namespace of a process, by its folder; 0, or -errno. A thread that has no
 * memory any more shows it to nobody (EPERM), and the first thread may have ended before
 * the others: one of those tells then. Where all are ending, it is as good as gone.
 */
static int find_space(int dir, ino_t *space)
{
	struct stat st;
	int r = fstatat(dir, "ns/pid", &st, 0) < 0 ? -errno : 0;

	if (r == -EPERM || r == -EACCES) {
		cleanup_folder DIR *tasks =
			folder_list(procfs_open_at(dir, "task", O_RDONLY | O_DIRECTORY));
		const char *thread = tasks ? folder_next(tasks) : NULL;

		r = -ESRCH;
		for (int i = 0; thread && r < 0 && i < THREADS_LOOKED_AT; i++) {
			char file[NAME_MAX + 8];

			(void)snprintf(file, sizeof(file), "%s/ns/pid", thread);
			if (fstatat(dirfd(tasks), file, &st, 0) == 0)
				r = 0;
			thread = folder_next(tasks);
		}
	}
	*space = r == 0 ? st.st_ino : 0;
	return r == -ENOENT ? -ESRCH : r;
}

int spawned_reach(const struct spawned *j, int pidfd, pid_t pid)
{
	cleanup_fd int dir = pid < 0 ? pid : procfs_open(pid);
	struct pollfd end = { .fd = pidfd, .events = POLLIN };
	ino_t space = 0;
	int r = dir < 0 ? dir : find_space(dir, &space);

	if (r < 0)
		return r == -ENOENT ? -ESRCH : r;
	if (poll(&end, 1, 0) != 0)
		return -ESRCH;
	return space == j->space ? io_steal_fd(&dir) : -EPERM;
}
