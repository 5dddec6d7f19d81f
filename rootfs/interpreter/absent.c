/* SPDX-License-Identifier: MIT */
/*
 * absent.c - programs and modules that the tree does not have: see absent.h
 *
 * Theory of operation
 *   Libraries look for programs: platform for uname, numpy for lscpu, matplotlib for
 *   fc-list, and are content when there is none. Under --lock-code each such look would
 *   be a refused call, told beside attacks, and deadly with --on-violation=kill. So
 *   CPython's calls of execve(2) and execv(3) are answered here, as the kernel would
 *   answer them, where there is no such file; the linker hands them over (--wrap, in
 *   rootfs/trees/build). A program that is there goes to the kernel, and its filter.
 *
 *   It is a convenience for honest code and no wall. os.system() is not among them: only
 *   code that means to start a shell calls it.
 */
#include "rootfs/interpreter/absent.h"

#include <unistd.h>

#include "rootfs/interpreter/python.h"

/* the linker's names for what a call was, and what it is made */
int __real_execve(const char *path, char *const *argv, char *const *env);
int __real_execv(const char *path, char *const *argv);
int __wrap_execve(const char *path, char *const *argv, char *const *env);
int __wrap_execv(const char *path, char *const *argv);

/* errno of access(2) is what that of execve(2) would be: ENOENT, ENOTDIR, EACCES */
int __wrap_execve(const char *path, char *const *argv, char *const *env)
{
	return access(path, X_OK) < 0 ? -1 : __real_execve(path, argv, env);
}

int __wrap_execv(const char *path, char *const *argv)
{
	return access(path, X_OK) < 0 ? -1 : __real_execv(path, argv);
}

static PyObject *find_spec(PyObject *module, PyObject *args)
{
	PyObject *lacking = PyImport_ImportModule("stepjail_lacking");
	PyObject *find = lacking ? PyObject_GetAttrString(lacking, "find_spec") : NULL;
	PyObject *spec = find ? PyObject_CallObject(find, args) : NULL;

	(void)module;
	Py_XDECREF(lacking);
	Py_XDECREF(find);
	return spec;
}

static PyMethodDef methods[] = { { "find_spec", find_spec, METH_VARARGS, NULL },
				 { NULL, NULL, 0, NULL } };

static struct PyModuleDef definition = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "stepjail_absent",
	.m_methods = methods,
};

int absent_install(void)
{
	PyObject *finders = PySys_GetObject("meta_path");
	PyObject *finder = PyModule_Create(&definition);
	int r = finders && finder ? PyList_Append(finders, finder) : -1;

	Py_XDECREF(finder);
	return r;
}
