/* SPDX-License-Identifier: MIT */
/*
 * client.c - time what `stepjail serve` does, beside what one would start instead
 *
 * usage: client first ROUNDS SERVE... <LIST	to the first output of print(1)
 *	  client step ROUNDS SERVE...		one more step in an open session: x + 1
 *	  client paced ROUNDS SERVE...		the same, 5 ms after the last one's end
 *	  client rollback ROUNDS SERVE...	after a step that ran out of memory
 *	  client cycle COUNT AT_A_TIME SERVE...	fresh jails: open, step, gone
 *	  client idle COUNT SERVE...		open sessions, and what they cost
 *
 * SERVE is a command that speaks init/serve_wire.h on fd 0. LIST has a line for each
 * contender, its name, a tab, and its words, tab by tab; every round starts each of them
 * once, in an order drawn anew, and the serve's own turn is one of them, so that a busy
 * spell of the machine hits all alike. A time is from before the request, or before
 * posix_spawn(3), to the first byte of output, by CLOCK_MONOTONIC; the end is waited for
 * outside of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init/serve_wire.h"
#include "init/wire.h"
#include "tests/bench/list.h"
#include "tests/bench/machine.h"
#include "tests/wire_recv.h"

#define WARM_UP 5
#define IDLE_SECONDS 5
#define PAUSE_NS 5000000

extern char **environ;

static int serve_fd = -1;
static const char *verdict = "\"completed\""; /* that steps come to */
static bool said_true;                        /* the last RESULT */
static pid_t serve_pid;

static void die(const char *what)
{
	(void)fprintf(stderr, "client: %s\n", what);
	exit(1);
}

static void start_serve(char **words)
{
	posix_spawn_file_actions_t files;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 ||
	    posix_spawn_file_actions_init(&files) != 0 ||
	    posix_spawn_file_actions_adddup2(&files, ends[1], 0) != 0 ||
	    posix_spawnp(&serve_pid, words[0], &files, NULL, words, environ) != 0)
		die("cannot start serve");
	(void)close(ends[1]);
	serve_fd = ends[0];
}

static void end_serve(void)
{
	int status = 0;

	(void)close(serve_fd);
	(void)waitpid(serve_pid, &status, 0);
	if (status != 0)
		die("serve failed at its end");
}

static void ask(uint16_t type, uint32_t session, const char *text)
{
	char payload[256] = { 0 }; /* branch 0, the policy's own limits */
	size_t n =
		type == WIRE_ONCE ? sizeof(struct serve_limits) : sizeof(struct serve_at);

	n += (size_t)snprintf(payload + n, sizeof(payload) - n, "%s", text);
	if (wire_send(serve_fd, type, session, payload, n) < 0)
		die("serve is gone");
}

/* RUN of what CODE said, with the policy's own limits */
static void ask_run(uint32_t session)
{
	struct serve_limits limits = { 0 };

	if (wire_send(serve_fd, WIRE_RUN, session, &limits, sizeof(limits)) < 0)
		die("serve is gone");
}

/* the next frame; what must not come ends the measurement */
static struct wire_header hear(void)
{
	static char payload[WIRE_PAYLOAD_MAX + 1];
	struct wire_header h;

	if (wire_recv(serve_fd, &h, payload, WIRE_PAYLOAD_MAX) < 0)
		die("serve is gone");
	payload[h.length] = '\0';
	if (h.type == WIRE_REFUSED)
		die(payload + (payload[0] == '{' ? 0 : sizeof(struct serve_at)));
	if (h.type == WIRE_RESULT)
		said_true = strcmp(payload + sizeof(struct serve_at), "True") == 0;
	if (h.type == WIRE_DONE && !strstr(payload + sizeof(struct serve_at), verdict))
		die(payload + sizeof(struct serve_at));
	return h;
}

static void hear_until(uint16_t type)
{
	while (hear().type != type)
		;
}

