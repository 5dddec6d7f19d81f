/* SPDX-License-Identifier: MIT */
/*
 * state.c - an interpreter that waits: see state.h and init/step_wire.h
 *
 * Theory of operation
 *   state_serve() is one loop that many processes go around. A process sleeps in
 *   recvmsg(2) with every signal blocked, so that nothing but SIGKILL reaches it: an
 *   alarm that its step had set waits for the next one. Before that it is held in another
 *   call (STEP_REST), so that stepjail knows it; a process that has more threads stops,
 *   with all of them.
 *
 *   For a step it forks a sibling (run_fork()), which takes the state's place, and its
 *   channel: it is the snapshot, and goes around the same loop without having run any
 *   code. The process itself takes the channel that came with the request, and runs the
 *   step. So what a program sees of its process stays from step to step: its id, threads,
 *   locks, clocks. It waits until the snapshot is known to stepjail, because until then
 *   that is in the kernel session of the step, where the step's code could signal it.
 *   For a file operation it forks a process that does it, and sleeps on.
 *
 *   No process from state 0 on is dumpable, and what is forked inherits that. So steps on
 *   several branches, which share an id, find neither memory nor fds of each other in
 *   /proc:
 *   /proc/PID/fd/1 of another step would be its output. What a step executes is dumpable
 *   again.
 *
 *   The fds of this machinery lie high, where a step's own files do not come in their way
 *   and its closerange(3, 100) does not meet them: the channel, /dev/null to be 0, 1 and
 *   2 between steps, and, from a step's begin to its next request, as many places as that
 *   and the fork for it take. A step that has opened all the files it may can be followed
 *   by another. Whatever else is open is the user's, and stays.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "init/wire.h"
#include "jail/base/fd_passing.h"
#include "rootfs/interpreter/fork.h"
#include "rootfs/interpreter/limits.h"
#include "rootfs/interpreter/state.h"

/* A table of fds is as long as its highest: 256 is what fits the kernel's first larger
 * one. */
#define HIGH_FDS_END 256
/* a request's, and those of fork_among() and its caller */
#define PLACES (STEP_FDS + 6)
#define HIGH_FDS (PLACES + 3) /* channel, null, and one over */

static struct {
	int high; /* where fds of this file begin */
	int channel;
	int null;
	int place[PLACES]; /* or -1 */
	dev_t channel_dev; /* what the channel was before the step had its way */
	ino_t channel_ino;
	bool parked;  /* nothing has changed since this process waited: see park() */
	bool forked;  /* run_wake() is due */
	bool threads; /* it has more than one */
} state = { .place = { [0 ... PLACES - 1] = -1 } };

static _Noreturn void give_up(const char *what, int errnum)
{
	(void)dprintf(STDERR_FILENO, "stepjail-interpreter: %s: %s\n", what,
		      strerror(errnum));
	_exit(1);
}

/* by one call where they follow on each other, as those do that came together */
static void close_run(int *fds, size_t count)
{
	unsigned int first = (unsigned int)fds[0];
	bool run = fds[0] >= 0;

	for (size_t i = 1; run && i < count; i++)
		run = fds[i] == fds[0] + (int)i;
	if (run)
		(void)close_range(first, first + (unsigned int)count - 1, 0);
	for (size_t i = 0; i < count; i++)
		if (run)
			fds[i] = -1;
		else
			io_close_fd(&fds[i]);
}

static int move_high(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, state.high);

	if (moved >= 0)
		(void)close(fd);
	return moved;
}

void state_quiet(void)
{
	struct stat now;

	if (fstat(state.channel, &now) < 0 || now.st_dev != state.channel_dev ||
	    now.st_ino != state.channel_ino)
		give_up("the step closed the descriptor by which it is asked for the next",
			EBADF);
	/* the step may have closed or replaced anything */
	if (fstat(state.null, &now) < 0 || !S_ISCHR(now.st_mode)) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		state.null = null < 0 ? -1 : move_high(null);
	}
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(state.null, fd);
}

