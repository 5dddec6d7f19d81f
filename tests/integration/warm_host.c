/* SPDX-License-Identifier: MIT */
/*
 * warm_host.c - jails one after the other, out of one template or executed, and their walls
 *
 * usage: warm_host COUNT warm|cold [options of stepjail run] -- INTERPRETER WORDS
 * The jails' output goes to stdout, and behind each jail's one line of JSON: how it was
 * launched, its verdict, its posture, and microseconds from the launch until the program
 * waited at its gate, until the launcher had opened it, and until it had ended.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/launch.h"
#include "jail/loop.h"
#include "jail/option.h"
#include "jail/outcome.h"
#include "jail/posture.h"
#include "jail/template.h"

static struct plan plan;
static struct parts parts;
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

static int begin_template(struct err *e)
{
	struct pollfd said;
	int r = template_start(&template, &parts, plan.argv, STDERR_FILENO, e);

	said = (struct pollfd){ .fd = template_fd(&template), .events = POLLIN };
	while (r == 0) {
		if (poll(&said, 1, 20000) != 1)
			return err_say(e, ETIMEDOUT, "the template is not ready");
		r = template_serve(&template, e);
	}
	return r < 0 ? r : 0;
}

static int one(bool warm, int signals, struct err *e)
{
	static struct run run;
	struct judgement j;
	struct pollfd gate;
	double start = now_us(), gated, ended;
	int r;

	run = (struct run){ .jail = JAIL_NONE, .room = ROOM_NONE, .signals = signals };
	run.outcome.refused.fd = -1;
	r = warm ? launch_warm(&run.jail, &parts, &template, e)
		 : launch_jail(&run.jail, &parts, e);
	gate = (struct pollfd){ .fd = run.jail.gate, .events = POLLIN };
	if (r == 0)
		(void)poll(&gate, 1, 10000);
	gated = now_us() - start;
	if (r == 0)
		r = loop_run(&run, e);
	ended = now_us() - start;
	if (r == 0) {
		loop_gather(&run);
		launch_wait(&run.jail);
		outcome_judge(&run.outcome, &plan, &j);
		(void)printf("{\"warm\":%s,\"status\":%d,\"error\":\"%s\",\"gate_us\":%.0f,"
			     "\"end_us\":%.0f,\"limited\":%d,\"posture\":",
			     warm ? "true" : "false", j.status, j.error.text, gated, ended,
			     run.jail.limited);
		posture_print(&run.outcome.posture, &run.jail, stdout);
		(void)printf("}\n");
		(void)fflush(stdout);
		free(run.outcome.posture.json);
	}

	int left = launch_end(&run.jail, r < 0 ? &(struct err){ 0 } : e);

	io_close_fd(&run.outcome.refused.fd);
	return r < 0 ? r : left;
}

int main(int argc, char **argv)
{
	struct err e = { 0 };
	sigset_t all, wanted;
	bool warm = argc > 3 && strcmp(argv[2], "warm") == 0;
	int r = argc > 3 ? option_parse(&plan, argv + 3, &e) : -EINVAL;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGTERM);

	int signals = signalfd(-1, &wanted, SFD_CLOEXEC);

	if (r == 0)
		r = launch_find(&parts, &plan, &e);
	if (r == 0 && warm)
		r = begin_template(&e);
	for (int i = atoi(argv[1]); r == 0 && i > 0; i--)
		r = one(warm, signals, &e);
	if (warm && template_end(&template, r < 0 ? &(struct err){ 0 } : &e) < 0)
		r = -1;
	return r < 0 ? end(&e) : 0;
}
