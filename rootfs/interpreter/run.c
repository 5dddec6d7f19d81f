/* SPDX-License-Identifier: MIT */
/*
 * run.c - one step in a process of its own, up to where that is a state: see state.h
 *
 * Theory of operation
 *   A session is one program to its user, and one process as long as nothing goes wrong:
 *   the process that ran the step before runs this one. Before it does, it has forked the
 *   state as it is now (run_fork()), which sleeps. That one runs a step only where a
 *   branch comes back to it, and is then another process, with another id, without
 *   threads and without record locks (run_wake()).
 *   Python is not told of the fork: os.register_at_fork() is there for those that a
 *   program makes, and what it has done before a fork may wait for a thread without an
 *   end. What PyOS_AfterFork_Child() mends is what other threads leave behind, so it is
 *   called where there were some, when such a process wakes up.
 *
 *   The source runs with the signals unblocked that the last step did not block.
 *   Afterwards all are blocked again, and one that Python knows of already is taken and
 *   dropped: it came too late for this step and must not strike the next.
 *
 *   User code shares this process, so nothing here is a wall.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "rootfs/interpreter/clock.h"
#include "rootfs/interpreter/fork.h"
#include "rootfs/interpreter/limits.h"
#include "rootfs/interpreter/lines.h"
#include "rootfs/interpreter/media.h"
#include "rootfs/interpreter/probe.h"
#include "rootfs/interpreter/python.h"
#include "rootfs/interpreter/source.h"
#include "rootfs/interpreter/state.h"

/* Python's limit of recursion that its own code needs; a step may leave one of five */
#define DEPTH_MIN 200
#define SETTLE_SWITCH_US 10000000

static struct {
	sigset_t mask;   /* signals that the user's code has blocked */
	bool repeatable; /* $STEPJAIL_DETERMINISTIC: see rootfs/python/deterministic.py */
	bool threads_gone;       /* this process is a fork of one that had more */
	uint64_t resident_bytes; /* when its last step ended; 0 before its first */
	PyObject *conclude, *leave, *numbers, *alone; /* of runner.py */
	PyObject *drawn;         /* what numbers() said before the last fork */
	PyObject *files, *flush; /* of ends.py */
	/* sys.settrace()'s and sys.setprofile()'s, between steps */
	Py_tracefunc trace, profile;
	PyObject *trace_object, *profile_object;
} run;

struct use {
	uint64_t cpu_us, peak_bytes;
};

/* an outcome on its way; the objects own the texts' bytes */
struct outcome {
	struct wire_done done;
	PyObject *result;
	PyObject *trace;
};

/* what Python's own start does, unless a signal was ignored then */
static int set_signals(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	PyObject *module = PyImport_ImportModule("_signal");
	PyObject *handler =
		module ? PyObject_GetAttrString(module, "default_int_handler") : NULL;
	PyObject *old =
		handler ? PyObject_CallMethod(module, "signal", "iO", SIGINT, handler)
			: NULL;
	PyObject *faults = old ? PyImport_ImportModule("faulthandler") : NULL;
	/* a crash says where, on stderr */
	PyObject *on =
		faults ? PyObject_CallMethod(faults, "enable", "i", STDERR_FILENO) : NULL;

	Py_XDECREF(module);
	Py_XDECREF(handler);
	Py_XDECREF(old);
	Py_XDECREF(faults);
	if (!on)
		return -1;
	Py_DECREF(on);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	(void)sigaction(SIGXFSZ, &ignore, NULL);
	return 0;
}

int run_prepare(PyObject *runner)
{
	PyObject *ends = PyImport_ImportModule("stepjail_ends");

	if (!ends)
		return -1;
	run.conclude = PyObject_GetAttrString(runner, "conclude");
	run.leave = PyObject_GetAttrString(runner, "leave");
	run.numbers = PyObject_GetAttrString(runner, "numbers");
	run.alone = PyObject_GetAttrString(runner, "alone");
	run.files = PyObject_GetAttrString(ends, "_files");
	run.flush = PyObject_GetAttrString(ends, "flush_files");
	Py_DECREF(ends);
	if (!run.conclude || !run.leave || !run.numbers || !run.alone || !run.files ||
	    !run.flush)
		return -1;
	return set_signals();
}

