/* SPDX-License-Identifier: MIT */
/*
 * test_agent_place.c - what code that took the agent over may try to reach
 */
#include <arpa/inet.h>
#include <check.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/suites.h"
#include "tests/unit/test_agent_attempts.h"

/* made anew for each test */
struct place place;

int listen_anywhere(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(fd, 5) < 0 || getsockname(fd, (struct sockaddr *)&at, &length) < 0)
		return -1;
	*port = ntohs(at.sin_port);
	return fd;
}

void place_make(void)
{
	(void)snprintf(place.folder, sizeof(place.folder), "%s", unit_folder());
	(void)snprintf(place.other, sizeof(place.other), "%s", unit_folder());
	(void)snprintf(place.mine, sizeof(place.mine), "%s",
		       unit_file(place.folder, "mine", "mine", 4));
	(void)snprintf(place.fresh, sizeof(place.fresh), "%s/fresh", place.folder);
	(void)snprintf(place.elsewhere, sizeof(place.elsewhere), "%s/fresh", place.other);
	(void)snprintf(place.theirs, sizeof(place.theirs), "%s",
		       unit_file(place.other, "theirs", "theirs", 6));
	for (int i = 0; i < 2; i++) {
		place.listeners[i] = listen_anywhere(&place.ports[i]);
		ck_assert_int_ge(place.listeners[i], 0);
	}
	place.tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	place.udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	place.pidfd = pidfd_open(getpid(), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, place.pair),
			 0);
}
