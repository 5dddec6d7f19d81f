/* SPDX-License-Identifier: MIT */
/*
 * run.c - stepjail run: start a jail, wait, judge, report
 *
 * Before the program starts, the launcher becomes a watcher. What stays open then, beside
 * stdin, stdout and stderr:
 *	the report, signalfd, the fds of --hold		opened by the caller's options
 *	control socket, gate, pipes, listener		of the jail
 *	stdout and stderr once more, if they are pipes	to pass on what is printed
 *	/work and /tmp of the jail, as paths		to ask whether they are full
 *	files of the cgroup leaf			usage, and cgroup.kill
 *	the list of the jail's file locks		for --file-locks
 *	init's pidfd, the keeper's socket		for the end
 *	the copier's socket				with --out
 */
#include <string.h>
#include <sys/resource.h>

#include "init/io.h"
#include "jail/base/cancel.h"
#include "jail/base/command.h"
#include "jail/base/host.h"
#include "jail/base/stdio_check.h"
#include "jail/launch/shipped.h"
#include "jail/plan/option.h"
#include "jail/vm/take.h"
#include "jail/watch/confine.h"
#include "jail/watch/copier.h"
#include "jail/watch/proc_usage.h"
#include "jail/watch/report.h"
#include "jail/watch/run.h"
#include "jail/watch/run_loop.h"

#include "filter_watcher.h"

/* up to a child that walks the stages */
static int launch(struct run *run, const struct plan *p, struct keeper *keeper,
		  struct err *e)
{
	static struct parts parts;
	struct jail *j = &run->up.jail;
	struct rlimit stack = { RLIM_INFINITY, RLIM_INFINITY };
	int r = cancel_open(&run->signals, e);

	(void)getrlimit(RLIMIT_STACK, &stack);
	run->outcome.stack_bytes = stack.rlim_cur;
	if (r == 0)
		r = host_check(e);
	if (r == 0)
		r = capture_open(&run->outcome.capture, j->stdio, p, e);
	if (r == 0)
		r = launch_find(&parts, p, e);
	j->plan = p;
	parts.keeper = keeper;
	if (r < 0)
		return r;
	r = launch_jail(j, &parts, e);
	/* while the jail is made */
	if (r == 0)
		r = confine_bounding(e);
	if (r == 0 && j->missing.errnum && p->quiet == ANSWER_NO &&
	    !(p->allow_always & PART_CGROUP))
		(void)fprintf(stderr,
			      "stepjail: warning: no cgroup limits are enforced: %.*s\n",
			      (int)strcspn(j->missing.text, ";"), j->missing.text);
	return r;
}

/* Give up every right that watching this run does not take, see confine.h. The keeper
 * takes no more orders than a watcher may give. */
static int run_confine(struct run *run, struct err *e)
{
	static struct confinement told;
	const struct jail *j = &run->up.jail;
	const struct capture_stream *out = run->outcome.capture.stream;
	int keep[17 + EGRESS_FDS + CGROUP_HELD] = {
		run->report,
		run->hold[0],
		run->hold[1],
		run->signals,
		run->up.tmpfs.work,
		run->up.tmpfs.tmp,
		j->control,
		j->gate,
		j->pidfd,
		j->keeper->socket,
		out[0].outside,
		out[1].outside,
		out[0].to,
		out[1].to,
		run->up.gate.fd[GATE_LISTENER],
		run->up.gate.fd[GATE_LOCKS],
		run->copier,
	};
	struct confine c = {
		.keep = keep,
		.keep_count = COUNT(keep),
		/* who is told its pid for the jail's joins the jail by it */
		.join = run->hold[0] < 0 ? 0 : j->pidfd,
		.root = -1,
		.landlock_abi = j->landlock_abi,
		.filter = filter_watcher,
		.filter_count = COUNT(filter_watcher),
	};
	int r = ids_take_other(&j->ids, &c.id, e);

	memcpy(keep + 17, run->egress.fd, sizeof(run->egress.fd));
	memcpy(keep + 17 + EGRESS_FDS, j->cgroup.held, sizeof(j->cgroup.held));
	if (r < 0)
		return r;
	/* of these nothing is used any more */
	io_close_fd(&run->up.jail.ids.slot_fd);
	io_close_fd(&run->up.jail.cgroup.base);
	io_close_fd(&run->up.jail.cgroup.leaf);
	io_close_fd(&run->up.jail.cgroup.inner);
	r = confine_self(&c, &told, e);
	run->outcome.watcher = &told;
	return r;
}

/* the proxy is there, and confined, before the program is */
static int start_egress(struct run *run, struct err *e)
{
	struct egress *g = &run->egress;
	int r = egress_start(&run->up.jail, &run->up.gate.fd[GATE_PORT], g, e);

	if (r < 0 || g->fd[EGRESS_SOCKET] < 0)
		return r;
	r = egress_map(g, e);
	run->outcome.egress = g;
	return r < 0 ? r : egress_hear(g->fd[EGRESS_SOCKET], STARTUP_MS, e);
}

/* no byte of the program's is read before the launcher has become a watcher */
static int run_jail(struct run *run, const struct plan *p, int out, struct keeper *keeper,
		    struct err *e)
{
	struct outcome *o = &run->outcome;
	int r = launch(run, p, keeper, e);