/* until the next request comes, its places are taken, by nothing: threads may run */
static void places_take(void)
{
	for (size_t i = 0; i < PLACES; i++)
		state.place[i] = fcntl(state.null, F_DUPFD_CLOEXEC, state.high);
}

/* what each type must come with */
static bool is_whole(const struct state_mail *m, size_t fds)
{
	if (m->type == WIRE_RUN)
		return m->length == 0 && fds == STEP_FDS;
	return m->type == WIRE_FILE && m->length > sizeof(struct step_file) &&
	       fds == STEP_FILE_FDS;
}

/* see STEP_REST; the C library never blocks the two signals that are its own */
static void park(void)
{
	const uint64_t all = UINT64_MAX;

	if (!state.parked) {
		(void)prctl(PR_SET_DUMPABLE, 0UL);
		(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	}
	state.parked = true;
	if (kill(STEP_REST, 0) < 0 &&
	    (errno == STEP_REST_STOP || (errno == ESRCH && state.threads)))
		(void)kill(getpid(), SIGSTOP);
}

/* Return: 0, or -EMFILE when there was no room for the fds */
static int receive(struct state_mail *m)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(STEP_FDS * sizeof(int))];
	unsigned char head[WIRE_HEADER_BYTES];
	struct iovec iov[2] = { { head, sizeof(head) },
				{ m->payload, sizeof(m->payload) } };
	struct msghdr msg = { .msg_iov = iov,
			      .msg_iovlen = 2,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	struct wire_header h;
	ssize_t n;

	park();
	close_run(state.place, PLACES);
	do
		n = recvmsg(state.channel, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		_exit(0); /* nobody will ever ask again */
	if (n < 0)
		give_up("channel", errno);

	size_t fds = fd_passing_take(&msg, m->fds, STEP_FDS, NULL);

	if (n < (ssize_t)sizeof(head) || (msg.msg_flags & MSG_TRUNC) ||
	    wire_unpack(head, &h) < 0 || h.length != (size_t)n - sizeof(head))
		give_up("channel", EBADMSG);
	m->type = h.type;
	m->step = h.step;
	m->length = h.length;
	if (msg.msg_flags & MSG_CTRUNC)
		return -EMFILE;
	if (!is_whole(m, fds))
		give_up("channel", EPROTO);
	return 0;
}

/* on the channel of the state or the operation that this process is from now on */
static void tell_born(uint32_t step)
{
	const struct step_born born = { .pid = (uint32_t)getpid() };

	if (wire_send(state.channel, WIRE_STARTED, step, &born, sizeof(born)) < 0)
		_exit(1);
	/* not before: until stepjail knows it, it is safe in the session of the state */
	(void)setsid();
}

/* the channel that came with a request, in place of the state's */
static void take_channel(struct state_mail *m)
{
	struct stat own;

	/* what it came as is closed with those of put_stdio() */
	if (dup3(m->fds[STEP_FD_CHANNEL], state.channel, O_CLOEXEC) < 0 ||
	    fstat(state.channel, &own) < 0)
		give_up("channel", errno);
	if (m->fds[STEP_FD_CHANNEL] <= STDERR_FILENO) /* there was no /dev/null */
		io_close_fd(&m->fds[STEP_FD_CHANNEL]);
	state.channel_dev = own.st_dev;
	state.channel_ino = own.st_ino;
}

/* An interrupt that came too late for the step before: the next one's process is known to
 * nobody yet, so there is none for it */
static void drop_interrupt(void)
{
	const struct timespec now = { 0 };
	sigset_t interrupt;

	(void)sigemptyset(&interrupt);
	(void)sigaddset(&interrupt, SIGINT);
	(void)sigtimedwait(&interrupt, NULL, &now);
}

/*
 * Fork the snapshot: what this process is, before it changes.
 *
 * Return: as run_fork(); in the caller, the snapshot has told that it is there
 */
static pid_t leave_snapshot(struct state_mail *m)
{
	int told[2];
	char word = 0;
	pid_t pid;

	if (pipe2(told, O_CLOEXEC) < 0)
		return -errno;
	drop_interrupt();
	pid = run_fork();
	/* children that a step left, and that were killed, count until they are waited
	 * for, which is the program's to do */
	if (pid == -EAGAIN && waitpid(-1, NULL, WNOHANG) > 0) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		pid = run_fork();
	}
	if (pid == 0) {
		state.forked = true;
		state.threads = false;
		close_run(m->fds, STEP_FDS);
		tell_born(m->step);
		(void)!write(told[1], &word, 1);
	} else if (pid > 0) {
		io_close_fd(&told[1]);
		if (read(told[0], &word, 1) != 1)
			give_up("snapshot", ECHILD); /* it was killed */
	}
	io_close_fd(&told[0]);
	io_close_fd(&told[1]);
	return pid;
}

