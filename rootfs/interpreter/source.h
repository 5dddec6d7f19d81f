/* SPDX-License-Identifier: MIT */
/*
 * source.h - a step's source, from its fd to its value; and what a step leaves as it was
 *
 * In C, although Python would do in a tenth of the lines: a process that was just forked
 * pays for each page that it writes to, and every object that Python code looks at is
 * written to, for its reference count. A short step takes half the time this way.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "rootfs/interpreter/python.h"

/** source_prepare() - Once; @runner is the module. Return: 0, or -1 with an exception set
 */
int source_prepare(PyObject *runner);

/**
 * source_warm() - Run a step of no effect, in the process that is to be state 0
 *
 * Return: 0, or -1 with an exception set
 */
int source_warm(void);

/**
 * source_begin() - A step begins: streams and builtins are as they should be
 *
 * Return: 0, or -1 with an exception set
 */
int source_begin(void);

/**
 * source_wake() - This process is another than the state's was: a branch came back to it
 * @repeatable:	Go on with the random numbers of the state
 *
 * Two branches of one state must not draw the same numbers: so `random`, and numpy's
 * global generator, are seeded anew, where no step has chosen their seed. Generators that
 * a step made itself are its own: two branches draw the same from them.
 */
void source_wake(bool repeatable);

/**
 * source_read() - The source as a string
 * @fd:		Sealed memfd, at most STEP_SOURCE_MAX bytes of UTF-8
 *
 * Return: new reference, or NULL with the exception set that is the step's
 */
PyObject *source_read(int fd);

/**
 * source_run() - Run it in __main__, as "<step N>", which tracebacks show lines of
 *
 * Where its first line is "# stepjail: line N of FILE", the rest stands from line N on in
 * that file, for tracebacks, __file__ and sys.argv, and no value is shown: it is a piece
 * of a program.
 *
 * Return: bytes, the bounded repr of the last statement's value where that is an
 * expression, else None; NULL with the step's exception set
 */
PyObject *source_run(PyObject *text, uint32_t step);

/**
 * source_end() - Behind a step, its exception still set: is nothing left to do?
 *
 * Flushes stdout and stderr. Does not look further than it must: false is no fault.
 *
 * Return: true when the step has not raised, and the next one finds streams and builtins
 * as this one did; otherwise runner.py's conclude() is to be called
 */
bool source_end(void);
