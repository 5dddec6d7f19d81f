/* SPDX-License-Identifier: MIT */
/*
 * steps.c - the supervisor of a session: plain C, between the client and the interpreter
 *
 * Theory of operation
 *   One loop over the client's socket, SIGCHLD, the interpreter's channel and the two
 *   pipes that are its stdout and stderr. The interpreter is forked before Python exists
 *   in this process, and again whenever it died.
 *
 *	STARTING --STARTED--> IDLE --RUN--> RUNNING --DONE--> IDLE
 *	any state --the interpreter's death--> STARTING
 *
 *   A step ends when the interpreter says so or is dead, not when its pipes are at their
 *   end: what lies in them at that moment is sent, a background child that holds them
 *   hangs nobody. What comes later waits in the pipe for the next step.
 *
 *   The interpreter runs hostile code. It does not have the client's socket; it cannot
 *   trace or read this process, which is not dumpable; its packets are checked like any
 *   stranger's, and a wrong one is its death; nothing here ever blocks on it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "rootfs/session.h"

static int take_code(struct session *s, const struct wire_header *h,
		     const unsigned char *bytes)
{
	struct steps_mail *mail = s->mail;

	s->step = h->step;
	if (s->oversize || h->length > STEPS_SOURCE_MAX - mail->length) {
		s->oversize = true;
		return 0;
	}
	memcpy(mail->source + mail->length, bytes, h->length);
	mail->length += h->length;
	return 0;
}

static int serve_client(struct session *s, struct err *e)
{
	int r = wire_reader_fill(&s->reader, s->fd[CLIENT]);

	if (r <= 0)
		return r == 0 || r == -EAGAIN || r == -EINTR
			       ? 0
			       : err_set(e, -r, "session: cannot read from the client");

	struct wire_header h;
	const unsigned char *bytes = wire_reader_take(&s->reader, &h);
	bool busy = s->state == RUNNING || s->pending;

	if (h.type == WIRE_CODE && !busy)
		return take_code(s, &h, bytes);
	if (h.type == WIRE_RUN && !busy && h.length == 0) {
		s->step = h.step;
		return session_run(s, e);
	}
	/* these may come too late for their step: then there is nothing to do */
	if (h.type == WIRE_INTERRUPT && h.length == 0) {
		if (s->state == RUNNING && h.step == s->step)
			(void)kill(s->interpreter, SIGINT);
		return 0;
	}
	if (h.type == WIRE_KILL && h.length == 0) {
		if (busy && h.step == s->step) {
			s->killed = true;
			(void)kill(s->interpreter, SIGKILL);
		}
		return 0;
	}
	return err_say(e, EPROTO,
		       "session: the client sent a frame of type %u at the wrong time",
		       h.type);
}

/* Return: 1 (taken), 0 (a packet that no interpreter of ours sends), or -errno */
static int take_packet(struct session *s, const struct wire_header *h,
		       const unsigned char *bytes, struct err *e)
{
	if (h->type == WIRE_STARTED && s->state == STARTING && h->length == 0) {
		uint32_t step = s->step;
		clockid_t clock;

		s->spent_us = 0;
		if (clock_getcpuclockid(s->interpreter, &clock) == 0)
			s->spent_us = session_clock_us(clock);
		s->state = IDLE;
		s->step = 0;
		int r = session_tell(s, WIRE_STARTED, NULL, 0, e);
		s->step = step;
		if (r == 0 && s->pending)
			r = session_run(s, e);
		return r < 0 ? r : 1;
	}
	if (s->state != RUNNING || h->step != s->step)
		return 0;

	int r = session_drain_both(s, e);

	if (r < 0)
		return r;
	if ((h->type == WIRE_RESULT || h->type == WIRE_TRACE) &&
	    h->length <= STEPS_TEXT_MAX) {
		r = session_tell(s, h->type, bytes, h->length, e);
		return r < 0 ? r : 1;
	}

	struct wire_done done;

	if (h->type != WIRE_DONE || h->length != sizeof(done))
		return 0;
	memcpy(&done, bytes, sizeof(done));
	if (done.how > WIRE_HOW_EXIT)
		return 0;
	done.code = done.how == WIRE_HOW_EXIT ? done.code & 0xff : 0;
	s->spent_us += done.cpu_us;
	s->state = IDLE;
	r = session_finish(s, &done, s->interpreter, e);
	return r < 0 ? r : 1;
}

