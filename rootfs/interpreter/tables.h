/* SPDX-License-Identifier: MIT */
/*
 * tables.h - what rootfs/trees/tree.py makes out of the manifests
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* C modules of the standard library that libpython's archive does not have; NULL ends */
struct module_row {
	const char *name;
	PyObject *(*init)(void);
};

extern const struct module_row module_rows[];

/* modules whose code lies in the ELF; a row of NULL ends */
extern const struct _frozen frozen_rows[];

/* sys.path: the library, and where a tree's packages are; NULL ends */
extern const wchar_t *const tree_paths[];

/* set at the start, unless it is set already; a row of NULL ends */
struct env_row {
	const char *name;
	const char *value;
};

extern const struct env_row tree_env[];

/* what a template imports that is not told, with commas between; "" for nothing */
extern const char tree_preload[];
