/* SPDX-License-Identifier: MIT */
/*
 * warm_host.c - jails one after the other, out of one template or executed, and their
 * walls
 *
 * usage: warm_host COUNT warm|cold|warm-step|cold-step [options of stepjail run] --
 * INTERPRETER WORDS
 * The jails' output goes to stdout, and behind each jail's one line of JSON: how it was
 * launched, its verdict, its posture, and microseconds from the launch until the program
 * waited at its gate, until that was opened, until the interpreter was a state, until a
 * step's first output, and until the jail had ended.
 * -step: the interpreter has a channel, and is asked to run what is in STEP.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "init/step_wire.h"
#include "init/wire.h"
#include "jail/launch/keeper.h"
#include "jail/launch/launch.h"
#include "jail/watch/proc_usage.h"
#include "jail/watch/run_loop.h"
#include "jail/plan/option.h"
#include "jail/watch/outcome.h"
#include "jail/base/fd_passing.h"
#include "jail/watch/report.h"
#include "jail/watch/startup.h"
#include "jail/serve/template/template.h"

static struct plan plan;
static struct parts parts;
static struct keeper keeper;
static struct template template;

static int end(const struct err *e)
{
	(void)fprintf(stderr, "%s\n", e->text);
	return 125;
}

static double now_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static bool answered;
static struct err answer; /* errnum is 0 where a clone was made */

static void made(struct template *t, const struct err *e)
{
	(void)t;
	answered = true;
	answer = e ? *e : (struct err){ 0 };
}

static int launch_warm(struct jail *j, struct err *e)
{
	struct pollfd fds[] = { { .fd = template.events, .events = POLLIN },
				{ .fd = -1, .events = POLLIN } };
	int r;

	answered = false;
	template.made = made;
	r = template_ask(&template, j, &parts, e);
	while (r == 0 && !answered) {
		if (poll(&fds[0], 1, 20000) != 1)
			return err_say(e, ETIMEDOUT, "no answer of the template");
		r = template_serve(&template, e);
		r = r < 0 ? r : 0;
	}
	if (r == 0 && answer.errnum) {
		*e = answer;
		return -e->errnum;
	}
	fds[1].fd = j->control;
	while (r == 0) {
		if (poll(&fds[1], 1, 20000) != 1)
			return err_say(e, ETIMEDOUT, "no clone");
		r = template_meet(&template, j, e);
	}
	return r < 0 ? r : launch_go(j, e);
}

static int launch(bool warm, struct jail *j, struct err *e)
{
	return warm ? launch_warm(j, e) : launch_jail(j, &parts, e);
}

static int begin_template(struct err *e)
{
	struct pollfd said;
	int r = template_start(&template, &parts, plan.argv, STDERR_FILENO, e);

	said = (struct pollfd){ .fd = template.events, .events = POLLIN };
	while (r == 0) {
		if (poll(&said, 1, 20000) != 1)
			return err_say(e, ETIMEDOUT, "the template is not ready");
		r = template_serve(&template, e);
	}
	return r < 0 ? r : 0;
}

/* up to the opened gate, as a loop of many jails would */
static int stand(struct startup *up, struct err *e)
{
	struct pollfd fds[] = {
		{ .fd = up->jail.control, .events = POLLIN },
		{ .fd = up->jail.gate, .events = POLLIN },
	};
	int r = 0;

	while (r == 0 && !up->complete) {
		if (poll(fds, 2, 10000) < 1)
			return err_say(e, ETIMEDOUT, "is not complete");
		if (fds[0].revents)
			r = startup_control(up, e);
		if (r == 0 && fds[1].revents)
			r = startup_gate(up, e);
		if (r > 0) {
			fds[1].fd = -1;
			r = 0;
		}
	}
	return r < 0 ? r : gate_open(&up->jail.gate);
}

/* one packet of the interpreter's, by its type */
static int expect(int channel, unsigned int type, struct err *e)
{
	unsigned char packet[65536];
	struct wire_header h = { 0 };
	ssize_t n = recv(channel, packet, sizeof(packet), 0);

	if (n < WIRE_HEADER_BYTES || wire_unpack(packet, &h) < 0 || h.type != type)
		return err_say(e, EBADMSG, "packet of %zd bytes, type %u", n, h.type);
	return 0;
}

