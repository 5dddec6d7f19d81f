/* SPDX-License-Identifier: MIT */
/*
 * limits.c - which limit an exception speaks of, and what the next step needs of them:
 * see limits.h
 *
 * Theory of operation
 *   A limit that is met softly is a call that fails: the kernel counts it nowhere, unless
 *   a cgroup does. Here alone it is known that the program failed for it. In a session
 *   stepjail is told, and names option and value in DONE. A program of python3 has nobody
 *   to tell but whoever reads its stderr, so the values are those that getrlimit(2) has.
 *
 *   A step may lower limits of its own process, and use up what there is. Between two
 *   steps the process needs some of it for a fork, and for a file operation. So its soft
 *   limits are put away while it rests. Where a hard limit was lowered, or threads hold
 *   the places, a step that could not be followed by any says so. And where all memory is
 *   used up, the error cannot be shown, and no step can be compiled that would free some:
 *   that is what a reserve is given away for.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/wire.h"
#include "rootfs/interpreter/limits.h"

/* processes that share this one's memory, made one by the other, and there at once */
struct place {
	char stack[16384] __attribute__((aligned(16)));
	struct place *next;
	int errnum; /* of this one or one behind it: why it could not be made */
};

static int take_places(void *first)
{
	struct place *p = first;
	pid_t pid;

	if (!p)
		return 0;
	pid = clone(take_places, p->stack + sizeof(p->stack), CLONE_VM | CLONE_VFORK,
		    p->next);
	p->errnum = pid < 0 ? errno : 0;
	while (pid > 0 && waitpid(pid, NULL, (int)__WCLONE) < 0 && errno == EINTR)
		;
	if (p->next && p->errnum == 0)
		p->errnum = p->next->errnum;
	return 0;
}

/* Return: errno of clone(2), or 0: there is room for @count processes more, 1 or 2 */
static int missing_places(size_t count)
{
	struct place place[2] = { 0 };

	place[0].next = count > 1 ? place + 1 : NULL;
	(void)take_places(place);
	return place[0].errnum;
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
	if (n == EAGAIN) /* sockets say so as well */
		return missing_places(1) == EAGAIN ? WIRE_MET_TASKS : 0;
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

/* one more of the blocks that CPython asks for, and one of the C library's */
#define RESERVE_BYTES (2u << 20)
static void *reserve; /* address space that counts as memory, and has no page */

static void reserve_take(void)
{
	void *got = reserve ? reserve
			    : mmap(NULL, RESERVE_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	reserve = got == MAP_FAILED ? NULL : got;
}

/* what a resting process needs */
static struct {
	int resource;
	uint32_t met;
	rlim_t needed;
	rlim_t kept; /* the step's own soft limit, while it rests */
} needs[] = {
	{ RLIMIT_NOFILE, WIRE_MET_FILES, 0, 0 },
	{ RLIMIT_NPROC, WIRE_MET_TASKS, 0, 0 },
	{ RLIMIT_FSIZE, 0, 0, 0 }, /* of a PUT; no need of a step */
	{ RLIMIT_AS, 0, 0, 0 },
	{ RLIMIT_DATA, 0, 0, 0 },
};
#define NEEDS (sizeof(needs) / sizeof(needs[0]))

/* the C libraries disagree on what type a resource is of */
static int get_limit(int resource, struct rlimit *limit)
{
	return (int)syscall(SYS_prlimit64, 0, resource, NULL, limit);
}

static void set_soft(int resource, struct rlimit limit, rlim_t soft)
{
	limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
	(void)syscall(SYS_prlimit64, 0, resource, &limit, NULL);
}

void limits_begin(unsigned int files)
{
	struct rlimit now;

	reserve_take();
	for (size_t i = 0; i < NEEDS; i++) {
		if (get_limit(needs[i].resource, &now) < 0)
			continue;
		needs[i].needed = needs[i].kept = now.rlim_cur;
		if (needs[i].resource == RLIMIT_NOFILE && files < now.rlim_cur)
			needs[i].needed = files;
	}
}

uint32_t limits_rest(bool threads, uint32_t met)
{
	uint32_t barred = 0;
	struct rlimit now;

	if (!(met & WIRE_MET_MEMORY))
		reserve_take();
	for (size_t i = 0; i < NEEDS; i++) {
		if (get_limit(needs[i].resource, &now) < 0)
			continue;
		needs[i].kept = now.rlim_cur;
		if (now.rlim_cur < needs[i].needed)
			set_soft(needs[i].resource, now, needs[i].needed);
		if (now.rlim_max < needs[i].needed)
			barred |= needs[i].met;
	}
	/* a process that has threads is forked by way of another: see fork.c */
	if (threads || (barred & WIRE_MET_TASKS)) {
		barred &= ~(uint32_t)WIRE_MET_TASKS;
		if (missing_places(threads ? 2 : 1))
			barred |= WIRE_MET_TASKS;
	}
	return barred;
}

void limits_resume(void)
{
	struct rlimit now;

	for (size_t i = 0; i < NEEDS; i++)
		if (needs[i].kept < needs[i].needed &&
		    get_limit(needs[i].resource, &now) == 0)
			set_soft(needs[i].resource, now, needs[i].kept);
}

uint32_t limits_met(PyObject *problem)
{
	if (!problem)
		return 0;
	if (PyErr_GivenExceptionMatches(problem, PyExc_MemoryError)) {
		if (reserve)
			(void)munmap(reserve, RESERVE_BYTES);
		reserve = NULL;
		return WIRE_MET_MEMORY;
	}
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

		if ((rows[i].met & met) && get_limit(rows[i].resource, &limit) == 0 &&
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
