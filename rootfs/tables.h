/* SPDX-License-Identifier: MIT */
/*
 * tables.h - what rootfs/tree.py makes out of core.manifest
 */
#ifndef STEPJAIL_ROOTFS_TABLES_H
#define STEPJAIL_ROOTFS_TABLES_H

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

#endif
