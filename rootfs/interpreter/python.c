/* SPDX-License-Identifier: MIT */
/*
 * python.c - main() of the one ELF in the tree: /bin/python3 and its other names
 *
 * Theory of operation
 *   The last part of argv[0] decides. stepjail-interpreter is a session's first state
 *   (state.h); anything else is python3 as everybody knows it: -c, -m, -I, -S, a script,
 *   a script on stdin.
 *
 *   A start does as little as it can. Paths are constants of the tree, so CPython's
 *   search for them (getpath.py: a dozen failing opens) is replaced by
 *   _PyConfig_InitPathConfig() below, which the linker finds before the archive's. The
 *   codecs that every start needs lie in the ELF (`frozen` rows of core.manifest). No
 *   locale is set.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "rootfs/interpreter/clock.h"
#include "rootfs/interpreter/limits.h"
#include "rootfs/interpreter/python.h"
#include "rootfs/interpreter/state.h"
#include "rootfs/interpreter/tables.h"

#define EXECUTABLE "/bin/python3"
#define LIBRARY "/lib/python" PYTHON_VERSION
#define WIDE(text) L"" text

/* what getpath.py would find out */
static const struct {
	size_t field;
	const wchar_t *value;
} places[] = {
	{ offsetof(PyConfig, program_name), WIDE(EXECUTABLE) },
	{ offsetof(PyConfig, executable), WIDE(EXECUTABLE) },
	{ offsetof(PyConfig, base_executable), WIDE(EXECUTABLE) },
	{ offsetof(PyConfig, prefix), L"/" },
	{ offsetof(PyConfig, base_prefix), L"/" },
	{ offsetof(PyConfig, exec_prefix), L"/" },
	{ offsetof(PyConfig, base_exec_prefix), L"/" },
	{ offsetof(PyConfig, platlibdir), L"lib" },
	{ offsetof(PyConfig, stdlib_dir), WIDE(LIBRARY) },
};

/* sys.path: $PYTHONPATH unless -E or -I, then the tree's own */
static PyStatus search_path(PyConfig *config)
{
	const wchar_t *at = config->pythonpath_env;
	PyWideStringList *paths = &config->module_search_paths;

	while (at && *at) {
		size_t length = wcscspn(at, L":");
		wchar_t *part = PyMem_RawCalloc(length + 1, sizeof(*part));

		if (!part)
			return PyStatus_NoMemory();
		wmemcpy(part, at, length);

		PyStatus status = PyWideStringList_Append(paths, part);

		PyMem_RawFree(part);
		if (PyStatus_Exception(status))
			return status;
		at += length + (at[length] == L':');
	}
	config->module_search_paths_set = 1;
	for (const wchar_t *const *path = tree_paths; *path; path++) {
		PyStatus status = PyWideStringList_Append(paths, *path);

		if (PyStatus_Exception(status))
			return status;
	}
	return PyStatus_Ok();
}

/* pycore_pathconfig.h, which is CPython's own; a later one without it runs its getpath.py
 */
PyStatus _PyConfig_InitPathConfig(PyConfig *config, int compute);

PyStatus _PyConfig_InitPathConfig(PyConfig *config, int compute)
{
	if (!compute || config->module_search_paths_set)
		return PyStatus_Ok();
	return search_path(config);
}

PyStatus python_begin(int argc, char **argv)
{
	PyPreConfig pre;

	for (const struct module_row *row = module_rows; row->name; row++)
		if (PyImport_AppendInittab(row->name, row->init) < 0)
			return PyStatus_NoMemory();
	PyImport_FrozenModules = frozen_rows;

	PyPreConfig_InitPythonConfig(&pre);
	/* text is UTF-8 here, whatever the environment says: no locale's files are read
	 */
	pre.utf8_mode = 1;
	pre.configure_locale = 0;
	pre.coerce_c_locale = 0;
	return Py_PreInitializeFromBytesArgs(&pre, argc, argv);
}