static int serve_channel(struct session *s, struct err *e)
{
	unsigned char packet[WIRE_HEADER_BYTES + STEPS_TEXT_MAX];
	struct wire_header h;
	ssize_t n =
		recv(s->fd[CHANNEL], packet, sizeof(packet), MSG_DONTWAIT | MSG_TRUNC);
	int r = 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n >= WIRE_HEADER_BYTES && (size_t)n <= sizeof(packet) &&
	    wire_unpack(packet, &h) == 0 && h.length == (size_t)n - WIRE_HEADER_BYTES)
		r = take_packet(s, &h, packet + WIRE_HEADER_BYTES, e);
	if (r == 0) {
		/* closed or nonsense: it is of no more use; SIGCHLD tells the rest */
		s->killed = true;
		(void)kill(s->interpreter, SIGKILL);
		io_close_fd(&s->fd[CHANNEL]);
	}
	return r < 0 ? r : 0;
}

/* reap everything: orphans of a step become children of this process */
static int serve_signals(struct session *s, struct err *e)
{
	struct signalfd_siginfo drop;
	struct rusage used;
	int wstatus, r = 0;
	pid_t pid;

	(void)!read(s->fd[SIGNALS], &drop, sizeof(drop));
	while (r == 0 && (pid = wait4(-1, &wstatus, WNOHANG, &used)) > 0)
		if (pid == s->interpreter)
			r = session_died(s, wstatus, &used, e);
	return r;
}

static int serve(struct session *s, enum watch w, struct err *e)
{
	switch (w) {
	case CLIENT:
		return serve_client(s, e);
	case OUT:
	case ERR:
		return session_drain(s, w, e);
	case CHANNEL:
		return serve_channel(s, e);
	default:
		return serve_signals(s, e);
	}
}

static int loop(struct session *s, struct err *e)
{
	for (;;) {
		struct pollfd fds[WATCHES];

		for (int w = 0; w < WATCHES; w++)
			fds[w] = (struct pollfd){ s->fd[w], POLLIN, 0 };
		/* between steps the pipes keep what comes, for the next one */
		if (s->state != RUNNING)
			fds[OUT].fd = fds[ERR].fd = -1;
		if (poll(fds, WATCHES, -1) < 0 && errno != EINTR)
			return err_set(e, errno, "session: poll");
		for (int w = 0; w < WATCHES; w++) {
			/* an earlier one of this round may have closed or replaced it */
			if (!fds[w].revents || fds[w].fd != s->fd[w])
				continue;
			int r = serve(s, (enum watch)w, e);
			if (r < 0)
				return r;
		}
	}
}

/* fd 0 becomes /dev/null, which is what a step reads; the client's socket moves away */
static int take_stdin(struct session *s, struct err *e)
{
	cleanup_fd int null = -1;

	if (close_range(3, ~0u, 0) < 0)
		return err_set(e, errno, "session: cannot close inherited descriptors");
	s->fd[CLIENT] = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (s->fd[CLIENT] < 0)
		return err_set(e, errno, "session: no client on descriptor 0");
	null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (null < 0)
		return err_set(e, errno, "session: cannot open /dev/null");
	if (dup2(null, STDIN_FILENO) < 0)
		return err_set(e, errno, "session: cannot replace descriptor 0");
	return 0;
}

static int begin(struct session *s, struct err *e)
{
	sigset_t set;
	int r = take_stdin(s, e);

	if (r < 0)
		return r;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(e, errno, "session: cannot block SIGCHLD");
	s->fd[SIGNALS] = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd[SIGNALS] < 0)
		return err_set(e, errno, "session: cannot make a signalfd");
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return err_set(e, errno, "session: cannot become undumpable");
	if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_set(e, errno, "session: cannot become a subreaper");
	s->mail = mmap(NULL, sizeof(*s->mail), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (s->mail == MAP_FAILED)
		return err_set(e, errno, "session: cannot map %zu bytes",
			       sizeof(*s->mail));
	return interpreter_start(s, e);
}

int steps_main(void)
{
	static struct session session = { .fd = { -1, -1, -1, -1, -1 } };
	struct err e = { 0 };
	int r = begin(&session, &e);

	if (r == 0)
		r = loop(&session, &e);
	interpreter_end(&session);
	(void)sweep_strays(0);
	/* the client's going is the ordinary end */
	if (r == -ENODATA || r == -EPIPE || r == -ECONNRESET)
		return 0;
	(void)dprintf(STDERR_FILENO, "stepjail-python: %s\n", e.text);
	return 1;
}
