/* SPDX-License-Identifier: MIT */
/*
 * reach.h - the one server that is asked: its address, and what a policy needs for it
 *
 * The main process looks at the address before it forks the model client, so that both
 * have the same policy. It is the user's own word: nobody hostile is heard yet.
 */
#pragma once

#include "agent/confine/confine.h"

struct reach {
	bool https; /* else http */
	bool here;  /* it is this host: no proxy is asked */
};

/**
 * reach_server() - Check a server's address, and add to a policy what asking it needs
 *
 * The ports: its own, a proxy's, and that of DNS unless each host is an address. The
 * files: certificates, and what name look-ups read.
 *
 * Return: 0; -EINVAL (no address of a server); -E2BIG
 */
int reach_server(struct confine_policy *p, const char *url, struct reach *to,
		 struct err *e);

/** reach_load_names() - Load what libc would load for the first name (nsswitch.conf(5)):
 * in a process that is confined nothing can be mapped as code */
void reach_load_names(void);
