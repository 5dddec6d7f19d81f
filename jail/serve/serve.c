/* SPDX-License-Identifier: MIT */
/*
 * serve.c - stepjail serve: sessions for one client, on the socket that fd 0 is
 *
 * Theory of operation
 *   Three processes. The one that was started makes a PID namespace for all jails and
 *   stays outside as their keeper (outer.c). PID 1 there is the spawner (spawner.c):
 *   privileged, it launches jails, signals and ends them, and reads nothing that a jail
 *   or the client has written. Its child is the supervisor (supervisor.c): it has the
 *   client's socket, everything that comes from jails, and no rights. Between these two
 *   go packets of fixed size (spawn.h).
 *   serve lives as long as its client's end of the socket. The end of any of the three
 *   is the end of all jails: the kernel ends them with the spawner, and the spawner ends
 *   what it has launched when one of the others is gone.
 */
#include <sys/prctl.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/base/cancel.h"
#include "jail/base/host.h"
#include "jail/base/procfs.h"
#include "jail/base/command.h"
#include "jail/launch/outer.h"
#include "jail/plan/option.h"
#include "jail/serve/wire/closer.h"
#include "jail/serve/spawner/spawner.h"
#include "jail/serve/supervisor.h"
#include "jail/vm/take.h"
#include "jail/walls/mount_op.h"

#include "filter_supervisor.h"

#define INTERPRETER "/bin/stepjail-interpreter"

/* of states that were told to end, how many the kernel may not have ended yet */
#define STATES_ENDING 2

/* a step is a process beside those of the states that it may go back to */
static int check_pids(const struct plan *p, struct err *e)
{
	uint64_t keep = p->limit[LIMIT_KEEP_STATES], least = keep + 3 + STATES_ENDING;

	if (p->limit[LIMIT_PIDS] >= least)
		return 0;
	return err_say(
		e, EINVAL,
		"serve: --pids %llu is less than the %llu processes of a session: a step, the state that it begins with, state 0, %llu of --keep-states, and %d that are ending",
		(unsigned long long)p->limit[LIMIT_PIDS], (unsigned long long)least,
		(unsigned long long)keep, STATES_ENDING);
}

/* what a plan may say to run, and not to serve */
static int check_plan(const struct plan *p, struct err *e)
{
	const struct {
		bool given;
		const char *name, *why;
	} refused[] = {
		{ p->report && p->wall != WALL_VM, "report", "is for run, or --wall vm" },
		{ p->hold, "hold", "is for run" },
		{ p->out, "out", "is for run: a client asks for files" },
		{ p->capture, "capture", "is for run: output goes to the client" },
		{ p->learn, "learn", "is for run" },
		{ p->net == NET_ENTERED, "net=PATH",
		  "is for run: sessions would share it" },
		{ p->oom_group, "oom-group",
		  "would end all states of a session with the step that used up the memory: leave it out" },
	};

	if (p->argv)
		return err_say(
			e, EINVAL,
			"serve: '%.64s': a session's program is always " INTERPRETER
			" of its tree",
			p->argv[0]);
	for (size_t i = 0; i < COUNT(refused); i++)
		if (refused[i].given)
			return err_say(e, EINVAL, "serve: --%s %s", refused[i].name,
				       refused[i].why);
	return check_pids(p, e);
}

static int check_client(struct err *e)
{
	int type = 0;
	socklen_t length = sizeof(type);

	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
	    type == SOCK_STREAM)
		return 0;
	return err_say(
		e, ENOTSOCK,
		"serve: fd 0 is no stream socket: serve is started by a program that speaks the frames of init/serve_wire.h with it, such as stepjail-agent; to run a program, use stepjail run");
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

/*
 * With no fd of the spawner's but the socket between them. What is heard of jails and of
 * the client is read by a process that has given up all rights.
 */
static int supervise(const struct parts *parts, int spawner, struct confine *c,
		     struct err *e)
{
	static struct confinement told;
	static int keep[3];
	int closer, r;

