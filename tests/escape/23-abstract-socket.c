/* reach an abstract unix socket of the host | network namespace | ECONNREFUSED EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

/* argv: the socket's name, without its NUL */
int main(int argc, char **argv)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM, 0);

	if (argc < 2)
		attack_lacks("a name");
	(void)snprintf(to.sun_path + 1, sizeof(to.sun_path) - 1, "%s", argv[1]);
	door("connect", connect(sock, (struct sockaddr *)&to,
				(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
					    strlen(argv[1]))));
	return attack_end();
}
