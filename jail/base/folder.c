/* SPDX-License-Identifier: MIT */
/*
 * folder.c - the names in a folder that was opened: see folder.h
 */
#include <errno.h>
#include <string.h>

#include "init/io.h"
#include "jail/base/folder.h"

DIR *folder_list(int fd)
{
	DIR *list = fd < 0 ? NULL : fdopendir(fd);

	if (fd < 0)
		errno = -fd;
	else if (!list)
		io_close_fd(&fd);
	return list;
}

const char *folder_next(DIR *list)
{
	const struct dirent *entry;

	/* readdir(3) tells a failure from the end by errno alone */
	errno = 0;
	do
		entry = readdir(list);
	while (entry &&
	       (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0));
	return entry ? entry->d_name : NULL;
}

void folder_close(DIR **list)
{
	int saved = errno;

	if (*list)
		(void)closedir(*list);
	errno = saved;
}
