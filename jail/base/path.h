/* SPDX-License-Identifier: MIT */
/*
 * path.h - paths that can be opened beneath a root without climbing out of it
 */
#pragma once

#include <stdbool.h>

/**
 * path_is_clean() - Is this path absolute, shorter than PATH_MAX, with no empty, "." or ".."
 * part in it?
 */
bool path_is_clean(const char *path);

/** path_is_below() - Is a path @top, or in it? Both as they are written */
bool path_is_below(const char *path, const char *top);
