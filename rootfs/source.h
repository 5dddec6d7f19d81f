/* SPDX-License-Identifier: MIT */
/*
 * source.h - a step's source, from its fd to its value; and what a step leaves as it was
 *
 * In C, although Python would do in a tenth of the lines: a process that was just forked
 * pays for each page that it writes to, and every object that Python code looks at is
 * written to, for its reference count. A short step takes half the time this way.
 */
#ifndef STEPJAIL_ROOTFS_SOURCE_H
#define STEPJAIL_ROOTFS_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "rootfs/python.h"

/** source_prepare() - Once; @runner is the module. Return: 0, or -1 with an exception set
 */
int source_prepare(PyObject *runner);

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
 * Return: bytes, the bounded repr of the last statement's value where that is an
 * expression, else None; NULL with the step's exception set
 */
PyObject *source_run(PyObject *text, uint32_t step);

/**
 * source_settled() - After a step without an exception: is nothing left to do?
 *
 * Flushes stdout. Does not look further than it must: false is no fault.
 *
 * Return: true when the next step finds streams and builtins as this one did, and no
 * module is there that runner.py does something about
 */
bool source_settled(void);

#endif
