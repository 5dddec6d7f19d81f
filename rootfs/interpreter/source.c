/* SPDX-License-Identifier: MIT */
/*
 * source.c - a step's source, from its fd to its value: see source.h
 */
#include "rootfs/interpreter/source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/step_wire.h"
#include "rootfs/interpreter/code.h"
#include "rootfs/interpreter/lines.h"
#include "rootfs/interpreter/media.h"

#define BYTE_ORDER_MARK "\xef\xbb\xbf"
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

enum word {
	STDIN, /* and by fd number */
	STDOUT,
	STDERR,
	RANDOM,
	NUMPY_RANDOM,
	THREADING,
	MAIN_THREAD,
	NATIVE_ID,
	SEED,
	CHOSEN,
	TOUCHED,
	BUILTINS,
	FLUSH,
	UNDERSCORE,
	PIECE,
	WORDS
};

static const char *const words[WORDS] = {
	[STDIN] = "stdin",
	[STDOUT] = "stdout",
	[STDERR] = "stderr",
	[RANDOM] = "random",
	[NUMPY_RANDOM] = "numpy.random",
	[THREADING] = "threading",
	[MAIN_THREAD] = "_main_thread",
	[NATIVE_ID] = "_native_id",
	[SEED] = "seed",
	[CHOSEN] = "_seed_is_chosen",
	[TOUCHED] = "touched",
	[BUILTINS] = "__builtins__",
	[FLUSH] = "flush",
	[UNDERSCORE] = "_",
	[PIECE] = "# stepjail: line ",
};

/* made before any user code runs; nothing here is looked up by a name that it can change
 */
static struct {
	PyObject *word[WORDS];
	PyObject *sys, *main, *modules, *runner; /* dicts */
	PyObject *builtins, *builtins_dict;
	Py_ssize_t builtins_count;
	PyObject *streams; /* runner.py's list: fds 0, 1 and 2 */
	PyObject *begin, *bounded, *piece;
	bool settled; /* the last step left nothing for runner.py's begin() to do */
} own;

static PyObject *attribute(const char *module, const char *name)
{
	PyObject *m = PyImport_ImportModule(module);
	PyObject *value = m ? PyObject_GetAttrString(m, name) : NULL;

	Py_XDECREF(m);
	return value;
}

int source_prepare(PyObject *runner)
{
	for (int i = 0; i < WORDS; i++) {
		own.word[i] = PyUnicode_InternFromString(words[i]);
		if (!own.word[i])
			return -1;
	}
	own.sys = attribute("sys", "__dict__");
	own.main = attribute("__main__", "__dict__");
	own.modules = attribute("sys", "modules");
	own.runner = PyModule_GetDict(runner);
	own.builtins = PyImport_ImportModule("builtins");
	own.builtins_dict = attribute("builtins", "__dict__");
	own.streams = PyObject_GetAttrString(runner, "_streams");
	own.begin = PyObject_GetAttrString(runner, "begin");
	own.bounded = PyObject_GetAttrString(runner, "bounded");
	own.piece = PyObject_GetAttrString(runner, "piece");
	if (!own.sys || !own.main || !own.modules || !own.builtins ||
	    !own.builtins_dict || !own.streams || !own.begin || !own.bounded ||
	    !own.piece || lines_prepare() < 0)
		return -1;
	own.builtins_count = PyDict_Size(own.builtins_dict);
	return 0;
}

/* the first step is not to be the first: what it needs is there, and in its last place */
int source_warm(void)
{
	PyObject *text = PyUnicode_FromString("pass\nNone\n");
	PyObject *shown = text && source_begin() == 0 ? source_run(text, 0) : NULL;

	Py_XDECREF(text);
	if (!shown)
		return -1;
	Py_DECREF(shown);
	lines_forget();
	(void)source_end();
	return 0;
}

static void seed(enum word name)
{
	PyObject *module = PyDict_GetItem(own.modules, own.word[name]);
	/* see rootfs/python/seeds.py */
	PyObject *chosen = module ? PyObject_GetAttr(module, own.word[CHOSEN]) : NULL;
	PyObject *done = NULL;

	PyErr_Clear();
	if (module && chosen != Py_True)
		done = PyObject_CallMethodNoArgs(module, own.word[SEED]);
	if (PyErr_Occurred())
		PyErr_Clear(); /* replaced by something else: the last step's own doing */
	Py_XDECREF(chosen);
	Py_XDECREF(done);
}

/* threading asks for the main thread's id once, and this is another process now */
static void set_native_id(void)
{
	PyObject *module = PyDict_GetItem(own.modules, own.word[THREADING]);
	PyObject *thread =
		module ? PyObject_GetAttr(module, own.word[MAIN_THREAD]) : NULL;
	PyObject *id = thread ? PyLong_FromLong(gettid()) : NULL;

	if (module && (!id || PyObject_SetAttr(thread, own.word[NATIVE_ID], id) < 0))
		PyErr_Clear();
	Py_XDECREF(thread);
	Py_XDECREF(id);
}

int source_begin(void)
{
	if (!own.settled) {
		PyObject *done = PyObject_CallNoArgs(own.begin);

		if (!done)
			return -1;
		Py_DECREF(done);
	}
	return 0;
}

void source_wake(bool repeatable)
{
	set_native_id();
	if (!repeatable) {
		seed(RANDOM);
		seed(NUMPY_RANDOM);
	}
}

