/* SPDX-License-Identifier: MIT */
/*
 * walls.h - what the parts of walls share
 */
#pragma once

#include <stdbool.h>

/** miss() - Say that something is not as it must be */
void miss(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** read_file() - The text of a small file, valid until the next call; misses without
 * it */
const char *read_file(const char *path);

/** look_at_mounts() - /proc/self/mountinfo, to the last mount; @hide must not be in it */
void look_at_mounts(const char *hide, bool given);

/** look_at_files() - What can be written where, and how much */
void look_at_files(bool given);
