/* SPDX-License-Identifier: MIT */
/*
 * path.h - paths as users give them, made absolute or cut to their last part
 */
#ifndef STEPJAIL_AGENT_PATH_H
#define STEPJAIL_AGENT_PATH_H

#include "agent/base/text.h"

/** path_absolute() - Add a path, made absolute, without a slash at its end; links are
 * left */
void path_absolute(const char *path, struct text *out);

/** path_last() - A path's last part: what a file is called in the jail */
const char *path_last(const char *path);

#endif
