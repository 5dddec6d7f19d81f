/* SPDX-License-Identifier: MIT */
/*
 * code.c - from a step's text to code: see code.h
 *
 * The last statement is taken off the tree that CPython's parser makes, where it is an
 * expression. ast.parse() would turn the tree into Python objects for that, and compile()
 * turn them back, which takes longer than all the rest of a short step; so the parser and
 * the compiler are called by the names that CPython has for itself.
 */
#define Py_BUILD_CORE
#include "rootfs/interpreter/code.h"

#include <internal/pycore_ast.h>
#include <internal/pycore_compile.h>
#include <internal/pycore_parser.h>
#include <internal/pycore_pyarena.h>

#include <string.h>

static int features; /* of __future__ that steps have asked for: PyCF_MASK */

/* Is there a ; behind it? In notebooks that says not to show the value. */
static bool is_quiet(const char *bytes, stmt_ty end)
{
	size_t column = (size_t)end->end_col_offset;

	for (int line = 1; bytes && line < end->end_lineno; line++) {
		bytes = strchr(bytes, '\n');
		bytes += bytes != NULL;
	}
	if (!bytes || strnlen(bytes, column) < column)
		return false;
	bytes += column;
	return bytes[strspn(bytes, " \t")] == ';';
}

static int compile_tree(struct code *c, mod_ty tree, const char *bytes, PyObject *name,
			PyCompilerFlags *flags, PyArena *arena)
{
	asdl_stmt_seq *body = tree->v.Module.body;
	Py_ssize_t count = asdl_seq_LEN(body);
	stmt_ty end = count ? asdl_seq_GET(body, count - 1) : NULL;
	mod_ty last = NULL;

	if (end && end->kind == Expr_kind && !c->program && !is_quiet(bytes, end)) {
		last = _PyAST_Expression(end->v.Expr.value, arena);
		if (!last)
			return -1;
		body->size = --count;
	}
	/* both before either runs: an error that only compiling finds is found first */
	if (count) {
		c->body = (PyObject *)_PyAST_Compile(tree, name, flags, -1, arena);
		if (!c->body)
			return -1;
	}
	if (last) {
		c->last = (PyObject *)_PyAST_Compile(last, name, flags, -1, arena);
		if (!c->last)
			return -1;
	}
	return 0;
}

static int compile_source(struct code *c, PyObject *text, PyObject *name)
{
	PyCompilerFlags flags = _PyCompilerFlags_INIT;
	Py_ssize_t length;
	const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
	PyArena *arena;
	int r = -1;

	if (!bytes)
		return -1;
	if ((size_t)length != strlen(bytes)) {
		PyErr_SetString(PyExc_ValueError,
				"source code string cannot contain null bytes");
		return -1;
	}
	arena = _PyArena_New();
	if (!arena)
		return -1;
	flags.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE | features;

	mod_ty tree = _PyParser_ASTFromString(bytes, name, Py_file_input, &flags, arena);

	if (tree)
		r = compile_tree(c, tree, bytes, name, &flags, arena);
	/* as from cell to cell of a notebook, and from line to line of a program */
	if (r == 0)
		features |= flags.cf_flags & PyCF_MASK;
	_PyArena_Free(arena);
	return r;
}

/* what a notebook would take: see rootfs/python/notebook.py; else the error stays */
static int compile_notebook(struct code *c, PyObject *text, PyObject *name)
{
	PyObject *type, *value, *trace, *module, *got;

	if (!PyErr_ExceptionMatches(PyExc_SyntaxError))
		return -1;
	PyErr_Fetch(&type, &value, &trace);
	Py_CLEAR(c->body);
	module = PyImport_ImportModule("stepjail_notebook");
	got = module ? PyObject_CallMethod(module, "compiled", "OO", text, name) : NULL;
	Py_XDECREF(module);
	if (got && PyTuple_Check(got) &&
	    PyArg_ParseTuple(got, "OOO", &c->body, &c->last, &c->wait)) {
		c->body = c->body == Py_None ? NULL : Py_NewRef(c->body);
		c->last = c->last == Py_None ? NULL : Py_NewRef(c->last);
		Py_INCREF(c->wait);
	}
	/* its own is about the same text, without what a notebook would take */
	if (!c->wait && (got || (!PyErr_ExceptionMatches(PyExc_SyntaxError) &&
				 PyErr_ExceptionMatches(PyExc_Exception)))) {
		PyErr_Restore(type, value, trace);
	} else {
		Py_XDECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(trace);
	}
	Py_XDECREF(got);
	return c->wait ? 0 : -1;
}

/* `In [1]: x = 2` is Python, too, and means nothing */
static int compile_prompted(struct code *c, PyObject *text, PyObject *name)
{
	const char *bytes = PyUnicode_AsUTF8(text);

	if (!bytes || strncmp(bytes, "In [", 4) != 0) {
		PyErr_Clear(); /* compile_source() says it */
		return -1;
	}
	PyErr_SetNone(PyExc_SyntaxError);
	if (compile_notebook(c, text, name) == 0)
		return 0;
	PyErr_Clear();
	return -1;
}

int code_make(struct code *c, PyObject *text, PyObject *name)
{
	if ((!c->program && compile_prompted(c, text, name) == 0) ||
	    compile_source(c, text, name) == 0 ||
	    (!c->program && compile_notebook(c, text, name) == 0))
		return 0;
	return -1;
}

void code_drop(struct code *c)
{
	Py_CLEAR(c->body);
	Py_CLEAR(c->last);
	Py_CLEAR(c->wait);
}
