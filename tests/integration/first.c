/* SPDX-License-Identifier: MIT */
/*
 * first.c - the first interpreter of a session, and a liar: see test_serve_lies.py
 *
 * To a file operation its process answers what the operation's path says: a number, which
 * it gives as errno, or "late": nothing, for ever. A step is completed at once.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/step_wire.h"
#include "init/wire.h"

#define CHANNEL 0 /* of the first interpreter */

static struct {
	struct wire_header head;
	int channel;
	char body[sizeof(struct step_file) + STEP_PATH_MAX + 1];
} asked;

static void rest(void)
{
	(void)kill(STEP_REST, 0);
}

static int take(int channel)
{
	_Alignas(struct cmsghdr) char control[256];
	char bytes[WIRE_HEADER_BYTES + sizeof(asked.body)] = { 0 };
	struct iovec iov = { bytes, sizeof(bytes) - 1 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = control,
			      .msg_controllen = sizeof(control) };

	if (recvmsg(channel, &msg, 0) <= 0 || !CMSG_FIRSTHDR(&msg) ||
	    wire_unpack((unsigned char *)bytes, &asked.head) < 0)
		return -1;
	memcpy(asked.body, bytes + WIRE_HEADER_BYTES, sizeof(asked.body) - 1);
	memcpy(&asked.channel, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(asked.channel));
	return 0;
}

static void say_born(int channel, uint32_t step)
{
	const struct step_born born = { .pid = (uint32_t)getpid() };

	(void)wire_send(channel, WIRE_STARTED, step, &born, sizeof(born));
}

static void answer_file(void)
{
	const char *path = asked.body + sizeof(struct step_file);
	struct step_filed filed = { 0 };

	if (strcmp(path, "late") == 0)
		for (;;)
			(void)pause();
	filed.errnum = (uint32_t)strtoul(path, NULL, 0);
	(void)wire_send(asked.channel, WIRE_DONE, asked.head.step, &filed, sizeof(filed));
	_exit(0);
}

static void answer_step(void)
{
	const struct wire_done done = { .how = WIRE_HOW_COMPLETED };

	(void)wire_send(asked.channel, WIRE_DONE, asked.head.step, &done, sizeof(done));
	for (;;) { /* a state, of which nothing is asked */
		rest();
		(void)pause();
	}
}

int main(void)
{
	const uint64_t all = UINT64_MAX;

	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
	say_born(CHANNEL, 0);
	for (;;) {
		rest();
		if (take(CHANNEL) < 0)
			return 0;
		/* of a step, the child is the snapshot, and goes on as the state */
		bool child = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL,
				     NULL) == 0;

		if (child && asked.head.type == WIRE_FILE) {
			say_born(asked.channel, asked.head.step);
			answer_file();
		}
		if (child)
			say_born(CHANNEL, asked.head.step);
		else if (asked.head.type == WIRE_RUN)
			answer_step();
		(void)close(asked.channel);
	}
}
