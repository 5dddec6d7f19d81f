/* SPDX-License-Identifier: MIT */
/*
 * lines.c - which steps' sources linecache has: see lines.h
 *
 * Code outlives its step as a function, or in the frame of an exception that was kept,
 * and goes at any time later. So each step looks at a few entries, in turn; as it makes
 * no more than one, those without code are never many.
 */
#include "rootfs/interpreter/lines.h"

#include <stdbool.h>

#define LOOKS 4 /* at others' entries, each step */

static struct {
	PyObject *cache; /* linecache.cache, as it was before any user code */
	PyObject *file;  /* io.StringIO, likewise */
	PyObject *last;  /* name of the step that runs, or NULL */
	Py_ssize_t at;   /* how far the looks have come */
} lines;

int lines_prepare(void)
{
	PyObject *module = PyImport_ImportModule("linecache");

	lines.cache = module ? PyObject_GetAttrString(module, "cache") : NULL;
	Py_XDECREF(module);
	module = PyImport_ImportModule("_io");
	lines.file = module ? PyObject_GetAttrString(module, "StringIO") : NULL;
	Py_XDECREF(module);
	return lines.file && lines.cache && PyDict_CheckExact(lines.cache) ? 0 : -1;
}

/* \n, \r\n and \r end lines, as for Python's tokenizer. str.splitlines() also cuts at a
 * form feed, U+0085 and U+2028, which do not count for a line's number */
static PyObject *cut(PyObject *text)
{
	PyObject *file = PyObject_CallFunctionObjArgs(lines.file, text, Py_None, NULL);
	PyObject *list = file ? PyObject_CallMethod(file, "readlines", NULL) : NULL;

	Py_XDECREF(file);
	return list;
}

void lines_remember(PyObject *text, PyObject *name)
{
	PyObject *list = cut(text);
	PyObject *entry = list ? Py_BuildValue("nONO", PyUnicode_GET_LENGTH(text),
					       Py_None, list, name)
			       : NULL;

	if (!entry || PyDict_SetItem(lines.cache, name, entry) < 0)
		PyErr_Clear();
	Py_XDECREF(entry);
	Py_XSETREF(lines.last, Py_NewRef(name));
}

/* an entry that lines_remember() made, whose name nothing else has; @held: by the
 * caller */
static bool is_unused(PyObject *name, PyObject *entry, Py_ssize_t held)
{
	return PyUnicode_CheckExact(name) && PyTuple_CheckExact(entry) &&
	       PyTuple_GET_SIZE(entry) == 4 && PyTuple_GET_ITEM(entry, 3) == name &&
	       Py_REFCNT(name) == held + 2; /* the key, and the entry's own */
}

static void drop(PyObject *name)
{
	Py_INCREF(name);
	if (PyDict_DelItem(lines.cache, name) < 0)
		PyErr_Clear();
	Py_DECREF(name);
}

void lines_forget(void)
{
	PyObject *entry = lines.last ? PyDict_GetItem(lines.cache, lines.last) : NULL;

	if (entry && is_unused(lines.last, entry, 1))
		drop(lines.last);
	Py_CLEAR(lines.last);
}

void lines_prune(void)
{
	PyObject *name, *entry;

	lines_forget();
	for (int i = 0; i < LOOKS; i++) {
		if (!PyDict_Next(lines.cache, &lines.at, &name, &entry)) {
			lines.at = 0;
			return;
		}
		if (is_unused(name, entry, 0))
			drop(name);
	}
}
