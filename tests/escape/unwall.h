/* SPDX-License-Identifier: MIT */
/*
 * unwall.h - which walls are out
 */
#ifndef STEPJAIL_TESTS_ESCAPE_UNWALL_H
#define STEPJAIL_TESTS_ESCAPE_UNWALL_H

#include <stdbool.h>

#define VARIABLE "STEPJAIL_WITHOUT"

/** without() - Is this wall to be left out? The words are those of probe.h */
bool without(const char *word);

#endif
