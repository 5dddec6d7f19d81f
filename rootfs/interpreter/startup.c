/* SPDX-License-Identifier: MIT */
/*
 * startup.c - an interpreter's start, up to where it may wait for steps: see state.h
 *
 * What the code of steps writes must be in its files when a step ends, so files that can
 * be written have to be known then, at no cost for a step that opens none. Each of them
 * is an object of three types, whose constructors note it here, by a weak reference, in a
 * list of ends.py's. Types of the user's that are derived from these have the same
 * constructor.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rootfs/interpreter/media.h"
#include "rootfs/interpreter/python.h"
#include "rootfs/interpreter/source.h"
#include "rootfs/interpreter/state.h"
#include "rootfs/interpreter/tables.h"

#define NOTES_MIN 64

static struct {
	PyObject *list;
	Py_ssize_t most; /* that it has before those are taken out that are gone */
} notes;

static void notes_prune(void)
{
	Py_ssize_t count = PyList_GET_SIZE(notes.list), kept = 0;

	for (Py_ssize_t i = 0; i < count; i++) {
		PyObject *note = PyList_GET_ITEM(notes.list, i);

		if (PyWeakref_GET_OBJECT(note) == Py_None)
			continue;
		PyList_SET_ITEM(notes.list, i, PyList_GET_ITEM(notes.list, kept));
		PyList_SET_ITEM(notes.list, kept++, note);
	}
	(void)PyList_SetSlice(notes.list, kept, count, NULL);
	notes.most = 2 * kept > NOTES_MIN ? 2 * kept : NOTES_MIN;
}

/* tp_new of the three types */
static PyObject *new_file(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	PyObject *file = PyType_GenericNew(type, args, kwargs);
	PyObject *note = file ? PyWeakref_NewRef(file, NULL) : NULL;

	if (note && PyList_GET_SIZE(notes.list) >= notes.most)
		notes_prune();
	if (!note || PyList_Append(notes.list, note) < 0)
		Py_CLEAR(file);
	Py_XDECREF(note);
	return file;
}

static int note_files(void)
{
	static const char *const names[] = { "BufferedWriter", "BufferedRandom",
					     "TextIOWrapper" };
	PyObject *ends = PyImport_ImportModule("stepjail_ends");
	PyObject *io = ends ? PyImport_ImportModule("_io") : NULL;

	notes.list = io ? PyObject_GetAttrString(ends, "_files") : NULL;
	notes.most = NOTES_MIN;
	Py_XDECREF(ends);
	for (size_t i = 0; notes.list && i < sizeof(names) / sizeof(*names); i++) {
		PyObject *type = PyObject_GetAttrString(io, names[i]);

		/* types that are made later have theirs from these */
		if (type && ((PyTypeObject *)type)->tp_new == PyType_GenericNew)
			((PyTypeObject *)type)->tp_new = new_file;
		else if (type)
			PyErr_Format(PyExc_SystemError, "%s is made in another way",
				     names[i]);
		Py_XDECREF(type);
	}
	Py_XDECREF(io);
	return PyErr_Occurred() ? -1 : 0;
}

static PyStatus initialise(void)
{
	PyConfig config;
	PyStatus status = python_begin(0, NULL);

	if (PyStatus_Exception(status))
		return status;
	PyConfig_InitPythonConfig(&config);
	config.use_environment = 0;
	config.user_site_directory = 0;
	config.parse_argv = 0;
	config.write_bytecode = 0;
	status = python_config(&config);
	if (!PyStatus_Exception(status))
		status = PyConfig_SetString(&config, &config.stdio_encoding, L"utf-8");
	if (!PyStatus_Exception(status))
		status = PyConfig_SetString(&config, &config.stdio_errors,
					    L"backslashreplace");
	if (!PyStatus_Exception(status))
		status = python_start(&config);
	return status;
}

static int import_each(const char *names)
{
	char *copy = strdup(names);
	char *rest = NULL;
	int r = copy ? 0 : -1;

	for (char *name = copy ? strtok_r(copy, ",", &rest) : NULL; name && r == 0;
	     name = strtok_r(NULL, ",", &rest)) {
		PyObject *module = PyImport_ImportModule(name);

		if (!module)
			r = -1;
		Py_XDECREF(module);
	}
	free(copy);
	return r;
}

/* what cannot be started cannot be served: say why, and end */
static void check(int r)
{
	if (r == 0)
		return;
	if (PyErr_Occurred())
		PyErr_Print();
	else
		(void)fputs("stepjail-interpreter: out of memory\n", stderr);
	exit(1);
}

void ready_python(const char *preload, bool template, uint64_t media_bytes)
{
	PyStatus status = initialise();

	if (PyStatus_Exception(status))
		Py_ExitStatusException(status);

	PyObject *runner = PyImport_ImportModule("stepjail_runner");
	PyObject *started = runner ? PyObject_CallMethod(runner, "start", "Ii",
							 STEP_TEXT_MAX, template)
				   : NULL;

	check(started ? 0 : -1);
	Py_DECREF(started);
	check(source_prepare(runner));
	check(preload ? import_each(preload) : 0);
	check(media_prepare(runner, media_bytes));
	/* behind that: a module may have handlers of its own */
	check(run_prepare(runner));
	check(source_warm());
	check(note_files());
	/* a collection now, so that what importing left is not frozen with the rest */
	(void)PyGC_Collect();
	check(python_freeze());
	Py_DECREF(runner);
}

int interpreter_main(int argc, char **argv)
{
	bool template = argc > 1 && strcmp(argv[1], "--template") == 0;
	const char *preload = template ? tree_preload : NULL;
	uint64_t media_bytes = 0;

	for (argv += 1 + template; argv[0] && argv[1]; argv += 2) {
		if (strcmp(argv[0], "--preload") == 0)
			preload = argv[1];
		else if (strcmp(argv[0], "--media-limit") == 0)
			media_bytes = strtoull(argv[1], NULL, 10);
		else
			break;
	}
	if (argv[0]) {
		(void)fputs(
			"usage: stepjail-interpreter [--template] [--media-limit BYTES] [--preload MODULE,...]\n",
			stderr);
		return 2;
	}

	int r = template ? template_begin() : 0;

	if (r < 0) {
		(void)fprintf(stderr, "stepjail-interpreter: fork: %s\n", strerror(-r));
		return 1;
	}

	/* stdin is the channel: Python must not take it for its own */
	int channel = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (channel < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0) {
		(void)fprintf(stderr, "stepjail-interpreter: %s: %s\n",
			      channel < 0 ? "no channel on descriptor 0" : "/dev/null",
			      strerror(errno));
		return 1;
	}
	(void)close(null);
	ready_python(preload, template, media_bytes);
	if (template)
		channel = template_wait(channel);
	state_serve(channel);
}
