/* SPDX-License-Identifier: MIT */
/*
 * files.c - send the files of --out out of a guest: see files.h
 *
 * What is in the folder is stepjail's own copy: files and folders, within its limits.
 */
#include <string.h>
#include <sys/stat.h>

#include "init/io.h"
#include "jail/base/folder.h"
#include "jail/vm/guest/files.h"

static int send_head(int to, enum files_kind kind, const char *name, uint64_t bytes)
{
	struct files_head head = { kind, (uint32_t)strlen(name), bytes };
	int r = io_write_all(to, &head, sizeof(head));

	return r < 0 ? r : io_write_all(to, name, head.name);
}

static int send_file(int in, const char *name, uint64_t left, int to)
{
	static char block[1 << 16];
	int r = send_head(to, FILES_FILE, name, left);

	while (r == 0 && left) {
		size_t most = left < sizeof(block) ? (size_t)left : sizeof(block);
		ssize_t n = read(in, block, most);

		r = n <= 0 ? -1 : io_write_all(to, block, (size_t)n);
		left -= n > 0 ? (uint64_t)n : 0;
	}
	return r;
}

static int send_folder(int folder, int to)
{
	cleanup_folder DIR *list = folder_list(folder);
	const char *name;
	int r = list ? 0 : -1;

	while (r == 0 && (name = folder_next(list))) {
		cleanup_fd int fd = openat(dirfd(list), name, O_RDONLY | O_CLOEXEC);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			return -1;
		if (!S_ISDIR(st.st_mode)) {
			r = send_file(fd, name, (uint64_t)st.st_size, to);
			continue;
		}
		r = send_head(to, FILES_FOLDER, name, 0);
		r = r < 0 ? r : send_folder(io_steal_fd(&fd), to);
		r = r < 0 ? r : send_head(to, FILES_UP, "", 0);
	}
	return r;
}

int files_send(const char *folder, int to)
{
	int r = send_folder(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to);

	return r < 0 ? r : send_head(to, FILES_END, "", 0);
}
