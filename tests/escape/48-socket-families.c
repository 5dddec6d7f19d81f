/* sockets that no empty network namespace holds: vsock, netlink, AF_ALG, raw | seccomp |
 * EPERM */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

int main(void)
{
	door("netlink", socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
	door("audit", socket(AF_NETLINK, SOCK_RAW, NETLINK_AUDIT));
	door("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
	door("crypto", socket(AF_ALG, SOCK_SEQPACKET, 0));
	door("packet", socket(AF_PACKET, SOCK_RAW, 0));
	door("raw", socket(AF_INET, SOCK_RAW, IPPROTO_ICMP));
	return attack_end();
}