	if (r < 0)
		return r;
	r = startup_wait(&run->up, run->signals, &o->cancel_signal, e);
	if (r == 0)
		o->killed = VERDICT_CANCELLED;
	if (r > 0) {
		r = out < 0 ? 0
			    : copier_start(&run->up.jail, run->up.tmpfs.work, out,
					   &run->copier, e);
		if (r == 0)
			r = start_egress(run, e);
		if (r == 0)
			r = run_confine(run, e);
		if (r == 0)
			r = run_loop_run(run, e);
	}
	launch_wait(&run->up.jail);
	egress_collect(&run->egress.fd[EGRESS_SOCKET]);
	o->copied = r == 0 && run->copier >= 0 && o->killed != VERDICT_CANCELLED;
	if (o->copied)
		copier_collect(&run->copier, run->signals, p, &o->out);
	return r;
}

/* the first error is kept */
static int both(int r, int next, const struct err *late, struct err *e)
{
	if (r == 0 && next < 0)
		*e = *late;
	return r < 0 ? r : next;
}

/* of the form that option.c asks for; the helper's two are its own alone */
static int take_hold(struct run *run, const struct plan *p, struct err *e)
{
	int *fd = run->hold;

	if (p->hold)
		(void)sscanf(p->hold, "%d,%d,%d,%d", &fd[0], &fd[1], &fd[2], &fd[3]);
	for (size_t i = 0; i < COUNT(run->hold); i++)
		if (fd[i] >= 0 && fcntl(fd[i], F_SETFD, FD_CLOEXEC) < 0)
			return err_set(e, errno, "--hold %s", p->hold);
	return 0;
}

int run_plan(const struct plan *p, int report, int out, struct judgement *j,
	     struct err *e)
{
	static struct run run;
	struct keeper keeper = { .socket = -1,
				 .one = true,
				 .look = proc_usage_look,
				 .owner = (void *)(uintptr_t)p };
	const sigset_t wanted = cancel_signals();
	struct err failed, late;
	int r, end = 0;

	run = RUN_NONE;
	run.report = report;
	r = take_hold(&run, p, &failed);
	if (r == 0)
		r = run_jail(&run, p, out, &keeper, &failed);
	launch_end(&run.up.jail);
	/* the keeper ends while the report is written; keeper_end() waits for it */
	keeper_close(&keeper);
	if (p->learn == ANSWER_YES && run.outcome.started)
		end = violation_tell(&run.outcome.refused, run.outcome.listened, p, e);
	capture_end(&run.outcome.capture);

	if (r < 0 && run.outcome.started)
		(void)err_within(&failed, "the program was started, and killed: ");
	if (r < 0)
		*j = (struct judgement){ .verdict = VERDICT_LAUNCHER_ERROR,
					 .exit_code = -1,
					 .status = STATUS_FAILED,
					 .error = failed };
	else
		outcome_judge(&run.outcome, p, j);
	if (j->status == STATUS_FAILED)
		host_hint(&j->error);
	end = both(end, report_write(report, &run.up.jail, &run.outcome, j, &late), &late,
		   e);
	r = keeper_end(&keeper, &late);
	/* to a program that still ran, a refused call would read as one that is not
	 * there */
	gate_close(&run.up.gate);
	io_close_fd(&run.outcome.refused.fd);
	/* if the keeper was killed during the run, the verdict tells that already */
	if (r != -EOWNERDEAD || j->status != STATUS_FAILED)
		end = both(end, r, &late, e);
	if (p->capture != CAPTURE_NO) {
		/* a slow reader of the output must not keep signals from ending stepjail
		 */
		(void)sigprocmask(SIG_UNBLOCK, &wanted, NULL);
		r = capture_deliver(&run.outcome.capture, &late);
		end = both(end, r, &late, e);
	}
	if (p->quiet == ANSWER_NO)
		run_tell(&run.outcome, j, p);
	return end;
}

static const char exits[] =
	"  the program's own; 128+N if signal N ended it (137: killed, see the report)\n"
	"  123 it ended with 0, but not all files of --out could be written\n"
	"  124 --wall-time ended it\n"
	"  125 stepjail failed: the program did not run, or was killed for it, or its\n"
	"      report or captured output could not be written\n"
	"  126 the program cannot be executed; 127 it is not there\n";

int command_run(char *const *argv, struct err *e)
{
	static struct plan plan;
	struct judgement j;
	int report = -1, out = -1, r = stdio_check(e);

	if (r < 0)
		host_hint(e);
	else
		r = option_parse(&plan, argv, e);
	if (r < 0)
		return r;
	if (r == 1)
		return option_help("run [options] [--] program [args]", false, exits);
	if (plan.serve_option)
		return err_say(e, EINVAL,
			       "run: --%s is an option of stepjail serve: leave it out",
			       plan.serve_option);
	if (!plan.argv)
		return err_say(
			e, EINVAL,
			"run: no program is given: stepjail run [options] -- program [args]");

	bool on_host = plan_is_on_host(plan.argv[0]);

	r = plan_take_script(&plan, shipped_root, e);
	if (r == 0)
		r = vm_take("run", &plan, plan.argv, e);
	if (r == 0)
		r = report_open(plan.report, capture_print_max(&plan), &report, e);
	if (r == 0)
		r = out_open(plan.out, &out, e);
	if (r < 0)
		return r;
	r = run_plan(&plan, report, out, &j, e);
	if (j.verdict == VERDICT_LAUNCHER_ERROR)
		(void)fprintf(stderr, "stepjail: %s\n", j.error.text);
	if (j.status == STATUS_NOT_FOUND && j.verdict == VERDICT_LAUNCHER_ERROR &&
	    on_host)
		(void)fprintf(
			stderr,
			"stepjail: it is on this host, but not in the jail: --bind shows a file to the jail, --rootfs DIR another root tree\n");
	if (r < 0)
		return err_within(e, "the program ended with status %d, but ", j.status);
	return j.status;
}
