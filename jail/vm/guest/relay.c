/* SPDX-License-Identifier: MIT */
/*
 * relay.c - stepjail-vm-relay: the host's end of a guest's streams, without rights
 *
 * usage: stepjail-vm-relay tsc: print the kilohertz of the time stamp counter
 *	  stepjail-vm-relay run|serve|run-out booted|cloned BOOT_MS RUN_MS, started by
 *	stepjail-vm with
 *	0, 1, 2	the caller's own; of serve, 0 is its client's socket
 *	3	QEMU's end of the virtio-serial port
 *	4	what QEMU and the guest's kernel print
 *	5	the request, to its end
 *	6	gets the report of run
 *	8	gets the files of --out, if there is one
 *	7	a socket to stepjail-vm: bytes that come are signals for the command, its
 *		end is the end. One byte goes there when the guest has its request, one
 *		when the command has ended
 *
 * Nobody but this process reads a byte of the guest's. Before the first one it gives
 * up its ids, as root, and puts itself behind a filter of a few calls, of which none
 * takes a path or makes anything. Exit status: the command's; 125 if the guest
 * failed, with a line on stderr that says how.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "init/count.h"
#include "jail/vm/guest/mux.h"

#include "filter_relay.h"

#define STATUS_FAILED 125
#define NOBODY 65534
#define REQUEST_MAX (1u << 20)
#define CONSOLE_KEPT 4096u
#define LINE_KEPT 600u /* more than struct err has */
#define WORDS_OF_RUN "stepjail: "
/* a QEMU that is somebody else's keeps its console open */
#define LAST_WORDS_MS 2000

enum { FD_LINK = 3, FD_CONSOLE, FD_REQUEST, FD_REPORT, FD_MAIN, FD_FILES };

static int status = -1;
static bool ready, taken;
static char console[CONSOLE_KEPT + 1];
static size_t console_held;

