/* SPDX-License-Identifier: MIT */
/*
 * reach.h - what the model client may reach: the ports and the files of its policy
 */
#ifndef STEPJAIL_AGENT_REACH_H
#define STEPJAIL_AGENT_REACH_H

#include "agent/confine/confine.h"

/**
 * reach_server() - Add what asking a server needs, and its ports: its own, a proxy's, and
 * that of DNS unless each host is an address
 *
 * Loads what libc would load for the first name (nsswitch.conf(5)): later on nothing can
 * be mapped as code.
 *
 * Return: 0, or -errno
 */
int reach_server(struct confine_policy *p, const char *url, struct err *e);

/** reach_files() - Add the files of a policy's needs: certificates, and what name
 * look-ups read; 0, or -E2BIG */
int reach_files(struct confine_policy *p, struct err *e);

#endif