/* a process, to the first byte that it writes */
static double first_of_process(struct contender *c)
{
	posix_spawn_file_actions_t files;
	char byte[64];
	int ends[2], status = -1;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0 || posix_spawn_file_actions_init(&files) != 0 ||
	    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) != 0 ||
	    posix_spawn_file_actions_adddup2(&files, ends[1], 1) != 0 ||
	    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) != 0)
		die("cannot set up a process");

	double start = list_now_ms();
	bool started = posix_spawn(&pid, c->argv[0], &files, NULL, c->argv, environ) == 0;

	(void)close(ends[1]);

	bool said = read(ends[0], byte, sizeof(byte)) > 0;
	double ms = list_now_ms() - start;

	(void)close(ends[0]);
	(void)posix_spawn_file_actions_destroy(&files);
	while (started && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	c->failed |= !said || status != 0;
	return ms;
}

static double first_of_session(uint32_t session)
{
	double start = list_now_ms();

	ask(WIRE_ONCE, session, "print(1)");
	hear_until(WIRE_OUT);

	double ms = list_now_ms() - start;

	hear_until(WIRE_CLOSED);
	return ms;
}

static void print_times(const char *name, double *ms, size_t n, double reference)
{
	list_sort(ms, n);
	printf("%-24s %9.3f %9.3f %9.3f", name, list_median(ms, n), ms[0],
	       list_p99(ms, n));
	if (reference > 0)
		printf(" %9.3f", list_median(ms, n) / reference);
	putchar('\n');
}

static void race_to_first_output(size_t rounds)
{
	static struct contender list[LIST_MAX];
	size_t n = list_read(list, 1, rounds), order[LIST_MAX];
	double reference = 0;

	list[n++].name = strdup("stepjail, warm");
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t round = 0; round < WARM_UP + rounds; round++) {
		list_shuffle(order, n);
		for (size_t i = 0; i < n; i++) {
			struct contender *c = &list[order[i]];
			double ms = c->argv[0] ? first_of_process(c)
					       : first_of_session((uint32_t)round + 1);

			if (round >= WARM_UP)
				c->ms[round - WARM_UP] = ms;
		}
	}
	printf("%-24s %9s %9s %9s %9s\n", "", "median ms", "min", "p99", "/ first");
	for (size_t i = 0; i < n; i++) {
		if (list[i].failed) {
			printf("%-24s failed\n", list[i].name);
			continue;
		}
		print_times(list[i].name, list[i].ms, rounds, reference);
		if (i == 0)
			reference = list_median(list[i].ms, rounds);
	}
}

static void time_steps(size_t rounds, bool paced)
{
	double *ms = calloc(rounds, sizeof(double));

	if (!ms)
		abort();
	ask(WIRE_OPEN, 1, "");
	hear_until(WIRE_OPENED);
	ask(WIRE_CODE, 1, "x = 1");
	ask_run(1);
	hear_until(WIRE_DONE);
	for (size_t round = 0; round < WARM_UP + rounds; round++) {
		const struct timespec pause = { .tv_nsec = PAUSE_NS };
		double start;

		if (paced)
			(void)nanosleep(&pause, NULL);
		start = list_now_ms();
		ask(WIRE_CODE, 1, "x + 1");
		ask_run(1);
		hear_until(WIRE_DONE);
		if (round >= WARM_UP)
			ms[round - WARM_UP] = list_now_ms() - start;
	}
	printf("%-24s %9s %9s %9s\n", "", "median ms", "min", "p99");
	print_times(paced ? "x + 1, paced" : "x + 1", ms, rounds, 0);
	free(ms);
}

static void run(const char *source)
{
	ask(WIRE_CODE, 1, source);
	ask_run(1);
	hear_until(WIRE_DONE);
}

