/* SPDX-License-Identifier: MIT */
/*
 * limits.c - which limit of the jail an exception speaks of: see limits.h
 *
 * Theory of operation
 *   A limit that is met softly is a call that fails: the kernel counts it nowhere, unless
 *   a cgroup does. Here alone it is known that the program failed for it. In a session
 *   stepjail is told, and names option and value in DONE. A program of python3 has nobody
 *   to tell but whoever reads its stderr, so the values are those that getrlimit(2) has.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/wire.h"
#include "rootfs/interpreter/limits.h"

static int end_at_once(void *none)
{
	(void)none;
	_exit(0);
}

/* EAGAIN is what sockets say as well. Is there room for one process more? */
static uint32_t met_by_process(void)
{
	static char stack[16384] __attribute__((aligned(16)));
	pid_t pid =
		clone(end_at_once, stack + sizeof(stack), CLONE_VM | CLONE_VFORK, NULL);

	if (pid < 0)
		return errno == EAGAIN ? WIRE_MET_TASKS : 0;
	while (waitpid(pid, NULL, (int)__WCLONE) < 0 && errno == EINTR)
		;
	return 0;
}

/* by the errno of an OSError */
static const struct {
	int errnum;
	uint32_t met;
} errors[] = {
	{ ENOMEM, WIRE_MET_MEMORY },   { EMFILE, WIRE_MET_FILES },
	{ ENOSPC, WIRE_MET_DISK },     { EDQUOT, WIRE_MET_DISK },
	{ EFBIG, WIRE_MET_FILE_SIZE },
};

static uint32_t met_by_errno(PyObject *problem)
{
	PyObject *number = PyObject_GetAttrString(problem, "errno");
	long n = number && PyLong_Check(number) ? PyLong_AsLong(number) : 0;

	Py_XDECREF(number);
	PyErr_Clear();
	if (n == EAGAIN)
		return met_by_process();
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (errors[i].errnum == n)
			return errors[i].met;
	return 0;
}

/* A thread takes a place, and memory for its stack. Is it that which is not there? */
static uint32_t met_by_thread(void)
{
	pthread_attr_t plain;
	size_t size = 0;
	void *stack;

	if (pthread_attr_init(&plain) == 0)
		(void)pthread_attr_getstacksize(&plain, &size);
	stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (stack == MAP_FAILED)
		return errno == ENOMEM ? WIRE_MET_MEMORY : 0;
	(void)munmap(stack, size);
	return WIRE_MET_TASKS;
}

/* CPython's own words; a RuntimeError of anybody else's has others */
static bool is_thread(PyObject *problem)
{
	PyObject *text = PyObject_Str(problem);
	bool is = text && PyUnicode_Check(text) &&
		  PyUnicode_CompareWithASCIIString(text, "can't start new thread") == 0;

	Py_XDECREF(text);
	PyErr_Clear();
	return is;
}

uint32_t limits_met(PyObject *problem)
{
	if (!problem)
		return 0;
	if (PyErr_GivenExceptionMatches(problem, PyExc_MemoryError))
		return WIRE_MET_MEMORY;
	if (PyErr_GivenExceptionMatches(problem, PyExc_OSError))
		return met_by_errno(problem);
	return Py_IS_TYPE(problem, (PyTypeObject *)PyExc_RuntimeError) &&
			       is_thread(problem)
		       ? met_by_thread()
		       : 0;
}

/* as getrlimit(2) has them; what has no limit, as memory in a cgroup, is not told */
static const struct {
	uint32_t met;
	int resource;
	const char *option;
} rows[] = {
	{ WIRE_MET_MEMORY, RLIMIT_DATA, "--memory (RLIMIT_DATA" },
	{ WIRE_MET_TASKS, RLIMIT_NPROC, "--pids (RLIMIT_NPROC" },
	{ WIRE_MET_FILES, RLIMIT_NOFILE, "--files (RLIMIT_NOFILE" },
	{ WIRE_MET_FILE_SIZE, RLIMIT_FSIZE, "--file-size (RLIMIT_FSIZE" },
};

static void say(uint32_t met)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rlimit limit;

		if ((rows[i].met & met) &&
		    /* the C libraries disagree on what type a resource is of */
		    syscall(SYS_prlimit64, 0, rows[i].resource, NULL, &limit) == 0 &&
		    limit.rlim_cur != RLIM_INFINITY)
			PySys_FormatStderr(
				"python3: perhaps a limit of the jail: %s is %llu)\n",
				rows[i].option, (unsigned long long)limit.rlim_cur);
	}
}

static PyObject *excepthook(PyObject *module, PyObject *args)
{
	PyObject *type, *value, *trace;

	(void)module;
	if (!PyArg_UnpackTuple(args, "excepthook", 3, 3, &type, &value, &trace))
		return NULL;
	PyErr_Display(type, value, trace);
	say(limits_met(value));
	Py_RETURN_NONE;
}

static PyMethodDef hook = { "excepthook", excepthook, METH_VARARGS,
			    "Handle an exception by displaying it on sys.stderr." };

int limits_install(void)
{
	PyObject *made = PyCFunction_New(&hook, NULL);
	int r = made && PySys_SetObject("excepthook", made) == 0
			? PySys_SetObject("__excepthook__", made)
			: -1;

	Py_XDECREF(made);
	return r;
}
