/* SPDX-License-Identifier: MIT */
/*
 * path.h - paths as users give them, made absolute or cut to their last part; where the
 * agent keeps what outlives a run
 */
#pragma once

#include <stdbool.h>

#include "agent/base/text.h"

/** path_absolute() - Add a path, made absolute, without a slash at its end; links are
 * left */
void path_absolute(const char *path, struct text *out);

/** path_last() - A path's last part: what a file is called in the jail */
const char *path_last(const char *path);

/**
 * path_of_user() - Add a folder of the XDG base directory specification
 * @variable:	Such as XDG_CONFIG_HOME; a relative path in it is to be ignored
 * @below:	Where it is in $HOME then, as "/.config"
 *
 * Return: false where there is no home
 */
bool path_of_user(const char *variable, const char *below, struct text *out);

/**
 * path_of_state() - A file's path below $XDG_STATE_HOME/stepjail, its folders made
 * @name:	Relative; may hold slashes
 *
 * Without XDG_STATE_HOME it is ~/.local/state/stepjail, as in the XDG base directory
 * specification. The folders are closed to others.
 *
 * Return: for the caller to free; NULL where there is no home, or a folder cannot be made
 */
char *path_of_state(const char *name, struct err *e);