static void time_rollbacks(size_t rounds)
{
	double *rollback = calloc(rounds, sizeof(double));
	double *next = calloc(rounds, sizeof(double));

	if (!rollback || !next)
		abort();
	ask(WIRE_OPEN, 1, "");
	hear_until(WIRE_OPENED);
	run("kept = bytearray(range(256)) * (200 << 12)");
	for (size_t round = 0; round < rounds; round++) {
		/* that of the step before: older ones may have gone for its memory */
		const struct serve_state back = { .branch = 0,
						  .state = 1 + 2 * (uint32_t)round };
		double start;

		verdict = "\"memory\"";
		/* one process alone would come to its own bound first, a MemoryError */
		run("import os\nos.fork()\nmore = []\nwhile True:\n"
		    " try: more.append(b'x' * (1 << 20))\n except MemoryError: pass");
		verdict = "\"completed\"";
		start = list_now_ms();
		if (wire_send(serve_fd, WIRE_ROLLBACK, 1, &back, sizeof(back)) < 0)
			die("serve is gone");
		hear_until(WIRE_STATE);
		rollback[round] = list_now_ms() - start;
		said_true = false;
		start = list_now_ms();
		run("len(kept) == 200 << 20 and kept[12345] == 12345 % 256");
		next[round] = list_now_ms() - start;
		if (!said_true)
			die("a variable is not what it was");
	}
	printf("%-24s %9s %9s %9s\n", "", "median ms", "min", "p99");
	print_times("rollback", rollback, rounds, 0);
	print_times("the step after it", next, rounds, 0);
	free(rollback);
	free(next);
}

/* so many at a time; the rate of each tenth shows whether it gets slower */
static void time_cycles(uint32_t count, uint32_t at_a_time)
{
	double begun = list_now_ms(), tenth = begun, rates[10];
	uint32_t asked = 0, closed = 0;
	size_t tenths = 0;

	while (closed < count) {
		while (asked < count && asked - closed < at_a_time)
			ask(WIRE_ONCE, ++asked, "print(1)");
		if (hear().type != WIRE_CLOSED)
			continue;
		closed++;
		if (closed % (count / 10) == 0 && tenths < 10) {
			double now = list_now_ms();

			rates[tenths++] = count / 10.0 / (now - tenth) * 1e3;
			tenth = now;
		}
	}
	printf("%" PRIu32 " fresh jails, %" PRIu32
	       " at a time: %.0f a second; by tenths:",
	       count, at_a_time, count / (list_now_ms() - begun) * 1e3);
	for (size_t i = 0; i < tenths; i++)
		printf(" %.0f", rates[i]);
	putchar('\n');
}

static void weigh_idle(uint32_t count)
{
	/* the template, and what the kernel keeps for the first jail of all */
	ask(WIRE_ONCE, count + 1, "print(1)");
	hear_until(WIRE_CLOSED);
	(void)sleep(1);

	uint64_t before = machine_available_bytes();

	for (uint32_t i = 1; i <= count; i++) {
		ask(WIRE_OPEN, i, "");
		hear_until(WIRE_OPENED);
	}
	(void)sleep(1);

	uint64_t after = machine_available_bytes();
	uint64_t ticks = machine_descendant_ticks(serve_pid);

	(void)sleep(IDLE_SECONDS);
	ticks = machine_descendant_ticks(serve_pid) - ticks;
	printf("%" PRIu32 " idle sessions: %.3f MiB each; %" PRIu64
	       " ticks of CPU in %d s, all of them and serve together\n",
	       count, ((double)before - (double)after) / count / (1 << 20), ticks,
	       IDLE_SECONDS);
	/* and every one of them still answers */
	for (uint32_t i = 1; i <= count; i += count / 10) {
		ask(WIRE_CODE, i, "1 + 1");
		ask_run(i);
		hear_until(WIRE_DONE);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 3 ? argv[1] : "";
	size_t count = argc > 3 ? strtoul(argv[2], NULL, 10) : 0;
	bool cycle = strcmp(mode, "cycle") == 0;

	if (count < 10 || (cycle && argc < 5)) {
		(void)fputs("usage: client first|step|paced|rollback|idle COUNT "
			    "SERVE..., or\n"
			    "       client cycle COUNT AT_A_TIME SERVE...; 10 or more\n",
			    stderr);
		return 2;
	}
	start_serve(argv + (cycle ? 4 : 3));
	if (strcmp(mode, "first") == 0)
		race_to_first_output(count);
	else if (strcmp(mode, "step") == 0)
		time_steps(count, false);
	else if (strcmp(mode, "paced") == 0)
		time_steps(count, true);
	else if (strcmp(mode, "rollback") == 0)
		time_rollbacks(count);
	else if (cycle)
		time_cycles((uint32_t)count, (uint32_t)strtoul(argv[3], NULL, 10));
	else
		weigh_idle((uint32_t)count);
	end_serve();
	return 0;
}