/* whatever -I and -E say of the environment: see rootfs/python/deterministic.py */
static const char *fixed_seed(void)
{
	return getenv("STEPJAIL_DETERMINISTIC");
}

PyStatus python_config(PyConfig *config)
{
	const char *seed = fixed_seed();

	config->use_hash_seed = seed ? 1 : config->use_hash_seed;
	config->hash_seed = seed ? strtoul(seed, NULL, 10) : config->hash_seed;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		void *field = (char *)config + places[i].field;
		PyStatus status = PyConfig_SetString(config, field, places[i].value);

		if (PyStatus_Exception(status))
			return status;
	}
	return PyStatus_Ok();
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

static PyMethodDef finder_methods[] = { { "find_spec", find_spec, METH_VARARGS, NULL },
					{ NULL, NULL, 0, NULL } };

static struct PyModuleDef finder_module = {
	.m_base = PyModuleDef_HEAD_INIT,
	.m_name = "stepjail_absent",
	.m_methods = finder_methods,
};

/* Once Python has started: the last finder of sys.meta_path. It is asked for what nobody
 * else has found, and asks rootfs/python/lacking.py, which is imported then. */
static int install_finder(void)
{
	PyObject *finders = PySys_GetObject("meta_path");
	PyObject *finder = PyModule_Create(&finder_module);
	int r = finders && finder ? PyList_Append(finders, finder) : -1;

	Py_XDECREF(finder);
	return r;
}

PyStatus python_start(PyConfig *config)
{
	PyStatus status = Py_InitializeFromConfig(config);

	PyConfig_Clear(config);
	if (PyStatus_Exception(status))
		return status;
	if (fixed_seed()) {
		PyObject *module = PyImport_ImportModule("stepjail_deterministic");

		if (!module)
			return PyStatus_Error("cannot make the run deterministic");
		Py_DECREF(module);
	}
	if (install_finder() < 0)
		return PyStatus_Error("cannot add a finder of modules");
	return python_freeze() < 0
		       ? PyStatus_Error("cannot freeze the collector's generations")
		       : status;
}

int python_freeze(void)
{
	PyObject *gc = PyImport_ImportModule("gc");
	PyObject *done = gc ? PyObject_CallMethod(gc, "freeze", NULL) : NULL;

	Py_XDECREF(gc);
	if (!done)
		return -1;
	Py_DECREF(done);

	/* A function of the program holds __main__'s names in a cycle. Frozen, they would
	 * not go at exit, and a file among them that was never closed would not be
	 * written. */
	PyObject *main_module = PyImport_AddModule("__main__");

	if (!main_module)
		return -1;

	PyObject *names = PyModule_GetDict(main_module);

	PyObject_GC_UnTrack(names);
	PyObject_GC_Track(names);
	return 0;
}

static int python_main(int argc, char **argv)
{
	PyConfig config;
	PyStatus status = python_begin(argc, argv);

	if (!PyStatus_Exception(status)) {
		PyConfig_InitPythonConfig(&config);
		status = PyConfig_SetBytesArgv(&config, argc, argv);
	}
	if (!PyStatus_Exception(status))
		status = python_config(&config);
	if (!PyStatus_Exception(status))
		status = python_start(&config);
	if (!PyStatus_Exception(status) && limits_install() < 0)
		status = PyStatus_NoMemory();
	if (PyStatus_Exception(status))
		Py_ExitStatusException(status); /* --version and --help end here too */
	return Py_RunMain();
}

int main(int argc, char **argv)
{
	const char *slash = argc ? strrchr(argv[0], '/') : NULL;
	const char *name = slash ? slash + 1 : argc ? argv[0] : "";

	for (const struct env_row *row = tree_env; row->name; row++)
		(void)setenv(row->name, row->value, 0);
	if (strcmp(name, "stepjail-interpreter") == 0)
		return interpreter_main(argc, argv);
	clock_begin(); /* of a session, later: run_begin() */
	return python_main(argc, argv);
}
