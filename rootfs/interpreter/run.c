/* SPDX-License-Identifier: MIT */
/*
 * run.c - one step in a process of its own, up to where that is a state: see state.h
 *
 * Theory of operation
 *   The process has just been forked from a state, which held the GIL and still does.
 *   Python is not told of that fork. What PyOS_AfterFork_Child() mends is what other
 *   threads leave behind, and there was one; and os.register_at_fork() is there for forks
 *   that a program makes, whereas to its user a session is one program. What of it does
 *   matter, source_begin() does. That saves a tenth of a short step's time.
 *
 *   The source runs with the signals unblocked that the last step did not block.
 *   Afterwards all are blocked again, and one that Python knows of already is taken and
 *   dropped: it came too late for this step and must not strike the next.
 *
 *   A thread cannot be part of a snapshot. When the step leaves some, the process forks
 *   once more, as the C library does it, and lives on without them.
 *
 *   User code shares this process, so nothing here is a wall.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
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
/* how often a step forks, at most, until no lock is held in what comes of it */
#define MOVE_TRIES 8
#define SETTLE_SWITCH_US 10000000

static struct {
	sigset_t mask;   /* signals that the user's code has blocked */
	bool repeatable; /* $STEPJAIL_DETERMINISTIC: see rootfs/python/deterministic.py */
	PyObject *conclude, *leave, *alone; /* of runner.py */
} run;

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
	run.conclude = PyObject_GetAttrString(runner, "conclude");
	run.leave = PyObject_GetAttrString(runner, "leave");
	run.alone = PyObject_GetAttrString(runner, "alone");
	return run.conclude && run.leave && run.alone ? set_signals() : -1;
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

/* of this process and the children it waited for; a step's word about itself */
static void usage(struct wire_done *done)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };

	for (size_t i = 0; i < 2; i++) {
		struct rusage used = { 0 };

		(void)getrusage(whose[i], &used);
		done->cpu_us += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) *
					1000000 +
				(uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
		uint64_t peak = (uint64_t)used.ru_maxrss * 1024;
		if (peak > done->max_rss_bytes)
			done->max_rss_bytes = peak;
	}
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

static void run_source(int fd, uint32_t step, struct outcome *o)
{
	sigset_t all;
	PyObject *text = source_begin(run.repeatable) == 0 ? source_read(fd) : NULL;

	(void)close(fd);
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &run.mask, NULL);
	if (text)
		o->result = source_run(text, step);
	Py_XDECREF(text);
	/* what watches every line of the step would watch those of its end too */
	PyEval_SetTrace(NULL, NULL);
	PyEval_SetProfile(NULL, NULL);
	if (Py_GetRecursionLimit() < DEPTH_MIN)
		Py_SetRecursionLimit(DEPTH_MIN);
	media_end();
	conclude(o);
	lines_prune();
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

/* what was to go on has died: so does this process, by the same signal */
static _Noreturn void end_as(int status)
{
	struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	if (WIFSIGNALED(status)) {
		(void)sigaction(WTERMSIG(status), &plain, NULL);
		(void)sigemptyset(&none);
		(void)raise(WTERMSIG(status));
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
	}
	_exit(WIFEXITED(status) && WEXITSTATUS(status) ? WEXITSTATUS(status) : 1);
}

/*
 * Fork as the C library does it, among threads; both have the GIL then.
 *
 * Return: in the child, 0, and an fd that takes a byte when it has spoken, without which
 * its end is the parent's; in the parent 1, as a thread held a lock at that moment, and
 * the child has ended
 */
static int fork_among(bool last, int *spoken)
{
	int ends[2];
	char fine = 0;
	int status = 0;
	unsigned long interval_us = _PyEval_GetSwitchInterval();

	if (pipe2(ends, O_CLOEXEC) < 0)
		_exit(1);
	/* runs Python code, in which the GIL may go to another thread */
	PyOS_BeforeFork();
	/* those that wait for the GIL need not wake up to ask for it */
	_PyEval_SetSwitchInterval(SETTLE_SWITCH_US);
	fork_settle();
	fork_hold();

	pid_t pid = fork();

	fork_release();
	_PyEval_SetSwitchInterval(interval_us);
	if (pid < 0) {
		(void)dprintf(
			STDERR_FILENO,
			"stepjail-interpreter: no process can be made to leave the step's threads (--pids, --memory): %s\n",
			strerror(errno));
		_exit(1);
	}
	if (pid == 0) {
		if (!last)
			probe_locks();
		(void)!write(ends[1], &fine, 1);
		(void)close(ends[0]);
		*spoken = ends[1];
		return 0;
	}
	(void)close(ends[1]);

	bool free = read(ends[0], &fine, 1) == 1;

	if (free && read(ends[0], &fine, 1) == 1)
		_exit(0);
	(void)close(ends[0]);
	(void)waitpid(pid, &status, 0);
	if (free)
		end_as(status);
	PyOS_AfterFork_Parent();
	return 1;
}

/*
 * Fork, and go on in the child. It speaks before the parent ends, so that whoever hears
 * of the end has heard of it.
 */
static void move_on(int channel, uint32_t step, int threads)
{
	struct step_born born = { .threads = threads > 0 ? (uint32_t)threads : 0 };
	int spoken, tries = MOVE_TRIES;

	Py_XDECREF(PyObject_CallNoArgs(run.leave));
	PyErr_Clear();
	while (fork_among(tries == 1, &spoken) != 0)
		tries--;
	(void)fflush(NULL); /* not before: a thread that waits for input holds its FILE */
	PyOS_AfterFork_Child();
	Py_XDECREF(PyObject_CallNoArgs(run.alone));
	PyErr_Clear();
	(void)setsid();
	born.pid = (uint32_t)getpid();
	if (wire_send(channel, WIRE_MOVED, step, &born, sizeof(born)) < 0)
		_exit(1);
	(void)!write(spoken, "", 1);
	(void)close(spoken);
}

static void send_text(int channel, uint16_t type, uint32_t step, PyObject *bytes)
{
	if (bytes && PyBytes_Check(bytes) &&
	    wire_send(channel, type, step, PyBytes_AS_STRING(bytes),
		      (size_t)PyBytes_GET_SIZE(bytes)) < 0)
		_exit(1);
	Py_XDECREF(bytes);
}

void run_step(int channel, int source, uint32_t step)
{
	uint64_t begun_us = clock_us();
	struct outcome o = { 0 };
	pid_t owner = getpid();

	media_begin(channel, step);
	run_source(source, step, &o);
	/* a process that the step forked is at the step's end: it ends as a script
	 * does */
	if (getpid() != owner)
		leave(&o);
	usage(&o.done);

	/* one that Python has joined may not be gone yet */
	int threads = fork_ended(python_threads());

	if (threads != 0)
		move_on(channel, step, threads);
	else
		(void)fflush(NULL); /* what C code of the step has not written yet */
	o.done.strays = threads > 0 ? (uint32_t)threads : 0;
	state_quiet();
	send_text(channel, WIRE_RESULT, step, o.result);
	send_text(channel, WIRE_TRACE, step, o.trace);
	o.done.wall_us = clock_us() - begun_us;
	if (wire_send(channel, WIRE_DONE, step, &o.done, sizeof(o.done)) < 0)
		_exit(1);
}
