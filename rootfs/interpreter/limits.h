/* SPDX-License-Identifier: MIT */
/*
 * limits.h - which limit an exception speaks of, and what the next step needs of them
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rootfs/interpreter/python.h"

/**
 * limits_met() - What was there too little of?
 * @problem:	An exception, which stays as it is; or NULL
 *
 * Of a MemoryError: there is a little more memory from now on, to show it, and to free
 * some.
 *
 * Return: bits of enum wire_met, 0 for none. A word of the program's: it may raise what
 * it likes
 */
uint32_t limits_met(PyObject *problem);

/**
 * limits_install() - For python3: behind the traceback that ends a program, one line on
 * stderr says which limit that may be, with its value
 *
 * In place of sys.excepthook, which the program may replace in its turn.
 *
 * Return: 0, or -1 raised
 */
int limits_install(void);

/**
 * limits_begin() - Once, in state 0: what there is now is what a resting process needs
 * @files:	Of open files, it needs no more than so many
 */
void limits_begin(unsigned int files);

/**
 * limits_rest() - At a step's end: put its soft limits away, as far as it lets them be
 * raised again
 * @threads:	It has more than one thread
 * @met:	What limits_met() has said of it
 *
 * Return: bits of enum wire_met: what there is too little of for a step to follow; or 0
 */
uint32_t limits_rest(bool threads, uint32_t met);

/** limits_resume() - Before a step: they are as the step before has left them */
void limits_resume(void);
