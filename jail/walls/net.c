/* SPDX-License-Identifier: MIT */
/*
 * net.c - the loopback interface of a new network namespace: see net.h
 */
#include <errno.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/walls/net.h"

int net_loopback_up(struct err *e)
{
	cleanup_fd int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };

	/* the kernel gives lo its addresses by itself when it comes up */
	if (sock < 0 || ioctl(sock, SIOCSIFFLAGS, &lo) < 0)
		return err_set(e, errno, "net: set lo up");
	return 0;
}
