/* SPDX-License-Identifier: MIT */
/*
 * python.h - CPython in this ELF: its modules, its paths, its start
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/**
 * python_begin() - Make the tables known and preinitialise: UTF-8 everywhere
 * @argc, @argv:	Program arguments, looked through for -I, -E and -X; 0, NULL: none
 *
 * Return: CPython's own status; Py_ExitStatusException() says it and ends
 */
PyStatus python_begin(int argc, char **argv);

/**
 * python_config() - Fill in what every start has in common: where things are
 * @config:	From PyConfig_InitPythonConfig()
 *
 * The tree's places are fixed, so nothing is searched for.
 */
PyStatus python_config(PyConfig *config);

/**
 * python_start() - Initialise the interpreter from a filled-in @config and clear that
 *
 * What exists by then, but for the names in __main__, is put where the cyclic collector
 * does not look: it lives as long as the process, and neither the last collection at exit
 * nor copy-on-write after a fork has to touch it.
 */
PyStatus python_start(PyConfig *config);

/** python_freeze() - What python_start() does about the collector, again; 0, or -1 raised
 */
int python_freeze(void);
