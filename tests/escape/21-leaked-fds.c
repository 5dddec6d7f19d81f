/* use file descriptors that the caller left open | close_range before exec | EBADF */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* argv: numbers of fds that the runner left open; all others are tried as well */
int main(int argc, char **argv)
{
	char byte;

	for (int i = 1; i < argc; i++) {
		int fd = (int)strtol(argv[i], NULL, 10);

		door("is it open", fcntl(fd, F_GETFD));
		door("read it", read(fd, &byte, 1));
		door("go through it", openat(fd, "etc/hostname", O_RDONLY));
	}
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			door("another fd", fd);
	return attack_end();
}
