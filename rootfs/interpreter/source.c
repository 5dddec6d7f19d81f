/* SPDX-License-Identifier: MIT */
/*
 * source.c - a step's source, from its fd to its value: see source.h
 *
 * The last statement is taken off the tree that CPython's parser makes, where it is an
 * expression. ast.parse() would turn the tree into Python objects for that, and compile()
 * turn them back, which takes longer than all the rest of a short step; so the parser and
 * the compiler are called by the names that CPython has for itself.
 */
#define Py_BUILD_CORE
#include "rootfs/interpreter/source.h"

#include <internal/pycore_ast.h>
#include <internal/pycore_compile.h>
#include <internal/pycore_parser.h>
#include <internal/pycore_pyarena.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/step_wire.h"
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
	int features; /* of __future__ that steps have asked for: PyCF_MASK */
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

struct code {
	PyObject *body; /* NULL where there is no statement */
	PyObject *last; /* NULL where the last one is no expression, or of a program */
	PyObject *wait; /* of notebook.py, which has compiled it: takes a coroutine */
	bool program;   /* no value is shown, as in a file that python3 runs */
};

/* Is there a ; behind it? In notebooks that says not to show the value. */
static bool is_quiet(const char *bytes, stmt_ty end)
{
	size_t column = (size_t)end->end_col_offset;

	for (int line = 1; bytes && line < end->end_lineno; line++) {
		bytes = strchr(bytes, '\n');
		bytes += bytes != NULL;
	}
	if (!bytes || strnlen(bytes, column) < column)
		return false;
	bytes += column;
	return bytes[strspn(bytes, " \t")] == ';';
}

static int compile_tree(struct code *c, mod_ty tree, const char *bytes, PyObject *name,
			PyCompilerFlags *flags, PyArena *arena)
{
	asdl_stmt_seq *body = tree->v.Module.body;
	Py_ssize_t count = asdl_seq_LEN(body);
	stmt_ty end = count ? asdl_seq_GET(body, count - 1) : NULL;
	mod_ty last = NULL;

	if (end && end->kind == Expr_kind && !c->program && !is_quiet(bytes, end)) {
		last = _PyAST_Expression(end->v.Expr.value, arena);
		if (!last)
			return -1;
		body->size = --count;
	}
	/* both before either runs: an error that only compiling finds is found first */
	if (count) {
		c->body = (PyObject *)_PyAST_Compile(tree, name, flags, -1, arena);
		if (!c->body)
			return -1;
	}
	if (last) {
		c->last = (PyObject *)_PyAST_Compile(last, name, flags, -1, arena);
		if (!c->last)
			return -1;
	}
	return 0;
}

static int compile_source(struct code *c, PyObject *text, PyObject *name)
{
	PyCompilerFlags flags = _PyCompilerFlags_INIT;
	Py_ssize_t length;
	const char *bytes = PyUnicode_AsUTF8AndSize(text, &length);
	PyArena *arena;
	int r = -1;

	if (!bytes)
		return -1;
	if ((size_t)length != strlen(bytes)) {
		PyErr_SetString(PyExc_ValueError,
				"source code string cannot contain null bytes");
		return -1;
	}
	arena = _PyArena_New();
	if (!arena)
		return -1;
	flags.cf_flags = PyCF_SOURCE_IS_UTF8 | PyCF_IGNORE_COOKIE | own.features;

	mod_ty tree = _PyParser_ASTFromString(bytes, name, Py_file_input, &flags, arena);

	if (tree)
		r = compile_tree(c, tree, bytes, name, &flags, arena);
	/* as from one cell of a notebook to the next, and from line to line of a program */
	if (r == 0)
		own.features |= flags.cf_flags & PyCF_MASK;
	_PyArena_Free(arena);
	return r;
}

/* what a notebook would take: see rootfs/python/notebook.py; else the error stays */
static int compile_notebook(struct code *c, PyObject *text, PyObject *name)
{
	PyObject *type, *value, *trace, *module, *got;

	if (!PyErr_ExceptionMatches(PyExc_SyntaxError))
		return -1;
	PyErr_Fetch(&type, &value, &trace);
	Py_CLEAR(c->body);
	module = PyImport_ImportModule("stepjail_notebook");
	got = module ? PyObject_CallMethod(module, "compiled", "OO", text, name) : NULL;
	Py_XDECREF(module);
	if (got && PyTuple_Check(got) &&
	    PyArg_ParseTuple(got, "OOO", &c->body, &c->last, &c->wait)) {
		c->body = c->body == Py_None ? NULL : Py_NewRef(c->body);
		c->last = c->last == Py_None ? NULL : Py_NewRef(c->last);
		Py_INCREF(c->wait);
	}
	/* its own is about the same text, without what a notebook would take */
	if (!c->wait && (got || (!PyErr_ExceptionMatches(PyExc_SyntaxError) &&
				 PyErr_ExceptionMatches(PyExc_Exception)))) {
		PyErr_Restore(type, value, trace);
	} else {
		Py_XDECREF(type);
		Py_XDECREF(value);
		Py_XDECREF(trace);
	}
	Py_XDECREF(got);
	return c->wait ? 0 : -1;
}

/* `In [1]: x = 2` is Python, too, and means nothing */
static int compile_prompted(struct code *c, PyObject *text, PyObject *name)
{
	const char *bytes = PyUnicode_AsUTF8(text);

	if (!bytes || strncmp(bytes, "In [", 4) != 0) {
		PyErr_Clear(); /* compile_source() says it */
		return -1;
	}
	PyErr_SetNone(PyExc_SyntaxError);
	if (compile_notebook(c, text, name) == 0)
		return 0;
	PyErr_Clear();
	return -1;
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
	PyObject *got =
		PyUnicode_Tailmatch(text, own.word[PIECE], 0, PY_SSIZE_T_MAX, -1) == 1
			? PyObject_CallOneArg(own.piece, text)
			: NULL;

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
	if ((!piece && compile_prompted(&code, text, name) == 0) ||
	    compile_source(&code, text, name) == 0 ||
	    (!piece && compile_notebook(&code, text, name) == 0))
		shown = run_code(&code);
	Py_XDECREF(code.body);
	Py_XDECREF(code.last);
	Py_XDECREF(code.wait);
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
