/* SPDX-License-Identifier: MIT */
/*
 * restless.c - a step becomes this program, which speaks as an interpreter does, and does
 * not wait as one: see test_serve_rest.py
 *
 * usage: restless WAY CHANNEL STEP
 *
 * Says DONE, and waits as init/step_wire.h has it, in all ways but the first few; what it
 * does when it is asked for a process is the last part of WAY.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { STARTED = 20, DONE = 25 };

static int channel;
static uint32_t step;

static void say(int fd, uint16_t type, const void *payload, uint32_t length)
{
	struct {
		uint32_t length;
		uint16_t type, reserved;
		uint32_t step;
		unsigned char payload[64];
	} packet = { length, type, 0, step, { 0 } };

	memcpy(packet.payload, payload, length);
	if (send(fd, &packet, 12 + length, 0) < 0)
		exit(9);
}

static void spin(int signal)
{
	(void)signal;
	for (volatile uint64_t n = 0;; n++)
		;
}

static void block_all(void)
{
	const uint64_t all = UINT64_MAX;

	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
}

static void rest(void)
{
	(void)kill(INT32_MIN, 0);
}

/* a process that init gets, and that has nobody who knows of it; it is there on return */
static void spin_apart(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (fork() == 0)
			spin(0);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void make_thread(void)
{
	static char stack[65536];
	const unsigned int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
				   CLONE_THREAD | CLONE_SYSVSEM;

	if (clone((int (*)(void *))(uintptr_t)spin, stack + sizeof(stack), (int)flags,
		  NULL) < 0)
		exit(9);
}

/* a process whose second thread goes on when its first one has ended */
static void spin_leaderless(void)
{
	char path[64], text[256];
	pid_t pid = fork();

	if (pid == 0) {
		make_thread();
		(void)syscall(SYS_exit, 0);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	do {
		FILE *stat = fopen(path, "re");

		if (!stat || !fgets(text, sizeof(text), stat))
			exit(9);
		(void)fclose(stat);
	} while (!strstr(text, ") Z "));
}

/* the channel that came with the request, as its first fd */
static int asked(void)
{
	_Alignas(struct cmsghdr) char control[256];
	char bytes[8192];
	struct iovec iov = { bytes, sizeof(bytes) };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };
	int fd;

	if (recvmsg(channel, &msg, 0) <= 0)
		exit(0);
	memcpy(&step, bytes + 8, sizeof(step));
	if (!CMSG_FIRSTHDR(&msg))
		exit(9);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
	return fd;
}

/* a snapshot that says it is there, and waits; what was asked makes ready for ever */
static void spin_ready(void)
{
	if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL) != 0)
		spin(0);

	const uint32_t born[2] = { (uint32_t)getpid(), 0 };

	say(channel, STARTED, born, sizeof(born));
}

/* a child of init's that says nothing; what was asked waits on */
static void spin_mute(void)
{
	if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL) == 0)
		spin(0);
}

static int end_at_once(void *unused)
{
	(void)unused;
	_exit(0);
}

/* children of init's that end at once, one after the other */
static void end_many(int many)
{
	static char stack[65536];
	const int flags = CLONE_VM | CLONE_VFORK | CLONE_PARENT | SIGCHLD;

	/* until init has reaped them, they count as processes of the jail */
	while (many > 0)
		if (clone(end_at_once, stack + sizeof(stack), flags, NULL) > 0)
			many--;
}

/* a snapshot that says it is another process, and ends while serve is stopped */
static void lie(void)
{
	uint32_t born[2] = { 0, 0 };

	if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL) != 0)
		return;
	while (born[0] == 0) {
		FILE *told = fopen("/mnt/told", "re");

		if (!told || fscanf(told, "%u", &born[0]) != 1)
			exit(9);
		(void)fclose(told);
		(void)usleep(1000);
	}
	say(channel, STARTED, born, sizeof(born));
	_exit(0);
}

/* stops, and is woken, by timers of its own */
static int stop_by_timers(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGSTOP };
	timer_t timer;

	return timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ? errno : 0;
}

int main(int argc, char **argv)
{
	const unsigned char done[48] = { 0 }; /* struct wire_done */
	const char *way = argc == 4 ? argv[1] : "";
	const struct itimerval soon = { .it_value = { .tv_usec = 100000 } };

	channel = atoi(argv[2]);
	step = (uint32_t)atoi(argv[3]);
	if (strcmp(way, "timers") == 0)
		return stop_by_timers();
	if (strcmp(way, "exits") == 0)
		end_many(10000);
	if (strcmp(way, "signal") == 0) {
		(void)signal(SIGALRM, spin);
		(void)setitimer(ITIMER_REAL, &soon, NULL);
	} else {
		block_all();
	}
	if (strcmp(way, "thread") == 0)
		make_thread();
	say(channel, DONE, done, sizeof(done));
	if (strcmp(way, "goes-on") == 0 || strcmp(way, "signal") == 0 ||
	    strcmp(way, "thread") == 0)
		(void)!write(1, "it goes on\n", 11);
	if (strcmp(way, "goes-on") == 0)
		spin(0);
	if (strcmp(way, "children") == 0)
		for (int i = 0; i < 3; i++)
			spin_apart();
	if (strcmp(way, "leaderless") == 0)
		spin_leaderless();
	for (;;) {
		int fd;

		rest();
		fd = asked();
		if (strcmp(way, "awake") == 0)
			spin(0);
		if (strcmp(way, "awake-children") == 0)
			for (int i = 0; i < 3; i++)
				spin_apart();
		if (strcmp(way, "ready") == 0)
			spin_ready();
		if (strcmp(way, "ready-mute") == 0)
			spin_mute();
		if (strcmp(way, "lies") == 0)
			lie();
		(void)close(fd);
	}
}
