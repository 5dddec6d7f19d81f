/* learn paths of the host from /proc/self | overlays in place of binds, subset=pid |
 * hidden */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

static bool file_has(const char *path, const char *marker)
{
	static char text[1 << 20];
	int fd = open(path, O_RDONLY);
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while ((n = read(fd, text + have, sizeof(text) - 1 - have)) > 0)
		have += (size_t)n;
	text[have] = '\0';
	(void)close(fd);
	return strstr(text, marker) != NULL;
}

static bool link_has(const char *path, const char *marker)
{
	char text[4096];
	ssize_t n = readlink(path, text, sizeof(text) - 1);

	if (n < 0)
		return false;
	text[n] = '\0';
	return strstr(text, marker) != NULL;
}

/* argv: a word of the host's paths, the root tree's and a bind's */
int main(int argc, char **argv)
{
	static const char *const files[] = { "/proc/self/mountinfo", "/proc/self/mounts",
					     "/proc/self/mountstats", "/proc/self/maps",
					     "/proc/self/smaps" };
	static const char *const links[] = { "/proc/self/exe", "/proc/self/cwd",
					     "/proc/self/root" };

	if (argc < 2)
		attack_lacks("a word");
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		door_word(files[i], file_has(files[i], argv[1]), "hidden");
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		door_word(links[i], link_has(links[i], argv[1]), "hidden");
	return attack_end();
}
