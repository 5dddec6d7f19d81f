/* SPDX-License-Identifier: MIT */
/*
 * helper.c - starts programs in a jail, beside the first one: see call.h
 *
 * It runs with the program's id and all of its walls, and its fds 0 to 2 are a socket
 * that listens. Who connects is the jail's maker. It ends with the program. The jail's
 * program may end it, as all that has its id: then there are no more programs but what it
 * starts itself.
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "init/init.h"
#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/helper/call.h"

static struct started {
	int fd;    /* -1: none */
	pid_t pid; /* 0: not started */
} started[CALLS_MAX];

static char text[CALL_BYTES_MAX];
static char *word[CALL_WORDS_MAX + 3]; /* arguments and environment have a NULL each */

/* false where they are not what the head says */
static bool read_words(int fd, const struct call_head *h)
{
	char *at = text, *end = text + h->bytes;
	uint64_t count = 1ULL + h->args + h->env, n = 0;

	if (h->bytes > sizeof(text) || count > CALL_WORDS_MAX || !h->args ||
	    io_read_all(fd, text, h->bytes) != (ssize_t)h->bytes)
		return false;
	for (uint64_t i = 0; i < count; i++, n++) {
		char *nul = memchr(at, '\0', (size_t)(end - at));

		if (!nul)
			return false;
		if (i == 1U + h->args)
			word[n++] = NULL;
		word[n] = at;
		at = nul + 1;
	}
	word[n] = word[n + 1] = NULL;
	return word[0] && word[1];
}

/* why it has not started */
static void tell(const int *fds, int errnum)
{
	unsigned char why = (unsigned char)errnum;

	(void)!write(fds[CALL_FDS - 1], &why, 1);
}

/* in a process of its own, which is to be the program */
static _Noreturn void become(const struct call_head *h, const int *fds)
{
	sigset_t none;

	(void)sigemptyset(&none);
	for (int fd = 0; fd <= 2; fd++)
		(void)dup2(fds[fd], fd);
	if (setsid() >= 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0 &&
	    chdir(word[0]) == 0) {
		environ = word + 2 + h->args;
		(void)execvp(word[1], word + 1);
	}
	tell(fds, errno);
	_exit(1);
}

static void begin(struct started *c)
{
	struct call_head h;
	int fds[CALL_FDS];

	if (fd_passing_receive_by(c->fd, &h, sizeof(h), 0, fds, CALL_FDS, NULL) ==
	    CALL_FDS) {
		errno = EINVAL;
		c->pid = read_words(c->fd, &h) ? fork() : -1;
		if (c->pid == 0)
			become(&h, fds);
		if (c->pid < 0)
			tell(fds, errno);
	}
	if (c->pid > 0)
		(void)send(c->fd, "", 1, MSG_NOSIGNAL);
	for (size_t i = 0; i < CALL_FDS; i++)
		io_close_fd(&fds[i]);
	if (c->pid > 0)
		return;
	c->pid = 0;
	io_close_fd(&c->fd);
}

/* a signal for its program, or its end */
static void serve(struct started *c)
{
	unsigned char signal;
	ssize_t n;

	if (!c->pid) {
		begin(c);
		return;
	}
	n = recv(c->fd, &signal, 1, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	(void)kill(c->pid, n == 1 ? signal : SIGKILL);
	if (n != 1)
		io_close_fd(&c->fd);
}

/* what has ended is told; one whose call has gone is only reaped */
static void reap(void)
{
	int wstatus;
	pid_t pid;

	while ((pid = waitpid(-1, &wstatus, WNOHANG)) > 0)
		for (struct started *c = started; c < started + CALLS_MAX; c++) {
			uint32_t told = (uint32_t)wstatus;

			if (c->pid != pid)
				continue;
			c->pid = 0;
			if (c->fd >= 0)
				(void)send(c->fd, &told, sizeof(told), MSG_NOSIGNAL);
			io_close_fd(&c->fd);
		}
}

/* room for one more call, or NULL: who calls then waits */
static struct started *find_room(void)
{
	for (struct started *c = started; c < started + CALLS_MAX; c++)
		if (c->fd < 0 && !c->pid)
			return c;
	return NULL;
}

static void nothing(int signal)
{
	(void)signal;
}

int main(void)
{
	struct pollfd fds[CALLS_MAX + 2];
	int program = (int)syscall(SYS_pidfd_open, INIT_PROGRAM_PID, 0);
	sigset_t all, waiting;

	/* what goes to all processes of the jail is not for this one */
	(void)sigfillset(&all);
	waiting = all;
	(void)sigdelset(&waiting, SIGCHLD);
	if (program < 0 || sigprocmask(SIG_BLOCK, &all, NULL) < 0 ||
	    sigaction(SIGCHLD, &(struct sigaction){ .sa_handler = nothing }, NULL) < 0)
		return 1;
	for (size_t i = 0; i < CALLS_MAX; i++)
		started[i].fd = -1;
	for (;;) {
		struct started *room = find_room();

		fds[CALLS_MAX + 1] = (struct pollfd){ program, POLLIN, 0 };
		fds[CALLS_MAX] = (struct pollfd){ room ? STDIN_FILENO : -1, POLLIN, 0 };
		for (size_t i = 0; i < CALLS_MAX; i++)
			fds[i] = (struct pollfd){ started[i].fd, POLLIN, 0 };
		if (ppoll(fds, CALLS_MAX + 2, NULL, &waiting) < 0 && errno != EINTR)
			return 1;
		if (fds[CALLS_MAX + 1].revents)
			return 0;
		reap();
		for (size_t i = 0; i < CALLS_MAX; i++)
			if (fds[i].revents && started[i].fd == fds[i].fd)
				serve(&started[i]);
		if (!room || !fds[CALLS_MAX].revents)
			continue;
		room->fd = accept4(STDIN_FILENO, NULL, NULL, SOCK_CLOEXEC);
		if (room->fd >= 0)
			(void)send(room->fd, "", 1, MSG_NOSIGNAL);
		else if (errno != EINTR && errno != ECONNABORTED)
			return 1;
	}
}
