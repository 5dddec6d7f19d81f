/* SPDX-License-Identifier: MIT */
/*
 * unwall.h - which walls are out
 */
#pragma once

#include <stdbool.h>

#define VARIABLE "STEPJAIL_WITHOUT"

/** without() - Is this wall to be left out? The words are those of probe.h */
bool without(const char *word);
