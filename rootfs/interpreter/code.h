/* SPDX-License-Identifier: MIT */
/*
 * code.h - from a step's text to code
 */
#pragma once

#include <stdbool.h>

#include "rootfs/interpreter/python.h"

struct code {
	PyObject *body; /* NULL where there is no statement */
	PyObject *last; /* NULL where the last one is no expression, or of a program */
	PyObject *wait; /* of notebook.py, which has compiled it: takes a coroutine */
	bool program;   /* no value is shown, as in a file that python3 runs */
};

/**
 * code_make() - Compile a step, as a notebook would take it or as a program
 * @c:		All zero but for @program; the caller's to drop, also on failure
 * @text:	str
 * @name:	What tracebacks call it
 *
 * What it says of __future__ holds for the steps that follow.
 *
 * Return: 0, or -1 raised
 */
int code_make(struct code *c, PyObject *text, PyObject *name);

/** code_drop() - Let its objects go */
void code_drop(struct code *c);
