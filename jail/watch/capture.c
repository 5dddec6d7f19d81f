/* SPDX-License-Identifier: MIT */
/*
 * capture.c - keep head and tail of what a program writes: see capture.h
 *
 * Theory of operation
 *   Each captured stream is a pipe, and memory of three pieces, each half the limit. The
 *   first half of the limit stays in the first piece. Later bytes fill the other two;
 *   when these are full, the third is moved over the second. So the latest half of the
 *   limit always lies in one piece. Nothing is allocated after capture_open(). The event
 *   loop reads a bounded number of bytes a turn, so that no flood holds up deadlines or
 *   init's frames.
 *   A run ends with its process, not with end of file: when the jail is gone,
 *   capture_drain() reads what the pipes hold, and no more.
 */
#include <string.h>
#include <sys/ioctl.h>

#include "init/io.h"
#include "jail/watch/capture.h"
#include "jail/base/json.h"

#define PIPE_BYTES_MAX (1 << 20) /* a program may make the pipe that large: pipe(7) */

void capture_add(struct capture_stream *s, const unsigned char *bytes, size_t length)
{
	s->bytes += length;
	while (length) {
		size_t room = 3 * s->half - s->used;
		size_t piece = length < room ? length : room;

		memcpy(s->kept + s->used, bytes, piece);
		s->used += piece;
		bytes += piece;
		length -= piece;
		if (s->used < 3 * s->half)
			continue;
		memcpy(s->kept + s->half, s->kept + 2 * s->half, s->half);
		s->used = 2 * s->half;
	}
}

/* read the next bytes once the last ones are written */
static ssize_t pass_on(struct capture_stream *s)
{
	ssize_t n;

	if (s->at == s->end) {
		n = read(s->outside, s->next, CAPTURE_READ);
		if (n < 0)
			s->read_errnum = errno;
		if (n <= 0)
			return n;
		s->at = 0;
		s->end = (size_t)n;
	}
	n = write(s->to, s->next + s->at, s->end - s->at);
	if (n < 0 && errno != EPIPE)
		s->read_errnum = errno;
	s->at += n > 0 ? (size_t)n : 0;
	return n;
}

ssize_t capture_read(struct capture_stream *s)
{
	static unsigned char bytes[CAPTURE_READ];
	ssize_t n = s->to < 0 ? read(s->outside, bytes, sizeof(bytes)) : pass_on(s);

	if (n > 0 && s->to < 0)
		capture_add(s, bytes, (size_t)n);
	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		s->read_errnum = 0;
		return n;
	}
	/* a caller who reads no more is no error; the program gets SIGPIPE */
	if (n < 0 && s->to < 0)
		s->read_errnum = errno;
	if (n <= 0)
		io_close_fd(&s->outside);
	return n;
}

struct pollfd capture_wanted(const struct capture_stream *s)
{
	return s->to >= 0 && s->outside >= 0 && s->at < s->end
		       ? (struct pollfd){ s->to, POLLOUT, 0 }
		       : (struct pollfd){ s->outside, POLLIN, 0 };
}

bool capture_pass(struct capture *c)
{
	bool left = false;

	for (struct capture_stream *s = c->stream; s < c->stream + CAPTURE_STREAMS; s++) {
		while (s->to >= 0 && s->outside >= 0 &&
		       (capture_read(s) > 0 || errno == EINTR))
			;
		left |= s->outside >= 0 && s->at < s->end;
	}
	return left;
}

int capture_drain(struct capture *c, struct err *e)
{
	int all = 0;

	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		struct capture_stream *s = &c->stream[i];
		ssize_t left = 0, n = 1;
		int held;

		if (s->outside >= 0 && s->to < 0)
			left = ioctl(s->outside, FIONREAD, &held) < 0 ? PIPE_BYTES_MAX
								      : held;
		for (; left > 0 && n > 0; left -= n)
			n = capture_read(s);
		if (s->read_errnum)
			all = err_set(e, s->read_errnum, "run: pass on the program's %s",
				      capture_names[i]);
	}
	return all;
}

/* How many bytes at the end belong to a character whose other bytes were left out? */
static size_t cut_short(const unsigned char *text, size_t length)
{
	for (size_t n = 1; n <= 3 && n <= length; n++) {
		unsigned char lead = text[length - n];
		size_t whole = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

		if ((lead & 0xc0) != 0x80)
			return n < whole ? n : 0;
	}
	return 0;
}

struct capture_view capture_view(const struct capture_stream *s)
{
	struct capture_view v = { .head = s->kept, .head_bytes = (size_t)s->bytes };

	if (s->bytes <= 2 * s->half)
		return v;
	v.head_bytes = s->half;
	v.tail_bytes = s->half;
	v.tail = s->kept + s->used - s->half;
	v.head_bytes -= cut_short(v.head, v.head_bytes);
	/* skip the rest of a cut character; more than three such bytes are no UTF-8 */
	for (int i = 0; i < 3 && (*v.tail & 0xc0) == 0x80; i++) {
		v.tail++;
		v.tail_bytes--;
	}
	v.left_out = s->bytes - v.head_bytes - v.tail_bytes;
	return v;
}

static void print_stream(const struct capture_stream *s, FILE *out)
{
	struct capture_view v;

	if (!s->kept) {
		(void)fputs("null", out);
		return;
	}
	v = capture_view(s);
	(void)fprintf(out, "{\"bytes\":%" PRIu64 ",\"left_out\":%" PRIu64 ",\"head\":",
		      s->bytes, v.left_out);
	json_bytes(out, v.head, v.head_bytes);
	(void)fputs(",\"tail\":", out);
	json_bytes(out, v.tail, v.tail_bytes);
	(void)fputc('}', out);
}

void capture_print(const struct capture *c, FILE *out)
{
	if (!c->stream[0].kept && !c->stream[1].kept) {
		(void)fputs("null", out);
		return;
	}
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		(void)fprintf(out, "%s\"%s\":", i ? "," : "{", capture_names[i]);
		print_stream(&c->stream[i], out);
	}
	(void)fputc('}', out);
}

static int deliver(int fd, const struct capture_view *v)
{
	char line[64];
	int r = io_write_all(fd, v->head, v->head_bytes);
	int n = snprintf(line, sizeof(line), "\n[stepjail: %" PRIu64 " bytes left out]\n",
			 v->left_out);
	/* the line needs no newline before it where the head ends with one */
	int skip = v->head_bytes && v->head[v->head_bytes - 1] == '\n';

	if (r == 0 && v->left_out)
		r = io_write_all(fd, line + skip, (size_t)(n - skip));
	return r < 0 ? r : io_write_all(fd, v->tail, v->tail_bytes);
}

int capture_deliver(const struct capture *c, struct err *e)
{
	int all = 0;

	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		const struct capture_stream *s = &c->stream[i];
		struct capture_view v;
		int r;

		if (!s->kept)
			continue;
		v = capture_view(s);
		r = deliver(STDOUT_FILENO + i, &v);
		if (r < 0 && r != -EPIPE)
			all = err_set(e, -r, "--capture: write what was kept of %s",
				      capture_names[i]);
	}
	return all;
}