static void put_stdio(struct state_mail *m)
{
	for (int i = 0; i < 3; i++) {
		int *fd = &m->fds[STEP_FD_STDIN + i];

		/* it came where another of the three goes: there was no /dev/null */
		if (*fd <= STDERR_FILENO)
			*fd = move_high(*fd);
		if (*fd < 0 || dup2(*fd, i) < 0)
			give_up("standard streams", errno);
	}
	close_run(m->fds, STEP_FD_SOURCE);
}

static void be_step(struct state_mail *m)
{
	state.parked = false;
	take_channel(m);
	put_stdio(m);
	places_take();
	if (state.forked)
		run_wake();
	state.forked = false;
	limits_resume();
	state.threads =
		run_step(state.channel, io_steal_fd(&m->fds[STEP_FD_SOURCE]), m->step);
}

static void tell_failure(uint32_t step, int errnum)
{
	struct wire_fail fail = { .errnum = (uint32_t)errnum };

	(void)snprintf(fail.text, sizeof(fail.text),
		       errnum == EMFILE ? "no descriptors left: %s" : "cannot fork: %s",
		       strerror(errnum));
	if (wire_send(state.channel, WIRE_FAIL, step, &fail, sizeof(fail)) < 0)
		_exit(0);
}

static void begin(int channel)
{
	struct rlimit limit = { 0 };
	struct err e = { 0 };
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur > HIGH_FDS_END)
		limit.rlim_cur = HIGH_FDS_END;
	state.forked = true; /* of a template, maybe; and numbers are nobody's yet */
	state.high = limit.rlim_cur > 2 * HIGH_FDS ? (int)limit.rlim_cur - HIGH_FDS : 3;
	state.channel = move_high(channel);
	if (state.channel < 0)
		give_up("channel", errno);

	/* a channel that was 0 has left its place to this */
	int null = open("/dev/null", O_RDWR);

	state.null = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, state.high);
	if (state.null < 0 || (null != STDIN_FILENO && dup2(null, STDIN_FILENO) < 0))
		give_up("/dev/null", errno);
	if (null != STDIN_FILENO)
		(void)close(null);
	if (fork_prepare(&e) < 0) {
		(void)dprintf(STDERR_FILENO, "stepjail-%s\n", e.text);
		_exit(1);
	}
	limits_begin(HIGH_FDS_END);
	run_begin();
	if (wire_send(state.channel, WIRE_STARTED, 0,
		      &(struct step_born){ .pid = (uint32_t)getpid() },
		      sizeof(struct step_born)) < 0)
		_exit(1);
}

/* Return: in the state, as run_fork() */
static pid_t fork_file(struct state_mail *m)
{
	pid_t pid = fork_sibling();

	if (pid == 0) {
		take_channel(m);
		tell_born(m->step);
		files_serve(state.channel, m);
	}
	return pid;
}

_Noreturn void state_serve(int channel)
{
	static struct state_mail mail;

	begin(channel);
	for (;;) {
		int r = receive(&mail);

		if (r == 0 && mail.type == WIRE_RUN)
			r = leave_snapshot(&mail);
		else if (r == 0)
			r = fork_file(&mail);
		if (r < 0)
			tell_failure(mail.step, -r);
		else if (r > 0 && mail.type == WIRE_RUN)
			be_step(&mail);
		close_run(mail.fds, mail.type == WIRE_FILE ? STEP_FILE_FDS : STEP_FDS);
	}
}
