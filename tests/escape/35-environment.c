/* read the environment of the caller | environment from nothing | hidden */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <dirent.h>

#define NAME "STEPJAIL_ESCAPE_KEY"

static bool in_environ(const char *pid)
{
	char path[300];
	static char text[1 << 18];

	(void)snprintf(path, sizeof(path), "/proc/%s/environ", pid);

	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (fd >= 0)
		(void)close(fd);
	return n > 0 && memmem(text, (size_t)n, NAME "=", sizeof(NAME));
}

int main(void)
{
	DIR *proc = opendir("/proc");
	bool found = false;

	door_word("own environment", getenv(NAME) != NULL, "hidden");
	for (struct dirent *d; proc && (d = readdir(proc));)
		found = found || (d->d_name[0] >= '1' && d->d_name[0] <= '9' &&
				  in_environ(d->d_name));
	door_word("the environment of a process", found, "hidden");
	return attack_end();
}
