/* SPDX-License-Identifier: MIT */
/*
 * lines.h - the sources that tracebacks show lines of, for as long as there is code of
 * them
 *
 * They lie where Python looks for them, in linecache.cache, under the name of the step. A
 * session may have any number of steps, so what no traceback can come from is dropped:
 * code has the very string object that its source is listed under as its file's name, and
 * with the last of it goes the last reference to that name but the list's own.
 */
#pragma once

#include "rootfs/interpreter/python.h"

/** lines_prepare() - Once; Return: 0, or -1 with an exception set */
int lines_prepare(void);

/** lines_remember() - Before this source is compiled, as a file of this name */
void lines_remember(PyObject *text, PyObject *name);

/** lines_forget() - Drop the source that came last, if there is no code of it */
void lines_forget(void);

/** lines_prune() - Behind a step: the same, and look at a few others */
void lines_prune(void);
