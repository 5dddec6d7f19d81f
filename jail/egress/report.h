/* SPDX-License-Identifier: MIT */
/*
 * report.h - what a jail asked of its proxy, and what it tried without, in words
 *
 * Attempts to go out past the proxy are counted by the kernel in the jail's network
 * namespace: connections to an address, and packets of UDP, also to the jail's own
 * loopback, where DNS goes without a configuration. Each was refused: nothing leads out.
 */
#pragma once

#include "jail/egress/start.h"

/**
 * egress_print() - Write a member of a JSON object, "egress": the log, and what went past
 * the proxy, or null where there is none
 * @seen:	What was told before, and is left out; or NULL. Brought up to date
 */
void egress_print(const struct egress *g, struct egress_log *seen, FILE *out);

/** egress_tell() - Say on stderr what was refused, a line for each host */
void egress_tell(const struct egress *g);
