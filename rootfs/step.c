/* SPDX-License-Identifier: MIT */
/*
 * step.c - the interpreter: Python and the session's variables
 *
 * Theory of operation
 *   Waits for WIRE_RUN in C, without the GIL, so that a step's threads go on between
 *   steps; hands the source to runner.py; sends what came of it. SIGINT reaches Python
 *   only while a step runs: one that comes too late for its step must not strike the
 *   next. How much CPU time and memory a step took is this process's own word, and as
 *   good as it; a dead interpreter's is the kernel's.
 *
 *   User code shares this process, so nothing here is a wall, and the supervisor believes
 *   nothing of it that could hurt anyone but the session.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/wire.h"
#include "rootfs/python.h"
#include "rootfs/steps.h"

/* an outcome on its way to the supervisor; the objects own the texts' bytes */
struct outcome {
	struct wire_done done;
	PyObject *result;
	PyObject *trace;
};

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
	config.faulthandler = 1; /* a crash says where, on stderr */
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

/* the runner's run(), or no return at all */
static PyObject *load_runner(void)
{
	PyStatus status = initialise();

	if (PyStatus_Exception(status))
		Py_ExitStatusException(status);

	PyObject *runner = PyImport_ImportModule("stepjail_runner");
	PyObject *started =
		runner ? PyObject_CallMethod(runner, "start", "I", STEPS_TEXT_MAX) : NULL;
	PyObject *run = started ? PyObject_GetAttrString(runner, "run") : NULL;

	if (!run) {
		PyErr_Print();
		exit(1);
	}
	Py_DECREF(started);
	Py_DECREF(runner);
	return run;
}

/* CPU time of this process and the children it waited for; the larger of their peaks */
static void usage(uint64_t *cpu_us, uint64_t *rss_bytes)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };

	*cpu_us = *rss_bytes = 0;
	for (size_t i = 0; i < 2; i++) {
		struct rusage used = { 0 };

		(void)getrusage(whose[i], &used);
		*cpu_us += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
				   1000000 +
			   (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
		uint64_t peak = (uint64_t)used.ru_maxrss * 1024;
		if (peak > *rss_bytes)
			*rss_bytes = peak;
	}
}

/* runner.py failed itself: out of memory, or interrupted on its last lines */
static PyObject *failure(void)
{
	PyObject *type, *value, *trace;

	PyErr_Fetch(&type, &value, &trace);

	const char *name = type && PyType_Check(type) ? ((PyTypeObject *)type)->tp_name
						      : "unknown exception";
	PyObject *text = PyBytes_FromFormat("%.200s\n", name);

	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
	PyErr_Clear();
	return text;
}

static void run_step(PyObject *run, const struct steps_mail *mail, uint32_t step,
		     struct outcome *o)
{
	uint64_t before_us, rss_bytes;

	usage(&before_us, &rss_bytes);

	PyObject *got = PyObject_CallFunction(run, "y#I", mail->source,
					      (Py_ssize_t)mail->length, step);
	PyObject *result = NULL, *trace = NULL;

	if (got &&
	    PyArg_ParseTuple(got, "IIOO", &o->done.how, &o->done.code, &result, &trace)) {
		o->result = PyBytes_Check(result) ? Py_NewRef(result) : NULL;
		o->trace = PyBytes_Check(trace) ? Py_NewRef(trace) : NULL;
	} else {
		o->done.how = WIRE_HOW_EXCEPTION;
		o->trace = failure();
	}
	Py_XDECREF(got);
	(void)fflush(NULL); /* what C code of the step has not written yet */
	usage(&o->done.cpu_us, &o->done.max_rss_bytes);
	o->done.cpu_us -= before_us;
}

/* the supervisor is gone: so is the session */
static void send_or_end(int channel, uint16_t type, uint32_t step, const void *bytes,
			size_t length)
{
	if (wire_send(channel, type, step, bytes, length) < 0)
		_exit(1);
}

static void send_text(int channel, uint16_t type, uint32_t step, PyObject *bytes)
{
	if (bytes)
		send_or_end(channel, type, step, PyBytes_AS_STRING(bytes),
			    (size_t)PyBytes_GET_SIZE(bytes));
	Py_XDECREF(bytes);
}

static uint32_t next_step(int channel)
{
	struct wire_header h;
	int r;

	Py_BEGIN_ALLOW_THREADS r = wire_recv(channel, &h, NULL, 0);
	Py_END_ALLOW_THREADS if (r < 0 || h.type != WIRE_RUN) _exit(1);
	return h.step;
}

_Noreturn void step_serve(int channel, const struct steps_mail *mail)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	struct sigaction python;
	PyObject *run = load_runner();

	(void)sigaction(SIGINT, &ignore, &python);
	send_or_end(channel, WIRE_STARTED, 0, NULL, 0);
	for (;;) {
		uint32_t step = next_step(channel);
		struct outcome o = { 0 };

		(void)sigaction(SIGINT, &python, NULL);
		run_step(run, mail, step, &o);
		/* ignoring it drops one that is pending; then Python's own note of one */
		(void)sigaction(SIGINT, &ignore, &python);
		if (PyErr_CheckSignals() < 0)
			PyErr_Clear();

		send_text(channel, WIRE_RESULT, step, o.result);
		send_text(channel, WIRE_TRACE, step, o.trace);
		send_or_end(channel, WIRE_DONE, step, &o.done, sizeof(o.done));
	}
}