/* STARTED, then a step; the times when state 0 and the output were there */
static int step(int channel, double *state_us, double *output_us, struct err *e)
{
	const char *source = getenv("STEP") ? getenv("STEP") : "print(1)";
	unsigned char head[WIRE_HEADER_BYTES];
	char text[4096];
	int own[2], out[2], memory = memfd_create("source", MFD_ALLOW_SEALING);
	int r = expect(channel, WIRE_STARTED, e);

	*state_us = now_us();
	if (r < 0)
		return r;
	if (memory < 0 || write(memory, source, strlen(source)) < 0 ||
	    fcntl(memory, F_ADD_SEALS,
		  F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, own) < 0 ||
	    pipe2(out, O_CLOEXEC) < 0)
		return err_set(e, errno, "a step's fds");

	int fds[STEP_FDS] = { own[1], open("/dev/null", O_RDONLY | O_CLOEXEC), out[1],
			      out[1], memory };

	wire_pack(&(struct wire_header){ .type = WIRE_RUN, .step = 1 }, head);
	r = fd_passing_send(channel, head, sizeof(head), fds, STEP_FDS);
	for (int i = 0; i < STEP_FDS; i++)
		if (i != STEP_FD_STDERR)
			(void)close(fds[i]);

	ssize_t n = read(out[0], text, sizeof(text));

	*output_us = now_us();
	if (r < 0 || n <= 0)
		return err_say(e, EPIPE, "no output of the step");
	(void)fwrite(text, 1, (size_t)n, stdout);
	while ((n = read(out[0], text, sizeof(text))) > 0 &&
	       memchr(text, 4, (size_t)n) == NULL)
		(void)fwrite(text, 1, (size_t)n, stdout);
	(void)close(own[0]);
	(void)close(out[0]);
	return 0;
}

static int one_step(bool warm, struct err *e)
{
	static struct startup up;
	double start, gated, state = 0, output = 0;
	int channel[2], r;

	up = STARTUP_NONE;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		return err_set(e, errno, "channel");
	up.jail.stdio[0] = channel[1];
	for (int fd = 1; fd <= 2; fd++)
		up.jail.stdio[fd] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	start = now_us();
	r = launch(warm, &up.jail, e);
	if (r == 0)
		r = stand(&up, e);
	gated = now_us();
	/* an interpreter that rests is held by whoever listens: nobody does here */
	gate_close(&up.gate);
	if (r == 0)
		r = step(channel[0], &state, &output, e);
	if (r == 0) {
		(void)printf("{\"warm\":%s,\"status\":0,\"error\":\"\",\"gate_us\":%.0f,"
			     "\"state_us\":%.0f,\"output_us\":%.0f,\"limited\":%d,"
			     "\"posture\":",
			     warm ? "true" : "false", gated - start, state - start,
			     output - start, up.jail.limited);
		report_posture(&up.posture, &up.jail, stdout);
		(void)printf("}\n");
		(void)fflush(stdout);
		free(up.posture.json);
	}
	(void)close(channel[0]);
	tmpfs_usage_close(&up.tmpfs);
	launch_end(&up.jail);
	gate_close(&up.gate);
	return r;
}

static int one(bool warm, int signals, struct err *e)
{
	static struct run run;
	struct judgement j;
	struct pollfd gate;
	double start = now_us(), gated, ended;
	int r;

	run = RUN_NONE;
	run.signals = signals;
	r = launch(warm, &run.up.jail, e);
	gate = (struct pollfd){ .fd = run.up.jail.gate, .events = POLLIN };
	if (r == 0)
		(void)poll(&gate, 1, 10000);
	gated = now_us() - start;
	if (r == 0)
		r = startup_wait(&run.up, signals, &run.outcome.cancel_signal, e);
	if (r > 0)
		r = run_loop_run(&run, e);
	ended = now_us() - start;
	if (r == 0) {
		outcome_judge(&run.outcome, &plan, &j);
		(void)printf(
			"{\"warm\":%s,\"status\":%d,\"error\":\"%s\",\"gate_us\":%.0f,"
			"\"end_us\":%.0f,\"limited\":%d,\"posture\":",
			warm ? "true" : "false", j.status, j.error.text, gated, ended,
			run.up.jail.limited);
		report_posture(&run.outcome.posture, &run.up.jail, stdout);
		(void)printf("}\n");
		(void)fflush(stdout);
		free(run.outcome.posture.json);
	}
	launch_end(&run.up.jail);
	gate_close(&run.up.gate);
	io_close_fd(&run.outcome.refused.fd);
	return r;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	sigset_t all, wanted;
	bool warm = argc > 3 && strncmp(argv[2], "warm", 4) == 0;
	bool steps = argc > 3 && strlen(argv[2]) > 4;
	int r = argc > 3 ? option_parse(&plan, argv + 3, &e) : -EINVAL;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGTERM);

	int signals = signalfd(-1, &wanted, SFD_CLOEXEC);

	plan.session = steps;
	if (r == 0)
		r = launch_find(&parts, &plan, &e);
	parts.keeper = &keeper;
	keeper = (struct keeper){ .socket = -1, .look = proc_usage_look, .owner = &plan };
	if (r == 0)
		r = keeper_start(&keeper, &e);
	if (r == 0 && warm)
		r = begin_template(&e);
	for (int i = atoi(argv[1]); r == 0 && i > 0; i--)
		r = steps ? one_step(warm, &e) : one(warm, signals, &e);
	if (warm) {
		template_close(&template);
		launch_end(&template.up.jail);
	}
	if (keeper_end(&keeper, r < 0 ? &(struct err){ 0 } : &e) < 0)
		r = -1;
	return r < 0 ? end(&e) : 0;
}
