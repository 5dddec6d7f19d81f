/* SPDX-License-Identifier: MIT */
/*
 * serve.c - stepjail serve: sessions for one client, on the socket that fd 0 is
 *
 * Theory of operation
 *   Two processes. The one that was started is the spawner (spawner.c): privileged, it
 *   launches jails, signals and ends them, and reads nothing that a jail or the client
 *   has written. The other is its child, the supervisor (supervisor.c): it has the
 *   client's socket, and everything that comes from jails. Between them go packets of
 *   fixed size (spawn.h).
 *   serve lives as long as its client's end of the socket. The end of either process is
 *   the end of all jails: the supervisor holds their control sockets, and the spawner
 *   ends what it has launched when the supervisor is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/cancel.h"
#include "jail/base/host.h"
#include "jail/base/sys.h"
#include "jail/command.h"
#include "jail/launch/keeper.h"
#include "jail/launch/launch.h"
#include "jail/plan/plan.h"
#include "jail/plan/option.h"
#include "jail/serve/spawner.h"
#include "jail/serve/supervisor.h"

#define INTERPRETER "/bin/stepjail-interpreter"

static int refuse_option(const char *name, const char *why, struct err *e)
{
	return err_say(e, EINVAL, "serve: --%s %s", name, why);
}

/* of states that were told to end, how many the kernel may not have ended yet */
#define STATES_ENDING 2

/* a step is a process beside those of the states that it may go back to */
static int check_pids(const struct plan *p, struct err *e)
{
	uint64_t keep = p->limit[LIMIT_KEEP_STATES], least = keep + 3 + STATES_ENDING;

	if (p->limit[LIMIT_PIDS] >= least)
		return 0;
	return err_say(e, EINVAL,
		       "serve: --pids %llu is less than the %llu processes of a session: "
		       "a step, the state that it begins with, state 0, %llu of "
		       "--keep-states, and %d that are ending",
		       (unsigned long long)p->limit[LIMIT_PIDS],
		       (unsigned long long)least, (unsigned long long)keep,
		       STATES_ENDING);
}

/* what a plan may say to run, and not to serve */
static int check_plan(const struct plan *p, struct err *e)
{
	if (p->argv)
		return err_say(e, EINVAL,
			       "serve: '%.64s': the program of a session is " INTERPRETER
			       " of its tree, and no other",
			       p->argv[0]);
	if (p->report)
		return refuse_option("report", "is for run: OPENED and DONE tell it", e);
	if (p->capture != CAPTURE_NO)
		return refuse_option("capture", "is for run: output goes to the client",
				     e);
	if (p->learn == ANSWER_YES)
		return refuse_option("learn", "is for run", e);
	if (p->oom_group == ANSWER_YES)
		return refuse_option("oom-group",
				     "would end all states of a session with the step "
				     "that used up the memory: leave it out",
				     e);
	return check_pids(p, e);
}

static int check_client(struct err *e)
{
	int type = 0;
	socklen_t length = sizeof(type);

	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
	    type == SOCK_STREAM)
		return 0;
	return err_say(e, ENOTSOCK,
		       "serve: fd 0 is no stream socket: serve is started by a program "
		       "that speaks the frames of init/serve_wire.h with it, such as "
		       "stepjail-agent; to run a program, use stepjail run");
}

/* a host without cgroups is told now, and not to the first client that opens a session */
static int check_cgroup(const struct plan *p, struct err *e)
{
	cleanup_fd int base = -1;
	char where[128];

	if (p->allow_missing & PART_CGROUP)
		return 0;
	return cgroup_find(p, &base, where, sizeof(where), e);
}

static int start(struct parts *parts, const struct plan *p, struct keeper *keeper,
		 int *signals, struct err *e)
{
	int r = cancel_open(signals, e);

	if (r == 0)
		r = launch_find(parts, p, e);
	parts->keeper = keeper;
	if (r == 0)
		r = keeper_start(keeper, false, NULL, NULL, e);
	return r < 0 ? r : check_cgroup(p, e);
}

/* with no fd of the spawner's but the socket between them */
static int supervise(const struct plan *p, int spawner, struct err *e)
{
	(void)prctl(PR_SET_NAME, "stepjail-superv");
	/* beside the socket's end of file, which a child of the spawner could hold back
	 * */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set(e, errno, "serve: parent-death signal");
	if (dup2(spawner, 3) < 0 || fcntl(3, F_SETFD, FD_CLOEXEC) < 0 ||
	    close_range(4, ~0U, 0) < 0)
		return err_set(e, errno, "serve: keep one fd");
	return supervisor_serve(p, 3, e);
}

/* the client's end must close with the supervisor */
static int leave_client(struct err *e)
{
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return err_set(e, errno, "serve: open /dev/null");
	return 0;
}

/* returns in both processes, in each with what it has come to */
static int divide(struct parts *parts, char *const *template, int signals, struct err *e)
{
	int ends[2], r, kept;
	struct err late;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
	    fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, errno, "serve: socket pair");
	child = fork();
	if (child == 0)
		return supervise(parts->plan, ends[1], e);
	(void)close(ends[1]);
	if (child < 0)
		return err_set(e, errno, "serve: start the supervisor");
	r = leave_client(e);
	if (r == 0)
		r = spawner_serve(parts, template, ends[0], signals, child, e);
	kept = keeper_end(parts->keeper, r < 0 ? &late : e);
	return r < 0 ? r : kept < 0 ? kept : r;
}

int command_serve(char *const *argv, struct err *e)
{
	static char interpreter[] = INTERPRETER, preload[] = "--preload";
	static char template[] = "--template";
	static char media[] = "--media-limit", media_bytes[24];
	static char *words[6] = { interpreter, media, media_bytes };
	static char *warm[7] = { interpreter, template, media, media_bytes };
	static struct plan plan;
	static struct parts parts;
	static struct keeper keeper;
	int signals = -1, r = option_parse(&plan, argv, e);

	if (r < 0)
		return r;
	if (r == 1) {
		(void)printf("usage: stepjail serve [options], fd 0 being a stream "
			     "socket\n\n");
		option_print_help(stdout);
		return 0;
	}
	r = check_plan(&plan, e);
	if (r == 0)
		r = check_client(e);
	if (r < 0)
		return r;
	plan.session = true;
	if (plan.lock_code == LOCK_WARM)
		plan.lock_code = plan.cold == ANSWER_YES ? LOCK_NO : LOCK_YES;
	r = plan_check_calls(&plan, e);
	if (r < 0)
		return r;
	if (plan.preload) {
		words[3] = preload;
		/* execve(2) does not write to it */
		words[4] = (char *)(uintptr_t)plan.preload;
		warm[4] = words[3];
		warm[5] = words[4];
	}
	(void)snprintf(media_bytes, sizeof(media_bytes), "%llu",
		       (unsigned long long)plan.limit[LIMIT_MEDIA_BYTES]);
	plan.argv = words;
	r = start(&parts, &plan, &keeper, &signals, e);
	if (r == 0)
		r = divide(&parts, warm, signals, e);
	if (r < 0)
		host_hint(e);
	return r;
}
