/* SPDX-License-Identifier: MIT */
/*
 * stage.c - from clone to exec: the stages of a jail's child, in a table, in order
 *
 * Theory of operation
 *   This table is the security story: read stages[] from top to bottom. The launcher's
 *   clone3() makes all namespaces at once; its child, PID 1 of the jail, walks the rows
 *   down to the split, where it makes the program's process. From there on both walk on,
 *   each on the rows of its role, and at the end PID 1 becomes stepjail-init and PID 2
 *   waits at the gate with all its walls up, then becomes the program.
 *   Where the program is warm, cloned with the interpreter that it is to be, a template's
 *   clone3() took the place of the launcher's, and PID 2 returns instead of becoming
 *   anything. All rows but that one are the same.
 *   A row that fails ends the jail. No row is best effort. If the launcher dies, the
 *   control socket is at its end of file, and until PID 1 is init it also gets a signal.
 *   Read next, in the order of the rows: ids.c; mount.c, with places.c for what is
 *   mounted where; caps.c, rlimit.c, landlock.c, seccomp/seccomp.c, gate.c,
 *   exec.c. Then warm.c: how a template makes clones of itself, which walk this table
 *   too.
 */
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>

#include "init/init.h"
#include "init/io.h"
#include "jail/walls/deterministic.h"
#include "jail/walls/landlock.h"
#include "jail/walls/mount_op.h"
#include "jail/walls/rlimit.h"
#include "jail/walls/seccomp/seccomp.h"
#include "jail/walls/stage.h"
#include "jail/base/close_others.h"
#include "jail/base/host.h"

static int do_namespaces(struct child *c, struct err *e)
{
	(void)c;
	if (getpid() != 1)
		return err_say(e, EINVAL, "namespaces: the child is not PID 1");
	/* for a launcher that is killed before init runs; init itself watches the
	 * socket */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set(e, errno, "namespaces: parent-death signal");
	return 0;
}

