/* SPDX-License-Identifier: MIT */
/*
 * media.h - what a step shows beside its output, on its way: see init/media.h
 *
 * shown.py finds out what forms an object has; here they are sent, and here is decided
 * whether shown.py is to be asked at all. That is so of every step, and so in C: a value
 * of the language's own types costs a look at its type, and a step without matplotlib a
 * look into sys.modules.
 */
#pragma once

#include <stdint.h>

#include "rootfs/interpreter/python.h"

/**
 * media_prepare() - Once, behind the preloaded modules
 * @runner:	The module
 * @limit_bytes:	That a step may show; 0: display() prints, and nothing is shown
 *
 * Return: 0, or -1 with an exception set
 */
int media_prepare(PyObject *runner, uint64_t limit_bytes);

/** media_begin() - A step begins in this process; threads may be left of another */
void media_begin(int channel, uint32_t step);

/**
 * media_result() - Show what the value of the last expression is, beside its repr()
 *
 * Return: 0, or -1 with an exception set that is none of the value's faults, such as
 * KeyboardInterrupt
 */
int media_result(PyObject *value);

/**
 * media_end() - Show, and close, the figures that are open behind a step
 *
 * Its exception may be set, and stays so. One that is set by this is the step's: it was
 * interrupted here. After KeyboardInterrupt nothing is drawn, for whoever sent it does
 * not wait for long; the next step shows them.
 */
void media_end(void);

/**
 * media_rest() - A step ends: up to media_begin() nothing is shown by any thread
 *
 * Waits for the thread that is at it. A signal ends that, and no exception is left set.
 */
void media_rest(void);
