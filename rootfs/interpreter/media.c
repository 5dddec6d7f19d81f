/* SPDX-License-Identifier: MIT */
/*
 * media.c - what a step shows beside its output, on its way: see media.h
 *
 * Theory of operation
 *   An object's forms go out one behind the other, in packets, under a lock: display()
 *   may be called by any thread. The step waits where its reader does not read, without
 *   the GIL, and a signal ends that wait. What was on its way then stays incomplete, so
 *   it is the last thing that the step shows. A child of the step's has the channel, too,
 *   but no voice there: it prints.
 *   Between two steps the lock is the main thread's, so that no thread that is left stops
 *   in the middle of an object. Where a signal has ended the wait for such a thread, the
 *   next step shows nothing.
 */
#include "rootfs/interpreter/media.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/media.h"
#include "init/step_wire.h"
#include "init/wire.h"

/* a type that has none of these has no forms */
static const char *const methods[] = { "_repr_mimebundle_", "_repr_html_", "_repr_json_",
				       "_repr_png_", "_repr_svg_" };
#define METHODS (sizeof(methods) / sizeof(methods[0]))

static struct {
	PyObject *method[METHODS];
	PyObject *pyplot;           /* the module's name that has the open figures */
	PyObject *modules;          /* sys.modules */
	PyObject *result, *figures; /* of shown.py */
	uint64_t limit_bytes;
	PyThread_type_lock lock;
	bool rests; /* the main thread has the lock */
	int channel;
	uint32_t step;
	pid_t owner;
	bool over; /* something is incomplete, or the channel is gone */
	uint32_t objects;
	uint64_t bytes;
} media;

static bool is_possible(void)
{
	return media.limit_bytes && !media.over && media.objects < MEDIA_OBJECTS_MAX &&
	       media.owner == getpid() && !(media.rests && gettid() == media.owner);
}

/* Return: 0, or -1: interrupted, with an exception set, or nobody is there any more */
static int send_packet(uint16_t type, const void *a, size_t a_length, const void *b,
		       size_t b_length)
{
	const struct wire_header h = { (uint32_t)(a_length + b_length), type,
				       media.step };
	unsigned char head[WIRE_HEADER_BYTES];
	/* sendmsg(2) does not write to them */
	struct iovec parts[] = { { head, sizeof(head) },
				 { (void *)(uintptr_t)a, a_length },
				 { (void *)(uintptr_t)b, b_length } };
	const struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 3 };
	ssize_t n;

	wire_pack(&h, head);
	/* a signal that came before this call does not wake it */
	if (PyErr_CheckSignals() < 0)
		return -1;
	do {
		Py_BEGIN_ALLOW_THREADS n = sendmsg(media.channel, &msg, MSG_NOSIGNAL);
		Py_END_ALLOW_THREADS
	} while (n < 0 && errno == EINTR && PyErr_CheckSignals() == 0);
	return n < 0 ? -1 : 0;
}

static int send_form(uint16_t from, int kind, PyObject *data, const char *name,
		     size_t name_length)
{
	bool have = PyBytes_Check(data);
	struct media m = { .object = media.objects,
			   .kind = (uint16_t)kind,
			   .from = from };

	m.bytes =
		have ? (uint64_t)PyBytes_GET_SIZE(data) : PyLong_AsUnsignedLongLong(data);
	if (PyErr_Occurred())
		return -1;
	if (!have || m.bytes > media.limit_bytes - media.bytes)
		m.flags = MEDIA_LEFT_OUT;
	if (send_packet(WIRE_MEDIA, &m, sizeof(m), name, name_length) < 0)
		return -1;
	if (m.flags)
		return 0;
	media.bytes += m.bytes;
	for (uint64_t at = 0, now; at < m.bytes; at += now) {
		now = m.bytes - at < MEDIA_PIECE_MAX ? m.bytes - at : MEDIA_PIECE_MAX;
		if (send_packet(WIRE_PIECE, PyBytes_AS_STRING(data) + at, (size_t)now,
				NULL, 0) < 0)
			return -1;
	}
	return 0;
}

/* Return: 0, or -1 with an exception set */
static int take_lock(void)
{
	PyLockStatus got = PyThread_acquire_lock_timed(media.lock, 0, 0);

	while (got != PY_LOCK_ACQUIRED) {
		Py_BEGIN_ALLOW_THREADS got =
			PyThread_acquire_lock_timed(media.lock, -1, 1);
		Py_END_ALLOW_THREADS if (got == PY_LOCK_INTR &&
					 PyErr_CheckSignals() < 0) return -1;
	}
	return 0;
}

