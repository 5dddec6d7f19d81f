/* SPDX-License-Identifier: MIT */
/*
 * startup.c - an interpreter's start, up to where it may wait for steps: see state.h
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