	(void)prctl(PR_SET_NAME, "stepjail-superv");
	r = closer_start(c->id, c->landlock_abi, &closer, e);
	if (r < 0)
		return r;
	/* one number is the filter's own: for the root directory */
	keep[0] = fcntl(spawner, F_DUPFD_CLOEXEC, SUPERVISOR_ROOT + 1);
	keep[1] = closer < 0 ? -1 : fcntl(closer, F_DUPFD_CLOEXEC, SUPERVISOR_ROOT + 1);
	if (keep[0] < 0 || (keep[1] < 0) != (closer < 0) ||
	    (c->root != SUPERVISOR_ROOT && dup2(c->root, SUPERVISOR_ROOT) < 0))
		return err_set(e, errno, "serve: keep the root directory");
	closer_use(keep[1]);
	c->root = keep[2] = SUPERVISOR_ROOT;
	c->keep = keep;
	c->keep_count = COUNT(keep);
	procfs_use(c->root);
	r = confine_bounding(e);
	if (r == 0)
		r = confine_self(c, &told, e);
	return r < 0 ? r : supervisor_serve(parts->plan, &parts->root, keep[0], &told, e);
}

/* the client's end must close with the supervisor */
static int leave_client(struct err *e)
{
	cleanup_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || dup2(null, STDIN_FILENO) < 0)
		return err_set(e, errno, "serve: open /dev/null");
	return 0;
}

/* what the supervisor is to have: an id of its own where there are any, and a procfs of
 * all jails */
static int plan_confine(struct confine *c, struct ids *ids, int landlock_abi,
			struct err *e)
{
	int r = ids_take(ids, e);

	if (r < 0)
		return r;
	*c = (struct confine){
		.id = ids->own ? ids->host_uid : 0,
		.root = mount_proc(MOUNT_READ_ONLY | MOUNT_ATTR_NOSYMFOLLOW,
				   MOUNT_PROC_ALL, e),
		.landlock_abi = landlock_abi,
		.filter = filter_supervisor,
		.filter_count = COUNT(filter_supervisor),
	};
	return c->root < 0 ? c->root : 0;
}

/* returns in both processes, in each with what it has come to */
static int divide(struct parts *parts, char *const *template, int signals, struct err *e)
{
	struct confine c;
	/* the lock on two ids, the supervisor's and that of measurers, is held as long as
	 * this process lives */
	struct ids ids;
	int ends[2], r = plan_confine(&c, &ids, parts->landlock_abi, e);
	pid_t child;

	if (r < 0)
		return r;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
	    fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0)
		return err_set(e, errno, "serve: socket pair");
	child = fork();
	if (child == 0)
		return supervise(parts, ends[1], &c, e);
	(void)close(ends[1]);
	c.id = ids.own ? ids_program(&ids) : 0;
	if (child < 0)
		return err_set(e, errno, "serve: start the supervisor");
	r = leave_client(e);
	return r < 0 ? r : spawner_serve(parts, template, ends[0], signals, child, &c, e);
}

int command_serve(char *const *argv, struct err *e)
{
	static char interpreter[] = INTERPRETER, preload[] = "--preload";
	static char template[] = "--template", media[] = "--media-limit", media_bytes[24];
	static char *words[6] = { interpreter, media, media_bytes, preload };
	static char *warm[7] = { interpreter, template, media, media_bytes, preload };
	static struct plan plan;
	static struct parts parts;
	static struct keeper keeper;
	int signals = -1, status = 0, r = option_parse(&plan, argv, e);

	if (r < 0)
		return r;
	if (r == 1)
		return option_help(
			"serve [options]\nfd 0 must be a stream socket, on which the client sends frames",
			true, "  0 the client is gone; 125 stepjail failed\n");
	r = check_plan(&plan, e);
	if (r == 0)
		r = check_client(e);
	if (r == 0)
		r = vm_take("serve", &plan, NULL, e);
	plan.session = true;
	if (plan.lock_code == LOCK_WARM)
		plan.lock_code = plan.cold == ANSWER_YES ? LOCK_NO : LOCK_YES;
	if (r == 0)
		r = plan_check_calls(&plan, e);
	/* execve(2) does not write to it */
	words[4] = warm[5] = (char *)(uintptr_t)plan.preload;
	if (!plan.preload)
		words[3] = warm[4] = NULL;
	(void)snprintf(media_bytes, sizeof(media_bytes), "%llu",
		       (unsigned long long)plan.limit[LIMIT_MEDIA_BYTES]);
	plan.argv = words;
	if (r == 0)
		r = cancel_open(&signals, e);
	if (r == 0)
		r = host_check(e);
	if (r == 0)
		r = check_cgroup(&plan, e);
	if (r == 0)
		r = outer_enter(&keeper, signals, &status, e);
	if (r == 1)
		return status;
	(void)prctl(PR_SET_NAME, "stepjail-spawn");
	if (r == 0)
		r = launch_find(&parts, &plan, e);
	parts.keeper = &keeper;
	if (r == 0)
		r = divide(&parts, warm, signals, e);
	if (r < 0)
		host_hint(e);
	return r;
}
