/* SPDX-License-Identifier: MIT */
/*
 * interpreter.c - the interpreter's process, from fork to its end: see session.h
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "rootfs/session.h"

/*
 * Between fork and Python.
 * Should: leave the process with fds 0, 1, 2 and @channel, no blocked signal, a session
 * of its own, and bound to die with the supervisor.
 *
 * Mustn't: return, or leave the client's socket open.
 */
static _Noreturn void become_interpreter(struct session *s, int channel, int out, int err,
					 pid_t supervisor)
{
	sigset_t none;

	(void)sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != supervisor ||
	    dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0 ||
	    (channel > 3 && close_range(3, (unsigned int)channel - 1, 0) < 0) ||
	    close_range((unsigned int)channel + 1, ~0u, 0) < 0 || setsid() < 0 ||
	    /* its /proc files are its own again; the supervisor's are not */
	    prctl(PR_SET_DUMPABLE, 1) < 0 || sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		_exit(1);
	/* when memory is short, the step goes and the session stays; a jail may lack it
	 */
	(void)io_write_file_at(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
	step_serve(channel, s->mail);
}

int interpreter_start(struct session *s, struct err *e)
{
	cleanup_fd int child_out = -1, child_err = -1, child_channel = -1;
	pid_t supervisor = getpid();
	int out[2], err[2], channel[2];

	if (pipe2(out, O_CLOEXEC) < 0)
		return err_set(e, errno, "session: cannot make a pipe");
	s->fd[OUT] = out[0];
	child_out = out[1];
	if (pipe2(err, O_CLOEXEC) < 0)
		return err_set(e, errno, "session: cannot make a pipe");
	s->fd[ERR] = err[0];
	child_err = err[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		return err_set(e, errno, "session: cannot make a socket pair");
	s->fd[CHANNEL] = channel[0];
	child_channel = channel[1];
	/* the step may open its stdout for reading and take what this process came for */
	if (fcntl(out[0], F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(err[0], F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, errno, "session: cannot make a pipe non-blocking");

	s->interpreter = fork();
	if (s->interpreter < 0)
		return err_set(e, errno, "session: cannot fork an interpreter");
	if (s->interpreter == 0)
		become_interpreter(s, child_channel, child_out, child_err, supervisor);
	s->state = STARTING;
	s->killed = false;
	return 0;
}

void interpreter_end(struct session *s)
{
	for (int w = OUT; w <= CHANNEL; w++)
		io_close_fd(&s->fd[w]);
	if (s->interpreter > 0) {
		(void)kill(s->interpreter, SIGKILL);
		(void)waitpid(s->interpreter, NULL, 0);
	}
	s->interpreter = 0;
}