static int do_ids(struct child *c, struct err *e)
{
	/* whose child a template's is, the launcher learns from whoever sends this */
	if (c->warm && wire_send(c->control, WIRE_STARTED, 0, NULL, 0) < 0)
		return err_say(e, EPIPE, "ids: the launcher is gone");

	/* It takes longer than all other namespaces together, so it is made while the
	 * launcher writes the maps. */
	int refused = !c->leased && unshare(CLONE_NEWNET) < 0 ? errno : 0;

	/* GO says that the maps are written; end of file, that the launcher is gone */
	if (wire_wait_go(c->control) < 0)
		return err_say(e, EPIPE, "ids: the launcher is gone");

	if (refused)
		return refused == EPERM
			       ? host_refused_capability(e)
			       : err_set(e, refused,
					 "ids: make a network namespace (raise the sysctl user.max_net_namespaces)");

	int r = 0;

	/* before the ids change: the caller's rights open the sources' paths */
	if (!c->sources_cloned)
		r = mount_clone(c->sources, c->plan, c->ids, false, e);
	if (r == 0)
		r = deterministic_clock(c->plan, e);
	if (r == 0)
		r = ids_become(c->ids->init_id, e);

	/* the kernel forgets the parent-death signal when ids change */
	if (r == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return err_set(e, errno, "ids: parent-death signal");
	return r;
}

static int do_mounts(struct child *c, struct err *e)
{
	int r = c->cgroup || c->leased ? 0 : mount_limit_backlog(e);

	(void)umask(0); /* modes are said where things are made */
	/* where /proc is masked there is no way to it; and older kernels, as Linux 6.1,
	 * show no such limit in a network that an ordinary user has made */
	if (r < 0 && r != -ENOENT && (r != -EPERM || c->plan->proc != PROC_NONE))
		return r;
	r = 0;
	if (c->plan->limit[LIMIT_FILE_LOCKS] && !c->plan->template)
		r = c->handed[GATE_LOCKS] = mount_locks(e);
	return r < 0 ? r : mount_jail(c->sources, c->plan, c->cgroup, e);
}

static int do_net(struct child *c, struct err *e)
{
	return gate_open_sockets(c->handed, c->plan->net == NET_LOOPBACK, e);
}

static int do_host(struct child *c, struct err *e)
{
	if (sethostname(c->plan->hostname, strlen(c->plan->hostname)) < 0)
		return err_set(e, errno, "host: set the host name");
	/* a new UTS namespace is a copy: this is the host's */
	if (setdomainname("", 0) < 0)
		return err_set(e, errno, "host: empty the domain name");
	return 0;
}

static int do_bounding(struct child *c, struct err *e)
{
	/* afterwards the kernel refuses it */
	if (c->plan->template && cap_set_proc(c->caps->inherit) < 0)
		return err_set(e, errno, "capabilities: make a template's inheritable");
	return caps_drop_bounding(e);
}

static int do_split(struct child *c, struct err *e)
{
	c->program = fork();
	if (c->program < 0)
		return err_set(e, errno, "split: make the program's process");
	if (c->program == 0)
		return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0
			       ? err_set(e, errno, "split: parent-death signal")
			       : 0;
	if (c->program != INIT_PROGRAM_PID)
		return err_say(e, EINVAL, "split: the program is PID %d, not %d",
			       c->program, INIT_PROGRAM_PID);
	return 0;
}

/* its own stdio and sockets: what stages have left open is closed by one call or few */
static int keep_fds(const struct child *c, struct err *e)
{
	int kept[4 + GATE_FDS] = { c->control, c->gate, c->helper[0], c->helper[1] }, r;

	memcpy(kept + 4, c->handed, sizeof(c->handed));
	r = close_others(kept, COUNT(kept), -1);

	return r < 0 ? err_set(e, -r, "close_range") : 0;
}

/* Until exec, /proc/self/fd/N leads to the folder of fd N, also outside of the jail, and
 * a symlink of the tree may name that path. So the program's process closes every fd but
 * its own stdio and sockets. */
static int place_fds(const struct child *c, struct err *e)
{
	for (int fd = 0; fd <= 2; fd++)
		if (c->stdio[fd] >= 0 && dup2(c->stdio[fd], fd) < 0)
			return err_set(e, errno, "session: place fd %d", fd);
	return keep_fds(c, e);
}

static int do_session(struct child *c, struct err *e)
{
	int r;

	if (setsid() < 0)
		return err_set(e, errno, "session: setsid");
	/* else the caller's domain is inherited, such as one without address
	 * randomisation */
	if (personality(c->program == 0 ? deterministic_domain(c->plan) : PER_LINUX) < 0)
		return err_set(e, errno, "session: personality");
	/* every fd that the launcher inherited or opened is closed at exec */
	if (c->program != 0)
		return close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0
			       ? err_set(e, errno, "session: close_range")
			       : 0;
	(void)umask(022);
	/* it must not inherit what the launcher or its caller ignores, and a clone has
	 * its template's handlers alone; until the gate opens, all signals are blocked */
	for (int s = 1; s < NSIG && !c->warm; s++)
		/* SIG_DFL; libc refuses its own three, which a caller may ignore */
		(void)syscall(SYS_rt_sigaction, s, (unsigned long[4]){ 0 }, NULL, 8UL);
	r = place_fds(c, e);
	if (r == 0)
		r = rlimit_set(c->plan, c->cgroup, !c->ids->own, c->warm, e);
	if (r == 0)
		r = deterministic_cpu(c->plan, e);
	if (r == 0)
		r = ids_become(c->ids->program_id, e);
	/* Changing ids made this process undumpable, so a root launcher without
	 * CAP_SYS_PTRACE could not read all of its posture. exec makes it dumpable
	 * anyway, and whoever may not trace the program then may not trace it now. */
	if (r == 0 && prctl(PR_SET_DUMPABLE, 1UL) < 0)
		r = err_set(e, errno, "session: be dumpable");
	for (int i = 0; r == 0 && i < GATE_LISTENER; i++)
		r = gate_hand_over(c->gate, (enum gate_fd)i, &c->handed[i], e);
	return r;
}

static int do_capabilities(struct child *c, struct err *e)
{
	return caps_drop_all(c->caps, e);
}

static int do_template(struct child *c, struct err *e)
{
	return caps_keep_template(c->caps, e);
}

static int do_landlock(struct child *c, struct err *e)
{
	int r = landlock_restrict(c->plan, c->landlock_abi, e);

	if (r == 0)
		r = keep_fds(c, e);
	return r < 0 || c->landlock_abi == 0 ? r : landlock_try(e);
}

static int do_seccomp(struct child *c, struct err *e)
{
	unsigned int lacks = denied_without_lacks(c->cgroup, c->landlock_abi, c->plan);

	if (c->leased && c->plan->net == NET_NONE)
		lacks |= DENIED_WITHOUT_OWN_NETWORK;
	return seccomp_install(c->plan, lacks, c->warm ? NULL : &c->exec_key,
			       &c->handed[GATE_LISTENER], e);
}

/* a row apart from exec, so that the launcher can tell which of the two failed */
static int do_gate(struct child *c, struct err *e)
{
	static const sigset_t none;
	int r = gate_hand_over(c->gate, GATE_LISTENER, &c->handed[GATE_LISTENER], e);

	if (r == 0 && !c->plan->template)
		r = rlimit_set_files(c->plan, e);
	/* A warm program executes nothing, so its copy is closed here and not by exec.
	 * From now on only init holds this end. */
	if (r == 0 && c->warm)
		io_close_fd(&c->control);
	if (r == 0)
		r = gate_wait(c->gate, (uint32_t)c->landlock_abi, e);
	return r < 0 || sigprocmask(SIG_SETMASK, &none, NULL) == 0
		       ? r
		       : err_set(e, errno, "gate: unblock signals");
}

static int do_exec(struct child *c, struct err *e)
{
	return c->program != 0 ? exec_init(c, e) : exec_program(c, e);
}

static int do_wake(struct child *c, struct err *e)
{
	if (close_range(3, ~0U, 0) < 0)
		return err_set(e, errno, "wake: close_range");
	c->gate = c->handed[GATE_LISTENER] = -1;
	return 0;
}

static int do_chdir(struct child *c, struct err *e)
{
	/* Symlinks of the tree stay within the jail and may be followed. Magic links,
	 * as in /proc/PID/fd, could lead out. */
	int dir = sys_openat2(AT_FDCWD, c->plan->chdir, O_PATH | O_DIRECTORY,
			      RESOLVE_NO_MAGICLINKS);
	int r = dir < 0 ? dir : fchdir(dir) < 0 ? -errno : 0;

	return r < 0 ? err_set(e, -r, "chdir: %.200s in the jail", c->plan->chdir) : 0;
}

/* of each row: what the process must be or have behind it, and must not do */
const struct stage stages[] = {
	/* be PID 1 of new user, mount, PID, IPC, UTS and cgroup namespaces, in its
	 * cgroup leaf from the first instruction. Must not do anything that lasts if the
	 * launcher dies */
	{ "namespaces", ROLE_CHILD, do_namespaces },
	/* have a new network namespace, made while its id maps are written; hold an id
	 * of the jail's own range, or the caller's one; setgroups is denied; clocks
	 * for its children start now if the plan says so. Must not keep host uid 0 */
	{ "ids", ROLE_CHILD, do_ids },
	/* stand in the jail's own tree, every mount flagged before that is entered.
	 * Must not follow a symlink of the tree, or leave a way to the old root */
	{ "mounts", ROLE_CHILD, do_mounts },
	/* have a socket for the launcher to set and see lo, and one that listens there
	 * for a proxy. Must not have any other interface */
	{ "net", ROLE_CHILD, do_net },
	/* carry the plan's host name. Must not show the host's */
	{ "host", ROLE_CHILD, do_host },
	/* have an empty bounding set, once for both processes that follow. Must not give
	 * up what the stages up to capabilities still need */
	{ "bounding", ROLE_CHILD, do_bounding },
	/* be two: init, and the program behind a gate. Must not start the program */
	{ "split", ROLE_CHILD, do_split },
	/* lead a session, have the plan's execution domain, and have no fd but stdin,
	 * stdout, stderr and init's own after exec; the program also its own stdio,
	 * rlimits but for files, its one CPU if the plan says so, and its id, and
	 * hands over the sockets of net. Must not share a terminal's session or process
	 * group with the caller */
	{ "session", ROLE_INIT | ROLE_PROGRAM | ROLE_WARM | ROLE_TEMPLATE, do_session },
	/* stand where the plan says, with the program's id. Must not use rights that the
	 * program lacks */
	{ "chdir", ROLE_PROGRAM | ROLE_WARM, do_chdir },
	/* have five empty sets, locked securebits and no_new_privs. Must not keep
	 * anything for later */
	{ "capabilities", ROLE_INIT | ROLE_PROGRAM | ROLE_WARM, do_capabilities },
	/* have no_new_privs and, in its own user namespace, what writes its clones'
	 * maps. Must not run anything that is not of the tree */
	{ "template", ROLE_TEMPLATE, do_template },
	/* be confined a second time where the kernel has Landlock, and have tried it.
	 * Must not open what the mounts do not show */
	{ "landlock", ROLE_PROGRAM | ROLE_WARM, do_landlock },
	/* be left with the rows of jail/plan/syscalls.c, and have the launcher told of
	 * violations; init loads its own, tighter filter. Must not be able to load or
	 * remove a filter */
	{ "seccomp", ROLE_PROGRAM | ROLE_WARM, do_seccomp },
	/* hand over its listener, be limited in files, wait for GO, unblock signals.
	 * Must not pass on the caller's signal mask or handlers */
	{ "gate", ROLE_PROGRAM | ROLE_WARM | ROLE_TEMPLATE, do_gate },
	/* be the program, which runs already, with no fd but stdin, stdout and stderr.
	 * Must not be anything before the gate is open */
	{ "wake", ROLE_WARM, do_wake },
	/* become init, or the program. Must not pass on the caller's environment */
	{ "exec", ROLE_INIT | ROLE_PROGRAM | ROLE_TEMPLATE, do_exec },
};

const size_t stage_count = COUNT(stages);

static void report_failure(const struct child *c, size_t stage, const struct err *e)
{
	struct wire_fail frame = {
		.stage = (uint32_t)stage,
		.errnum = (uint32_t)e->errnum,
	};

	(void)snprintf(frame.text, sizeof(frame.text), "%s", e->text);
	(void)wire_send(c->control, WIRE_FAIL, 0, &frame, sizeof(frame));
	_exit(1);
}

static unsigned int role_after_split(const struct child *c)
{
	if (c->program != 0)
		return ROLE_INIT;
	if (c->plan->template)
		return ROLE_TEMPLATE;
	return c->warm ? ROLE_WARM : ROLE_PROGRAM;
}

void stage_run(struct child *c)
{
	unsigned int role = ROLE_CHILD;
	struct err e = { 0 };

	for (size_t i = 0; i < stage_count; i++) {
		if (!(stages[i].roles & role))
			continue;
		if (stages[i].act(c, &e) < 0)
			report_failure(c, i, &e);
		if (stages[i].act == do_split)
			role = role_after_split(c);
	}
	/* exec does not return */
	if (role != ROLE_WARM)
		_exit(1);
}