/* send(from, name, [(kind, bytes or a number of them), ...]): was it shown? */
static PyObject *send_object(PyObject *self, PyObject *args)
{
	int from, kind;
	const char *name;
	Py_ssize_t length;
	PyObject *forms, *data;
	bool shown = false;

	(void)self;
	if (!PyArg_ParseTuple(args, "iy#O!", &from, &name, &length, &PyList_Type, &forms))
		return NULL;
	if (!is_possible())
		Py_RETURN_FALSE;
	if (take_lock() < 0)
		return NULL;
	for (Py_ssize_t i = 0; is_possible() && i < PyList_GET_SIZE(forms); i++) {
		if (!PyArg_ParseTuple(PyList_GET_ITEM(forms, i), "iO", &kind, &data) ||
		    send_form((uint16_t)from, kind, data, name, (size_t)length) < 0)
			media.over = true;
		else
			shown = true;
	}
	media.objects += shown;
	PyThread_release_lock(media.lock);
	return PyErr_Occurred() ? NULL : PyBool_FromLong(shown);
}

static PyMethodDef send_method = { "send", send_object, METH_VARARGS, NULL };

int media_prepare(PyObject *runner, uint64_t limit_bytes)
{
	PyObject *shown = PyImport_ImportModule("stepjail_shown");
	PyObject *sys = PyImport_ImportModule("sys");
	PyObject *send = PyCFunction_New(&send_method, NULL);
	PyObject *cut = PyObject_GetAttrString(runner, "bounded");
	PyObject *started = NULL;

	media.limit_bytes = limit_bytes;
	media.lock = PyThread_allocate_lock();
	media.pyplot = PyUnicode_InternFromString("matplotlib._pylab_helpers");
	for (size_t i = 0; i < METHODS; i++)
		media.method[i] = PyUnicode_InternFromString(methods[i]);
	if (shown && sys && send && cut)
		started = PyObject_CallMethod(shown, "start", "OOK", send, cut,
					      (unsigned long long)limit_bytes);
	if (started) {
		media.modules = PyObject_GetAttrString(sys, "modules");
		media.result = PyObject_GetAttrString(shown, "result");
		media.figures = PyObject_GetAttrString(shown, "figures");
	}
	Py_XDECREF(started);
	Py_XDECREF(cut);
	Py_XDECREF(send);
	Py_XDECREF(sys);
	Py_XDECREF(shown);
	return media.lock && media.modules && media.result && media.figures ? 0 : -1;
}

void media_begin(int channel, uint32_t step)
{
	bool woken = media.owner != getpid();

	/* threads that had it, or wait for it, have not come along */
	if (woken)
		media.lock = PyThread_allocate_lock();
	else if (media.rests)
		PyThread_release_lock(media.lock);
	media.over = !media.lock || (!woken && !media.rests);
	media.rests = false;
	media.channel = channel;
	media.step = step;
	media.owner = getpid();
	media.bytes = media.objects = 0;
}

static bool has_forms(PyTypeObject *type)
{
	/* the language's own types have no module in their names */
	if (!(type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !strchr(type->tp_name, '.'))
		return false;
	for (size_t i = 0; i < METHODS; i++)
		if (_PyType_Lookup(type, media.method[i]))
			return true;
	return false;
}

int media_result(PyObject *value)
{
	PyObject *done;

	if (!has_forms(Py_TYPE(value)) || !is_possible())
		return 0;
	done = PyObject_CallOneArg(media.result, value);
	if (!done && !PyErr_ExceptionMatches(PyExc_Exception))
		return -1;
	PyErr_Clear();
	Py_XDECREF(done);
	return 0;
}

void media_end(void)
{
	PyObject *type, *value, *trace, *done = NULL;

	if (!PyDict_GetItem(media.modules, media.pyplot) || !media.limit_bytes ||
	    media.over || media.owner != getpid())
		return;
	PyErr_Fetch(&type, &value, &trace);
	if (!type || !PyErr_GivenExceptionMatches(type, PyExc_KeyboardInterrupt))
		done = PyObject_CallNoArgs(media.figures);
	if (type || PyErr_ExceptionMatches(PyExc_Exception))
		PyErr_Restore(type, value, trace);
	Py_XDECREF(done);
}

void media_rest(void)
{
	media.rests = media.lock && media.owner == getpid() && take_lock() == 0;
	PyErr_Clear();
}