static int64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* what the guest printed last, as one line without control bytes: the word of a guest */
static const char *last_line(void)
{
	char *end = console + console_held, *line;

	while (end > console && (unsigned char)end[-1] <= ' ')
		end--;
	*end = '\0';
	line = strrchr(console, '\n');
	line = line ? line + 1 : console;
	for (char *c = line; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return strlen(line) > LINE_KEPT ? end - LINE_KEPT : line;
}

static _Noreturn void fail(const char *why)
{
	const char *said = last_line();

	(void)fprintf(stderr, "stepjail: --wall vm: %s%s%s\n", why,
		      *said ? "; its last line: " : "", said);
	exit(STATUS_FAILED);
}

/* all of it is thrown away but the end */
static void read_console(struct pollfd *p)
{
	char bytes[1024];
	ssize_t n = read(FD_CONSOLE, bytes, sizeof(bytes));

	if (n <= 0) {
		p->fd = -1;
		return;
	}
	if (console_held + (size_t)n > CONSOLE_KEPT) {
		size_t keep = CONSOLE_KEPT - (size_t)n;

		keep = keep < console_held ? keep : console_held;
		memmove(console, console + console_held - keep, keep);
		console_held = keep;
	}
	memcpy(console + console_held, bytes, (size_t)n);
	console_held += (size_t)n;
}

static void read_main(struct mux *m)
{
	uint8_t message[2] = { MUX_SIGNAL, 0 };
	ssize_t n = read(FD_MAIN, message + 1, 1);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		exit(STATUS_FAILED);
	if (n > 0)
		mux_say(m, message, sizeof(message));
}

static int on_control(struct mux *m, const uint8_t *message, size_t length)
{
	(void)m;
	if (!ready && length == 1 && message[0] == MUX_READY) {
		ready = true;
		return 0;
	}
	if (ready && !taken && length == 1 && message[0] == MUX_TAKEN) {
		taken = true;
		return 0;
	}
	if (taken && length == 2 && message[0] == MUX_EXIT && status < 0) {
		status = message[1];
		return 0;
	}
	return -EPROTO;
}

/* before a byte of the guest's is read */
static void confine(void)
{
	const struct sock_fprog program = {
		.len = COUNT(filter_relay),
		.filter = (struct sock_filter *)(uintptr_t)filter_relay,
	};
	const struct rlimit none = { 0, 0 };

	/* root of a namespace that has no such id is an ordinary user */
	if ((geteuid() == 0 &&
	     (setgid(NOBODY) < 0 ? errno != EINVAL
				 : setgroups(0, NULL) < 0 || setuid(NOBODY) < 0)) ||
	    prctl(PR_SET_DUMPABLE, 0) < 0 || setrlimit(RLIMIT_CORE, &none) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		fail("the relay cannot give up its rights");
}

/*
 * QEMU has ended, and its last words are there. Before the request is taken no stepjail
 * runs in a guest, so that a line in stepjail's form is that of the run which makes
 * QEMU's jail.
 */
static _Noreturn void fail_ended(struct pollfd *from)
{
	int64_t until_ms = now_ms() + LAST_WORDS_MS, left;

	while (from->fd >= 0 && (left = until_ms - now_ms()) > 0 &&
	       poll(from, 1, (int)left) > 0)
		read_console(from);

	const char *said = last_line();

	if (taken || strncmp(said, WORDS_OF_RUN, strlen(WORDS_OF_RUN)) != 0)
		fail("the guest has ended without an answer");
	(void)fprintf(
		stderr,
		"stepjail: --wall vm: %s (that is QEMU's own jail, without which there is no guest)\n",
		said + strlen(WORDS_OF_RUN));
	exit(STATUS_FAILED);
}

static void turn(struct mux *m, struct pollfd other[2], int64_t until_ms)
{
	int64_t left = until_ms ? until_ms - now_ms() : -1;
	int r;

	if (until_ms && left <= 0)
		fail(taken ? "the guest hangs: its command should have ended long ago"
			   : "the guest does not start");
	r = mux_turn(m, other, 2, until_ms ? (int)left : -1);
	if (other[0].revents)
		read_console(&other[0]);
	if (other[1].revents)
		read_main(m);
	if (r == -EPIPE && status < 0)
		fail_ended(&other[0]);
	if (r < 0 && status < 0)
		fail("the guest has sent what is no frame");
}

static void send_request(struct pollfd *from)
{
	static char text[REQUEST_MAX];
	size_t length = sizeof(uint32_t); /* which comes first */
	ssize_t n;

	while ((n = read(FD_REQUEST, text + length, sizeof(text) - length)) > 0)
		length += (size_t)n;

	uint32_t head = (uint32_t)(length - sizeof(head));

	if (n < 0 || length == sizeof(text))
		fail("the request is too long");
	(void)close(FD_REQUEST);
	memcpy(text, &head, sizeof(head));
	for (size_t at = 0; at < length; at += (size_t)n) {
		n = write(FD_LINK, text + at, length - at);
		if (n < 0 && errno == EAGAIN)
			fail("the guest takes no request");
		if (n <= 0)
			fail_ended(from);
	}
}

/* 0: no end */
static int64_t end_ms(long from_now_ms)
{
	return from_now_ms > 0 ? now_ms() + from_now_ms : 0;
}

/*
 * A guest in software has the host's time stamp counter, and its kernel measures that
 * against a timer which QEMU serves late on a busy host: one boot in five hung there. So
 * the kernel is told.
 */
static int print_tsc(void)
{
	const struct timespec wait = { 0, 20000000 };
	struct timespec from, to;
	uint64_t before, ticks, ns;

	(void)clock_gettime(CLOCK_MONOTONIC, &from);
	before = __builtin_ia32_rdtsc();
	(void)nanosleep(&wait, NULL);
	(void)clock_gettime(CLOCK_MONOTONIC, &to);
	ticks = __builtin_ia32_rdtsc() - before;
	ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 +
	     (uint64_t)(to.tv_nsec - from.tv_nsec);
	return printf("%llu\n", (unsigned long long)(ticks * 1000000 / ns)) < 0;
}

int main(int argc, char **argv)
{
	static struct mux m;
	struct pollfd other[] = { { FD_CONSOLE, POLLIN, 0 }, { FD_MAIN, POLLIN, 0 } };
	bool run = argc == 5 && strncmp(argv[1], "run", 3) == 0;
	int64_t until_ms;

	if (argc == 2 && strcmp(argv[1], "tsc") == 0)
		return print_tsc();
	if (argc != 5)
		return STATUS_FAILED;
	(void)signal(SIGPIPE, SIG_IGN);
	int client = run ? -1 : dup(STDIN_FILENO);

	long boot_ms = strtol(argv[3], NULL, 10);
	/* for the request, whose writer waits */
	const struct timeval request_time = { boot_ms / 1000, boot_ms % 1000 * 1000 };

	(void)setsockopt(FD_LINK, SOL_SOCKET, SO_SNDTIMEO, &request_time,
			 sizeof(request_time));
	confine();
	mux_init(&m, FD_LINK, on_control);
	ready = strcmp(argv[2], "cloned") == 0;
	until_ms = end_ms(boot_ms);
	while (!ready)
		turn(&m, other, until_ms);
	send_request(&other[0]);
	m.pipe[MUX_IN].in = STDIN_FILENO;
	m.pipe[MUX_OUT].out = run ? STDOUT_FILENO : client;
	m.pipe[MUX_OUT].half = !run;
	m.pipe[MUX_ERR].out = STDERR_FILENO;
	m.pipe[MUX_REPORT].out = run ? FD_REPORT : -1;
	m.pipe[MUX_FILES].out = strcmp(argv[1], "run-out") == 0 ? FD_FILES : -1;
	while (!taken)
		turn(&m, other, until_ms);
	(void)!write(FD_MAIN, "r", 1);
	until_ms = end_ms(strtol(argv[4], NULL, 10));
	while (status < 0 || !mux_idle(&m))
		turn(&m, other, until_ms);
	(void)!write(FD_MAIN, "e", 1);
	return status;
}
