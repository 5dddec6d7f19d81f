/* SPDX-License-Identifier: MIT */
/*
 * home.h - where the agent keeps what outlives a run
 */
#ifndef STEPJAIL_AGENT_HOME_H
#define STEPJAIL_AGENT_HOME_H

/**
 * home_state_path() - A file's path below $XDG_STATE_HOME/stepjail, its folders made
 * @name:	Relative; may hold slashes
 *
 * Without XDG_STATE_HOME it is ~/.local/state/stepjail, as in the XDG base directory
 * specification. The folders are closed to others. One that cannot be made shows when the
 * file is opened.
 *
 * Return: for the caller to free, or NULL where there is no home, or no memory
 */
char *home_state_path(const char *name);

#endif
