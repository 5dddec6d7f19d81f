/* SPDX-License-Identifier: MIT */
/*
 * test_jail_net.c - the loopback interface of a new network namespace
 */
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "jail/walls/caps.h"
#include "jail/walls/net.h"
#include "tests/unit/suites.h"

static bool lo_is_up(void)
{
	struct ifreq lo = { .ifr_name = "lo" };
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	MUST(sock >= 0 && ioctl(sock, SIOCGIFFLAGS, &lo) == 0);
	(void)close(sock);
	return lo.ifr_flags & IFF_UP;
}

static void bring_up(void *arg)
{
	struct if_nameindex *all;
	struct err e;

	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;
	MUST(!lo_is_up());
	MUST(net_loopback_up(&e) == 0);
	MUST(lo_is_up());
	/* and there is no other that it could have brought up */
	all = if_nameindex();
	MUST(all && strcmp(all[0].if_name, "lo") == 0);
	if_freenameindex(all);
}

START_TEST(lo_comes_up)
{
	unit_child(bring_up, NULL);
}
END_TEST

static void bring_up_without_rights(void *arg)
{
	struct caps caps;
	struct err e = { 0 };

	(void)arg;
	if (!unit_namespace(CLONE_NEWNET))
		return;
	MUST(caps_make(&caps, &e) == 0);
	MUST(caps_drop_bounding(&e) == 0 && caps_drop_all(&caps, &e) == 0);
	MUST(net_loopback_up(&e) == -EPERM);
	MUST(e.errnum == EPERM && strncmp(e.text, "net: ", 5) == 0);
	MUST(!lo_is_up());
}

START_TEST(a_refusal_is_an_error)
{
	unit_child(bring_up_without_rights, NULL);
}
END_TEST

Suite *jail_net_suite(void)
{
	Suite *s = suite_create("jail net");
	TCase *c = tcase_create("net");

	tcase_add_test(c, lo_comes_up);
	tcase_add_test(c, a_refusal_is_an_error);
	suite_add_tcase(s, c);
	return s;
}
