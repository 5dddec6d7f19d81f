/* SPDX-License-Identifier: MIT */
/*
 * limits.h - which limit of the jail an exception speaks of
 */
#pragma once

#include <stdint.h>

#include "rootfs/interpreter/python.h"

/**
 * limits_met() - What was there too little of?
 * @problem:	An exception, which stays as it is; or NULL
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