void run_begin(void)
{
	(void)sigemptyset(&run.mask);
	clock_begin();
	run.repeatable = getenv("STEPJAIL_DETERMINISTIC") != NULL;
	if (!run.repeatable)
		return;

	/* whatever importing in a template has drawn */
	PyObject *module = PyImport_ImportModule("stepjail_deterministic");
	PyObject *begun = module ? PyObject_CallMethod(module, "begin", NULL) : NULL;

	if (!begun)
		Py_FatalError("stepjail_deterministic.begin");
	Py_DECREF(begun);
	Py_DECREF(module);
}

static uint64_t clock_us(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* of this process and the children that it waited for, since it is there */
static struct use take_use(void)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	struct use all = { 0 };

	for (size_t i = 0; i < 2; i++) {
		struct rusage used = { 0 };

		(void)getrusage(whose[i], &used);
		all.cpu_us += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
				      1000000 +
			      (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
		uint64_t peak = (uint64_t)used.ru_maxrss * 1024;
		if (peak > all.peak_bytes)
			all.peak_bytes = peak;
	}
	return all;
}

static uint64_t resident_bytes(void)
{
	char text[64];
	unsigned long long pages = 0;

	if (io_read_file_at(AT_FDCWD, "/proc/self/statm", text, sizeof(text)) > 0)
		(void)sscanf(text, "%*u %llu", &pages);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/*
 * A step's word about itself. The kernel keeps one peak for all steps of a process, and
 * lets no jail reset it. Of a step that stays below an earlier one's, what it had at its
 * start and has at its end is known.
 */
static void tell_use(struct wire_done *done, const struct use *before)
{
	struct use now = take_use();
	uint64_t at_start = run.resident_bytes;

	run.resident_bytes = resident_bytes();
	done->cpu_us = now.cpu_us - before->cpu_us;
	if (now.peak_bytes > before->peak_bytes)
		done->max_rss_bytes = now.peak_bytes;
	else
		done->max_rss_bytes =
			at_start > run.resident_bytes ? at_start : run.resident_bytes;
}

/* the exception that is set, as an object with its traceback; NULL for none */
static PyObject *take_exception(void)
{
	PyObject *type, *value, *trace;

	PyErr_Fetch(&type, &value, &trace);
	if (!type)
		return NULL;
	PyErr_NormalizeException(&type, &value, &trace);
	if (trace && value)
		(void)PyException_SetTraceback(value, trace);
	Py_DECREF(type);
	Py_XDECREF(trace);
	return value;
}

/* runner.py failed itself: out of memory, or interrupted on its last lines */
static PyObject *failure(void)
{
	PyObject *problem = take_exception();
	PyObject *text = PyBytes_FromFormat(
		"%.200s\n", problem ? Py_TYPE(problem)->tp_name : "unknown exception");

	Py_XDECREF(problem);
	PyErr_Clear();
	return text;
}

/* how the step has ended, from the exception that it has raised or not */
static void conclude(struct outcome *o)
{
	if (source_end())
		return;

	PyObject *problem = take_exception();

	/* now, while all is as it was when it was raised */
	o->done.met = limits_met(problem);

	PyObject *got = PyObject_CallOneArg(run.conclude, problem ? problem : Py_None);
	PyObject *trace = NULL;

	if (got && PyArg_ParseTuple(got, "IIO", &o->done.how, &o->done.code, &trace)) {
		o->trace = PyBytes_Check(trace) ? Py_NewRef(trace) : NULL;
	} else {
		o->done.how = WIRE_HOW_EXCEPTION;
		o->trace = failure();
	}
	Py_XDECREF(got);
	Py_XDECREF(problem);
}

/* What watches each line or call of the code goes on in the next step, as in a program.
 * It would watch a step's end, too. */
static void unwatch(void)
{
	PyThreadState *t = PyThreadState_Get();

	run.trace = t->c_tracefunc;
	run.profile = t->c_profilefunc;
	run.trace_object = Py_XNewRef(t->c_traceobj);
	run.profile_object = Py_XNewRef(t->c_profileobj);
	PyEval_SetTrace(NULL, NULL);
	PyEval_SetProfile(NULL, NULL);
}

static void watch_again(void)
{
	if (run.trace)
		PyEval_SetTrace(run.trace, run.trace_object);
	if (run.profile)
		PyEval_SetProfile(run.profile, run.profile_object);
	Py_CLEAR(run.trace_object);
	Py_CLEAR(run.profile_object);
}

static void run_source(int fd, uint32_t step, struct outcome *o)
{
	sigset_t all;
	PyObject *text = source_begin() == 0 ? source_read(fd) : NULL;

	(void)close(fd);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &run.mask, NULL);
	watch_again();
	if (text)
		o->result = source_run(text, step);
	Py_XDECREF(text);
	unwatch();
	if (Py_GetRecursionLimit() < DEPTH_MIN)
		Py_SetRecursionLimit(DEPTH_MIN);
	media_end();
	conclude(o);
	if (PyList_GET_SIZE(run.files))
		Py_XDECREF(PyObject_CallNoArgs(run.flush));
	PyErr_Clear();
	lines_prune();
	media_rest();
	(void)sigprocmask(SIG_SETMASK, &all, &run.mask);
	if (PyErr_CheckSignals() < 0)
		PyErr_Clear();
}

static _Noreturn void leave(const struct outcome *o)
{
	(void)fflush(NULL);
	if (o->trace)
		(void)io_write_all(STDERR_FILENO, PyBytes_AS_STRING(o->trace),
				   (size_t)PyBytes_GET_SIZE(o->trace));
	_exit(o->done.how == WIRE_HOW_EXCEPTION ? 1 : (int)o->done.code);
}

/* how many threads Python knows of beside this one */
static int python_threads(void)
{
	PyThreadState *t = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
	int count = -1;

	for (; t; t = PyThreadState_Next(t))
		count++;
	return count;
}

pid_t run_fork(void)
{
	unsigned long interval_us = _PyEval_GetSwitchInterval();
	pid_t pid;

	if (fork_threads() == 0)
		return fork_sibling();
	Py_XDECREF(PyObject_CallNoArgs(run.leave));
	PyErr_Clear();
	/* now: in the fork nothing of Python may run before PyOS_AfterFork_Child(), as a
	 * thread that is gone may have asked for the GIL, and be waited for to take it */
	Py_XSETREF(run.drawn, PyObject_CallNoArgs(run.numbers));
	PyErr_Clear();
	/* those that wait for the GIL need not wake up to ask for it */
	_PyEval_SetSwitchInterval(SETTLE_SWITCH_US);
	pid = fork_among();
	_PyEval_SetSwitchInterval(interval_us);
	run.threads_gone |= pid == 0;
	return pid;
}

void run_wake(void)
{
	if (run.threads_gone) {
		PyOS_AfterFork_Child(); /* which has random seed itself anew */
		Py_XDECREF(run.drawn ? PyObject_CallOneArg(run.alone, run.drawn) : NULL);
		PyErr_Clear();
	}
	run.threads_gone = false;
	source_wake(run.repeatable);
}

static void send_text(int channel, uint16_t type, uint32_t step, PyObject *bytes)
{
	if (bytes && PyBytes_Check(bytes) &&
	    wire_send(channel, type, step, PyBytes_AS_STRING(bytes),
		      (size_t)PyBytes_GET_SIZE(bytes)) < 0)
		_exit(1);
	Py_XDECREF(bytes);
}

/* what C code of the step has not written yet; a thread that waits for input, say, holds
 * its FILE */
static void flush_files(int threads)
{
	FILE *const files[] = { stdout, stderr };

	if (threads == 0)
		(void)fflush(NULL);
	for (size_t i = 0; threads != 0 && i < 2; i++)
		if (ftrylockfile(files[i]) == 0) {
			(void)fflush_unlocked(files[i]);
			funlockfile(files[i]);
		}
}

bool run_step(int channel, int source, uint32_t step)
{
	uint64_t begun_us = clock_us();
	struct use before = take_use();
	struct outcome o = { 0 };
	pid_t owner = getpid();

	media_begin(channel, step);
	run_source(source, step, &o);
	/* a process that the step forked is at the step's end: it ends as a script
	 * does */
	if (getpid() != owner)
		leave(&o);
	tell_use(&o.done, &before);

	/* one that Python has joined may not be gone yet */
	int known = python_threads(), threads = fork_ended(known);

	if (threads < 0) /* no /proc to count them by */
		threads = known;
	flush_files(threads);
	o.done.strays = (uint32_t)threads;
	o.done.barred = limits_rest(threads > 0, o.done.met);
	state_quiet();
	send_text(channel, WIRE_RESULT, step, o.result);
	send_text(channel, WIRE_TRACE, step, o.trace);
	o.done.wall_us = clock_us() - begun_us;
	if (wire_send(channel, WIRE_DONE, step, &o.done, sizeof(o.done)) < 0)
		_exit(1);
	return threads > 0;
}
