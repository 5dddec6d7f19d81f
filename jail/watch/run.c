/* SPDX-License-Identifier: MIT */
/*
 * run.c - stepjail run: start a jail, wait, judge, report
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/cancel.h"
#include "jail/command.h"
#include "jail/base/host.h"
#include "jail/base/json.h"
#include "jail/launch/keeper.h"
#include "jail/launch/launch.h"
#include "jail/plan/option.h"
#include "jail/watch/confine.h"
#include "jail/watch/report.h"
#include "jail/watch/run.h"
#include "jail/watch/run_loop.h"

#define LEARNED_BYTES 65536

/* The program gets stdin, stdout and stderr: none may lead out of its tree. */
static int check_stdio(struct err *e)
{
	for (int fd = 0; fd <= 2; fd++) {
		struct stat st;
		int flags = fcntl(fd, F_GETFL);

		if (flags < 0 || fstat(fd, &st) < 0)
			return err_set(e, errno, "run: look at fd %d", fd);
		if (S_ISDIR(st.st_mode) || (flags & O_PATH))
			return err_say(
				e, EISDIR,
				"run: fd %d is a folder or a path, through which the program could leave its tree: redirect it from a file or a pipe",
				fd);
	}
	return 0;
}

static int run_jail(struct run *run, const struct plan *p, struct keeper *keeper,
		    struct err *e)
{
	static struct parts parts;
	int r = host_check(e);

	if (r == 0)
		r = launch_find(&parts, p, e);
	run->jail.plan = p;
	parts.keeper = keeper;
	if (r == 0)
		r = launch_jail(&run->jail, &parts, e);
	run->keeper = keeper->socket;
	/* while the jail is made */
	if (r == 0)
		r = confine_bounding(e);

	if (r == 0 && run->jail.missing.errnum)
		(void)fprintf(stderr,
			      "stepjail: warning: no cgroup limits are enforced: %.*s\n",
			      (int)strcspn(run->jail.missing.text, ";"),
			      run->jail.missing.text);
	if (r == 0)
		r = run_loop_run(run, e);
	if (r < 0)
		return r;
	run_loop_gather(run);
	/* while a kill is under way, counters still change */
	launch_wait(&run->jail);
	/* no process is left that could write */
	capture_drain(&run->outcome.capture);
	r = capture_check(&run->outcome.capture, e);
	run->outcome.cgroup = run->jail.limited;
	if (!run->jail.limited)
		return r;
	/* without what the jail used before its program started */
	cgroup_usage(&run->jail.cgroup, &run->outcome.before, &run->outcome.usage);
	return r;
}

/* print it to stderr in one piece */
static int learn(const struct run *run, const struct plan *p, struct err *e)
{
	cleanup_free char *text = NULL;
	FILE *out = json_open(&text, LEARNED_BYTES);
	ssize_t n;

	if (!out)
		return err_set(e, errno, "--learn: allocate");
	if (run->outcome.listened)
		violation_learn(&run->outcome.refused, p, out);
	else
		(void)fputs(
			"# a surrounding listener hears of this process's calls: nothing was learned\n",
			out);
	n = json_close(out, text, LEARNED_BYTES);
	if (n >= 0)
		n = io_write_all(STDERR_FILENO, text, (size_t)n);
	return n < 0 ? err_set(e, (int)-n, "--learn: write what was learned") : 0;
}

static int start(struct run *run, struct keeper *keeper, const struct plan *p,
		 struct err *e)
{
	int r = cancel_open(&run->signals, e);

	if (r == 0)
		r = capture_open(&run->outcome.capture, p, e);
	if (r < 0)
		return r;
	capture_give(&run->outcome.capture, run->jail.stdio);
	return run_jail(run, p, keeper, e);
}

/* the first error is kept */
static int both(int r, int next, const struct err *late, struct err *e)
{
	if (r == 0 && next < 0)
		*e = *late;
	return r < 0 ? r : next;
}

int run_plan(const struct plan *p, int report, struct judgement *j, struct err *e)
{
	static struct run run;
	struct keeper keeper = { .socket = -1,
				 .starts = true,
				 .one = true,
				 .look = run_loop_look,
				 .owner = (void *)(uintptr_t)p };
	const sigset_t wanted = cancel_signals();
	struct err failed, late;
	int r, end = 0;

	run = RUN_NONE;
	run.report = report;
	run.confines = true;
	r = start(&run, &keeper, p, &failed);
	launch_end(&run.jail);
	/* the keeper ends while the report is written; keeper_end() waits for it */
	keeper_close(&keeper);
	if (p->learn == ANSWER_YES && (run.outcome.listened || run.outcome.started))
		end = learn(&run, p, e);
	capture_end(&run.outcome.capture, run.outcome.started);

	if (r < 0 && run.outcome.started)
		(void)err_within(&failed, "the program was started, and killed: ");
	if (r < 0)
		*j = (struct judgement){ VERDICT_LAUNCHER_ERROR, -1, 0, STATUS_FAILED,
					 failed };
	else
		outcome_judge(&run.outcome, p, j);
	if (j->status == STATUS_FAILED)
		host_hint(&j->error);
	end = both(end, report_write(report, &run.jail, &run.outcome, j, &late), &late,
		   e);
	r = keeper_end(&keeper, &late);
	/* to a program that still ran, a refused call would read as one that does not exist */
	io_close_fd(&run.outcome.refused.fd);
	/* if the keeper was killed during the run, the verdict tells that already */
	if (r != -EOWNERDEAD || j->status != STATUS_FAILED)
		end = both(end, r, &late, e);
	if (p->capture == CAPTURE_NO)
		return end;
	/* a slow reader of the output must not keep signals from ending stepjail */
	(void)sigprocmask(SIG_UNBLOCK, &wanted, NULL);
	r = capture_deliver(&run.outcome.capture, &late);
	return both(end, r, &late, e);
}

int command_run(char *const *argv, struct err *e)
{
	static struct plan plan;
	struct judgement j;
	int r = check_stdio(e);

	if (r == 0)
		r = option_parse(&plan, argv, e);
	if (r < 0)
		return r;
	if (r == 1) {
		(void)printf("usage: stepjail run [options] [--] program [args]\n\n");
		option_print_help(stdout);
		return 0;
	}
	if (!plan.argv)
		return err_say(
			e, EINVAL,
			"run: no program is given: stepjail run [options] -- program [args]");

	int report;

	r = report_open(plan.report, capture_print_max(&plan), &report, e);
	if (r < 0)
		return r;
	r = run_plan(&plan, report, &j, e);
	if (j.verdict == VERDICT_LAUNCHER_ERROR)
		(void)fprintf(stderr, "stepjail: %s\n", j.error.text);
	if (r < 0)
		return err_within(e, "the program ended with status %d, but ", j.status);
	return j.status;
}
