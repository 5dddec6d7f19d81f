/* SPDX-License-Identifier: MIT */
/*
 * manual.h - the manual page, its options out of the one table
 */
#ifndef STEPJAIL_JAIL_PLAN_MANUAL_H
#define STEPJAIL_JAIL_PLAN_MANUAL_H

#include <stdio.h>

/** manual_print() - Print stepjail(1) in mdoc(7) */
void manual_print(FILE *out);

#endif
