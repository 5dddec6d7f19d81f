/* reach a TCP port on the loopback of the host | network namespace | ECONNREFUSED */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

/* argv: the port; the jail has a loopback of its own up, the weaker of its two choices */
int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	int sock = socket(AF_INET, SOCK_STREAM, 0);

	if (argc < 2)
		attack_lacks("a port");
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons((uint16_t)strtol(argv[1], NULL, 10));
	door("connect", connect(sock, (struct sockaddr *)&to, sizeof(to)));
	return attack_end();
}
