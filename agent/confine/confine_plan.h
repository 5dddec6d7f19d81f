/* SPDX-License-Identifier: MIT */
/*
 * confine_plan.h - what each command needs once it is confined
 */
#ifndef STEPJAIL_AGENT_CONFINE_PLAN_H
#define STEPJAIL_AGENT_CONFINE_PLAN_H

#include "agent/confine/confine.h"

/**
 * confine_plan_server() - Add what asking a server takes: its port, a proxy's, its
 * certificates and, unless the host is an address, what makes a name one
 * @url:	"" for nobody: then nothing is added
 *
 * Loads what libc would load for the first name (nsswitch.conf(5)): later on nothing can
 * be mapped as code.
 *
 * Return: 0, or -errno
 */
int confine_plan_server(struct confine_policy *p, const char *url, struct err *e);

/**
 * confine_plan_prompt() - Add what a person at a prompt takes: to read any file (:put),
 * and to make new ones below the current folder (:get)
 * @edit:	It is a terminal
 *
 * Return: 0, or -errno
 */
int confine_plan_prompt(struct confine_policy *p, bool edit, struct err *e);

#endif
