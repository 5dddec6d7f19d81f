/* SPDX-License-Identifier: MIT */
/*
 * denied.h - words for calls that are denied where a wall lacks
 *
 * The filter has refused them, by the rows of jail/walls/seccomp/denied_without.h. Here
 * the report names them, and --learn says why.
 */
#ifndef STEPJAIL_JAIL_WATCH_DENIED_H
#define STEPJAIL_JAIL_WATCH_DENIED_H

#include <stdio.h>

#include <linux/seccomp.h>

#include "jail/walls/seccomp/denied_without.h"

/** denied_why() - The row that refuses a call, or NULL. @lacks: from
 * denied_without_lacks() */
const struct denied_without_row *denied_why(unsigned int lacks,
					    const struct seccomp_data *data);

/** denied_print() - Write the report's "shut": names of calls, each once, as an array */
void denied_print(unsigned int lacks, FILE *out);

#endif
