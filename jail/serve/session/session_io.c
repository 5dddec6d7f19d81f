/* SPDX-License-Identifier: MIT */
/*
 * session_io.c - the pipes of a step, and of the first interpreter: see session.h
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "jail/serve/session/session.h"

#define READ_BYTES 32768
#define DIAGNOSTIC_READ 4096

static void keep_tail(struct stream *o, const unsigned char *bytes, size_t length)
{
	size_t skip = length > OUT_TAIL_BYTES ? length - OUT_TAIL_BYTES : 0;

	for (size_t i = skip; i < length; i++)
		o->tail[(o->bytes + i) % OUT_TAIL_BYTES] = bytes[i];
}

/* at most once; false: nothing more now */
static bool take_output(struct step *step, struct stream *o)
{
	static unsigned char bytes[READ_BYTES];
	struct serve *serve = step->session->serve;
	uint64_t limit = step->kind == KIND_RUN ? serve->plan->limit[LIMIT_OUTPUT_BYTES]
						: UINT64_MAX;
	uint16_t type = step->kind != KIND_RUN ? WIRE_DATA
			: o == &step->out[0]   ? WIRE_OUT
					       : WIRE_ERR;
	ssize_t n = read(o->port.fd, bytes, sizeof(bytes));
	size_t now;

	if (n <= 0) {
		/* end of file: nobody writes to this pipe any more */
		if (n == 0)
			event_loop_close(&serve->loop, &o->port);
		return false;
	}
	now = limit - o->sent < (uint64_t)n ? (size_t)(limit - o->sent) : (size_t)n;
	if (now)
		serve_put(serve, type, step->session->number, step->branch, bytes, now);
	o->sent += now;
	o->bytes += now;
	keep_tail(o, bytes + now, (size_t)n - now);
	o->bytes += (size_t)n - now;
	return true;
}

static void serve_output(struct port *p)
{
	struct step *step = p->owner;

	(void)take_output(step, p == &step->out[0].port ? &step->out[0] : &step->out[1]);
}

void step_empty(struct step *step)
{
	for (struct stream *o = step->out; o < step->out + CAPTURE_STREAMS; o++) {
		int held = 0; /* none in a pipe that is closed */

		(void)ioctl(o->port.fd, FIONREAD, &held);
		for (uint64_t end = o->bytes + (uint64_t)held;
		     o->bytes < end && take_output(step, o);)
			;
	}
}

int step_listen(struct step *step, bool listen)
{
	int r = 0;

	for (int i = 0; i < CAPTURE_STREAMS; i++)
		if (event_loop_listen(&step->session->serve->loop, &step->out[i].port,
				      listen ? EPOLLIN : 0) < 0)
			r = -ENOMEM;
	if (listen)
		media_resume(step);
	return r;
}

static void feed(struct port *in)
{
	struct step *step = in->owner;
	struct event_loop *loop = &step->session->serve->loop;

	while (step->input && step->input_bytes) {
		ssize_t n = write(step->in.fd, step->input, step->input_bytes);

		if (n < 0 && errno == EAGAIN) {
			(void)event_loop_listen(loop, &step->in, EPOLLOUT);
			return;
		}
		if (n < 0) { /* the step has closed its stdin: drop the rest */
			step->input_bytes = 0;
			step->input_ends = true;
			break;
		}
		step->input_bytes -= (size_t)n;
		memmove(step->input, step->input + n, step->input_bytes);
	}
	(void)event_loop_listen(loop, &step->in, 0);
	if (step->input_ends)
		event_loop_close(loop, &step->in);
}

int step_input(struct step *step, const void *bytes, size_t length, struct err *e)
{
	if (step->input_ends)
		return err_say(e, EPIPE, "STDIN: its end was sent before");
	if (step->input_bytes + length > STDIN_BYTES_MAX)
		return err_say(
			e, EFBIG,
			"STDIN: %u bytes wait for the step to read them: send less at once",
			STDIN_BYTES_MAX);
	if (!step->input && length)
		step->input = malloc(STDIN_BYTES_MAX);
	if (!step->input && length)
		return err_set(e, ENOMEM, "STDIN");
	if (length)
		memcpy(step->input + step->input_bytes, bytes, length);
	else
		step->input_ends = true;
	step->input_bytes += length;
	if (step->in.fd >= 0)
		feed(&step->in);
	return 0;
}

/* Make a pipe that the step may open anew by /dev/stdout, whatever its id is. */
static int make_pipe(int *outside, int *inside, bool out)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	*outside = ends[!out];
	*inside = ends[out];
	return fchmod(*inside, out ? 0222 : 0444) < 0 ||
			       fcntl(*outside, F_SETFL, O_NONBLOCK) < 0
		       ? -errno
		       : 0;
}

void step_prepare_io(struct step *step)
{
	step->in = PORT(-1, feed, step);
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		step->out[i].port = PORT(-1, serve_output, step);
}

int step_pipes(struct step *step, int *fds)
{
	int r = 0;

	if (step->kind == KIND_RUN) {
		r = make_pipe(&step->in.fd, &fds[STEP_FD_STDIN], false);
		for (int i = 0; i < CAPTURE_STREAMS && r == 0; i++)
			r = make_pipe(&step->out[i].port.fd, &fds[STEP_FD_STDOUT + i],
				      true);
	} else if (step->kind == KIND_GET || step->kind == KIND_LIST) {
		r = make_pipe(&step->out[0].port.fd, &fds[STEP_FD_DATA], true);
	}
	return r;
}

/* Keep the last line that is not empty, in printable letters. */
static void keep_line(struct session *s, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		char c = text[i];

		if (c == '\n') {
			s->diagnostic_used = 0;
			continue;
		}
		if (s->diagnostic_used >= sizeof(s->diagnostic) - 1)
			continue;
		if (s->diagnostic_used == 0) {
			s->diagnostic[s->diagnostic_used++] = ':';
			s->diagnostic[s->diagnostic_used++] = ' ';
		}
		s->diagnostic[s->diagnostic_used++] = c >= ' ' && c < 0x7f ? c : '?';
		s->diagnostic[s->diagnostic_used] = '\0';
	}
}

static void serve_diagnostics(struct port *p)
{
	char text[DIAGNOSTIC_READ];
	ssize_t n = read(p->fd, text, sizeof(text));
	struct session *s = p->owner;

	if (n > 0)
		keep_line(s, text, (size_t)n);
	else if (n == 0)
		event_loop_close(&s->serve->loop, p);
}

int step_first(struct session *s, int channel, int diagnostics, struct err *e)
{
	struct event_loop *loop = &s->serve->loop;
	struct state *first = state_new(s, 0, channel);
	int r;

	s->diagnostics = PORT(diagnostics, serve_diagnostics, s);
	if (!first) {
		io_close_fd(&channel);
		return err_set(e, ENOMEM, "serve: a state");
	}
	/* the table is empty, so this cannot fail */
	(void)states_add(&s->states, first);
	r = event_loop_listen(loop, &s->diagnostics, EPOLLIN);
	if (r == 0)
		r = event_loop_listen(loop, &first->channel, EPOLLIN);
	return r < 0 ? err_set(e, -r, "serve: epoll_ctl") : 0;
}