/* As Python reads a file: without a byte order mark, and with a newline at its end, which
 * the columns of a traceback count on. @bytes has room for it */
static PyObject *decode(char *bytes, size_t length)
{
	size_t mark = strlen(BYTE_ORDER_MARK);
	size_t skip =
		length >= mark && memcmp(bytes, BYTE_ORDER_MARK, mark) == 0 ? mark : 0;

	if (length > skip && bytes[length - 1] != '\n')
		bytes[length++] = '\n';
	return PyUnicode_DecodeUTF8(bytes + skip, (Py_ssize_t)(length - skip), "strict");
}

PyObject *source_read(int fd)
{
	struct stat about;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &about) < 0)
		return PyErr_Format(PyExc_OSError, "a step's source must be sealed");
	if (about.st_size > STEP_SOURCE_MAX)
		return PyErr_Format(PyExc_ValueError,
				    "a step's source may have %u bytes at most",
				    STEP_SOURCE_MAX);

	size_t length = (size_t)about.st_size;
	char *bytes = PyMem_Malloc(length + 1);
	PyObject *text = NULL;

	if (!bytes)
		return PyErr_NoMemory();
	/* the fd's offset is shared with whoever wrote it */
	if (pread(fd, bytes, length, 0) == about.st_size)
		text = decode(bytes, length);
	else
		PyErr_SetString(PyExc_OSError, "a step's source cannot be read");
	PyMem_Free(bytes);
	return text;
}

static PyObject *evaluate(const struct code *c, PyObject *code)
{
	PyObject *value = PyEval_EvalCode(code, own.main, own.main);

	if (value && c->wait && (((PyCodeObject *)code)->co_flags & CO_COROUTINE))
		Py_SETREF(value, PyObject_CallOneArg(c->wait, value));
	return value;
}

/* its repr, at most STEP_TEXT_MAX bytes */
static PyObject *show(PyObject *value)
{
	PyObject *text = PyObject_Repr(value);
	Py_ssize_t length;
	const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, &length) : NULL;
	PyObject *shown = NULL;

	if (bytes && length <= STEP_TEXT_MAX) {
		shown = PyBytes_FromStringAndSize(bytes, length);
	} else if (text) {
		PyErr_Clear(); /* it has half of a surrogate pair */
		shown = PyObject_CallOneArg(own.bounded, text);
	}
	Py_XDECREF(text);
	return shown;
}

static PyObject *run_code(const struct code *c)
{
	if (c->body) {
		PyObject *none = evaluate(c, c->body);

		if (!none)
			return NULL;
		Py_DECREF(none);
	}

	PyObject *value = c->last ? evaluate(c, c->last) : Py_NewRef(Py_None);

	if (!value || value == Py_None)
		return value;

	PyObject *shown = NULL;

	if (PyDict_SetItem(own.builtins_dict, own.word[UNDERSCORE], value) == 0)
		shown = show(value);
	if (shown && media_result(value) < 0)
		Py_CLEAR(shown);
	Py_DECREF(value);
	return shown;
}

/* what runner.py's piece() says of a piece of a file; NULL of all else */
static PyObject *as_piece(PyObject *text)
{
	PyThreadState *t = PyThreadState_Get();

	/* what the code watches itself with does not see this */
	PyThreadState_EnterTracing(t);

	PyObject *got =
		PyUnicode_Tailmatch(text, own.word[PIECE], 0, PY_SSIZE_T_MAX, -1) == 1
			? PyObject_CallOneArg(own.piece, text)
			: NULL;

	PyThreadState_LeaveTracing(t);
	if (got && PyTuple_Check(got))
		return got;
	Py_XDECREF(got);
	PyErr_Clear();
	return NULL;
}

PyObject *source_run(PyObject *text, uint32_t step)
{
	PyObject *piece = as_piece(text);
	PyObject *name = piece ? Py_NewRef(PyTuple_GET_ITEM(piece, 0))
			       : PyUnicode_FromFormat("<step %u>", (unsigned int)step);
	struct code code = { .program = piece != NULL };
	PyObject *shown = NULL;

	if (!name)
		return NULL;
	if (piece)
		text = PyTuple_GET_ITEM(piece, 1);
	else
		lines_remember(text, name);
	if (code_make(&code, text, name) == 0)
		shown = run_code(&code);
	code_drop(&code);
	Py_DECREF(name);
	Py_XDECREF(piece);
	return shown;
}

static bool are_streams_ours(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (PyDict_GetItem(own.sys, own.word[STDIN + fd]) !=
		    PyList_GET_ITEM(own.streams, fd))
			return false;
	return true;
}

static bool is_settled(void)
{
	/* runner.py sees there when one of them is read from, closed or detached */
	if (!are_streams_ours() ||
	    PyDict_GetItem(own.runner, own.word[TOUCHED]) != Py_False)
		return false;

	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		PyObject *done = PyObject_CallMethodNoArgs(
			PyList_GET_ITEM(own.streams, fd), own.word[FLUSH]);

		if (!done) {
			PyErr_Clear();
			return false;
		}
		Py_DECREF(done);
	}
	return PyDict_GetItem(own.main, own.word[BUILTINS]) == own.builtins &&
	       PyDict_Size(own.builtins_dict) >= own.builtins_count;
}

bool source_end(void)
{
	own.settled = !PyErr_Occurred() && is_settled();
	return own.settled;
}
