/* SPDX-License-Identifier: MIT */
/*
 * leases.c - stepjail leases --remove: keep no network namespace for later jails
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "jail/base/command.h"
#include "jail/launch/lease.h"

int command_leases(char *const *argv, struct err *e)
{
	if (!argv[0] || strcmp(argv[0], "--remove") != 0 || argv[1])
		return err_say(e, EINVAL,
			       "leases: there is one way to call it: leases --remove");
	if (geteuid() != 0)
		return err_say(e, EPERM, "leases: they are root's: run it as root");
	printf("leases removed: %d\n", lease_remove());
	return 0;
}
