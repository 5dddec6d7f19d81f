/* SPDX-License-Identifier: MIT */
/*
 * launch.c - start a jail and hold its ends: see launch.h
 */
#include <limits.h>
#include <poll.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/base/host.h"
#include "jail/walls/landlock.h"
#include "jail/launch/launch.h"
#include "jail/base/procfs.h"
#include "jail/walls/rlimit.h"
#include "jail/launch/shipped.h"
#include "jail/base/clock.h"
#include "jail/base/sys.h"

#define END_BY_ITSELF_MS 100

/* the kernel's choice when memory runs out on the whole host, not in the leaf: the jail
 */
static int prefer_for_oom(const struct jail *j, struct err *e)
{
	cleanup_fd int dir = procfs_open(j->pid);
	int r = procfs_write_at(dir, "oom_score_adj", "1000");

	if (r == -EXDEV)
		return err_say(
			e, EXDEV,
			"launch: /proc is not the procfs of this PID namespace, or something is mounted in it: mount -t proc proc /proc");
	return r < 0 ? err_set(e, -r, "launch: write /proc/%d/oom_score_adj", j->pid) : 0;
}

static int clone_child(struct jail *j, struct child *c, struct err *e)
{
	/* a template makes cgroup namespaces, and could not place clones from within
	 * one */
	uint64_t without = j->plan->template ? CLONE_NEWCGROUP : 0;
	int back = -1, r = lease_enter(&j->lease, j->plan, &j->ids, j->limited, &back, e);
	pid_t pid;

	c->leased = j->lease.inside != 0;
	if (r < 0)
		return r;
	pid = sys_clone3(STAGE_NAMESPACES & ~without, j->limited ? j->cgroup.leaf : -1,
			 &j->pidfd);
	if (pid == 0) {
		io_close_fd(&back);
		(void)close(j->control);
		(void)close(j->gate);
		stage_run(c);
		_exit(1);
	}
	r = lease_leave(back, e);
	if (pid < 0)
		return host_refused_clone(-pid, e);
	j->pid = pid;
	return r;
}

/* Root clones the sources before the clone, see mount_clone(). Where that is refused, the
 * child does it. */
static int clone_sources(struct jail *j, struct parts *parts, struct child *c,
			 struct err *e)
{
	int r = j->ids.own
			? mount_clone(&parts->sources, parts->plan, &j->ids, j->warm, e)
			: -EPERM;

	/* root of a container may have no say over its mounts; the child has */
	c->sources_cloned = r != -EPERM && !j->warm;
	return r == -EPERM && !(j->warm && j->ids.own) ? 0 : r;
}

/* the sources' mounts live on in the child; the launcher must not pin them */
void launch_close_child(struct jail *j, struct child *c)
{
	io_close_fd(&c->control);
	io_close_fd(&c->gate);
	for (int fd = 0; fd <= 2; fd++)
		io_close_fd(&j->stdio[fd]);
	io_close_fd(&c->sources->root.tree);
	for (size_t i = 0; i < c->plan->bind_count; i++)
		io_close_fd(&c->sources->bind[i].tree);
}

/* There is no cgroup v2, or none that we may use. Any other failure, such as a shortage
 * of fds, is no reason to do without limits. */
static bool is_missing(int errnum)
{
	static const int rows[] = { ENOENT, EACCES, EPERM, EROFS, EBUSY, EOPNOTSUPP };

	for (size_t i = 0; i < COUNT(rows); i++)
		if (rows[i] == errnum)
			return true;
	return false;
}

/* a missing cgroup is an error, unless an option named it; never silently. A template's
 * clone has what the template has */
static int limit(struct jail *j, const struct jail *template, struct err *e)
{
	const uint64_t *n = j->plan->limit;
	int r;

	if (template && !template->limited) {
		j->missing = template->missing;
		return 0;
	}
	r = cgroup_place(&j->cgroup, j->plan, template ? &template->cgroup : NULL, e);
	/* a keeper that cannot be started is no cgroup that is missing */
	if (r == 0 && keeper_start(j->keeper, e) < 0)
		return -e->errnum;
	if (r == 0)
		r = keeper_add(j->keeper, j->cgroup.base, j->cgroup.name, &j->kept, e);
	if (r == 0)
		r = cgroup_make(&j->cgroup, j->plan, e);
	j->limited = r == 0;
	/* Where a leaf could be made, the host has cgroup v2: what fails then is an
	 * error. */
	if (r == 0 || !(j->plan->allow_missing & PART_CGROUP) || j->cgroup.leaf >= 0 ||
	    !is_missing(-r))
		return r;
	if ((n[LIMIT_TOTAL_MEMORY_BYTES] & n[LIMIT_TOTAL_PIDS] &
	     n[LIMIT_TOTAL_CPUS_MILLI]) != NO_LIMIT)
		return err_within(e, "leave out the --total- limits, or mend this: ");
	cgroup_close(&j->cgroup);
	j->missing = *e;
	return 0;
}

int launch_find(struct parts *parts, const struct plan *p, struct err *e)
{
	const struct source *tree = &parts->sources.root;
	char root[PATH_MAX];
	int own, r = 0;

	parts->plan = p;
	/* whatever else the caller left open ends at exec, at the latest */
	if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		r = err_set(e, errno, "launch: close_range (Linux 5.11)");
	if (r == 0)
		r = parts->landlock_abi = landlock_abi(e);
	rlimit_raise_files();
	if (r >= 0)
		r = host_check_cpus(p->cpuset, e);
	if (r >= 0)
		r = rlimit_raise_core(e);
	if (r >= 0)
		r = caps_make(&parts->caps, e);
	if (r < 0)
		return r;
	own = ids_own(e);
	if (own < 0)
		return own;
	r = shipped_root(p->rootfs, root, sizeof(root), e);
	if (r == 0)
		r = mount_find(&parts->sources, p, root, own, e);
	if (r == 0)
		r = tree_digest(&(struct tree_at){ tree->path, tree->dev, tree->ino },
				p->verify_rootfs == ANSWER_YES, &parts->root, e);
	if (r < 0)
		return r;
	parts->init_fd = shipped_program("stepjail-init", root, sizeof(root), e);
	return parts->init_fd < 0 ? parts->init_fd : 0;
}

int launch_prepare(struct jail *j, struct parts *parts, const struct jail *template,
		   struct child *c, struct err *e)
{
	int r;

	j->plan = parts->plan;
	j->keeper = parts->keeper;
	j->warm = template != NULL;
	j->start_ms = clock_now_ms();
	j->landlock_abi = parts->landlock_abi;
	j->root = parts->root;
	j->sources = &parts->sources;
	*c = (struct child){
		.plan = parts->plan,
		.ids = &j->ids,
		.caps = &parts->caps,
		.sources = &parts->sources,
		.landlock_abi = parts->landlock_abi,
		.init_fd = parts->init_fd,
		.control = -1,
		.gate = -1,
		.handed = { [0 ... GATE_FDS - 1] = -1 },
		.stdio = j->stdio,
	};
	/* which would be a violation of the helper's own start */
	if (parts->plan->hold && parts->plan->lock_code != LOCK_YES)
		(void)sscanf(parts->plan->hold, "%*d,%*d,%d,%d", &c->helper[0],
			     &c->helper[1]);
	r = ids_take(&j->ids, e);
	j->ids.gives = j->plan->template;
	/* see ids.h */
	if (j->ids.gives && !j->ids.own)
		j->ids.init_id = j->ids.program_id = 0;
	/* for a warm jail, its template has the sources, but for those that are mapped */
	if (r == 0)
		r = clone_sources(j, parts, c, e);
	if (r == 0)
		r = limit(j, template, e);
	c->cgroup = j->limited;
	if (r == 0)
		r = gate_make(&j->control, &c->control, e);
	return r < 0 ? r : gate_make(&j->gate, &c->gate, e);
}

int launch_go(struct jail *j, struct err *e)
{
	int r = 0;

	/* The states of a session are to outlive the step that uses up the memory. Of a
	 * clone, which is not our child, the pid could be another's by now. */
	if (!j->plan->session && !j->plan->template && !j->warm)
		r = prefer_for_oom(j, e);
	/* For a warm jail, its template has written the maps: only a process of the
	 * parent namespace can. */
	if (r == 0 && !j->warm)
		r = ids_map(&j->ids, j->pid, e);
	if (r == 0 && wire_send(j->control, WIRE_GO, 0, NULL, 0) < 0)
		r = err_say(e, EPIPE, "launch: the jail's child ended at once");
	/* While the child is at work, which ends by itself with its control socket. So a
	 * launcher without a leaf forks its keeper only here. */
	if (r == 0)
		r = keeper_start(j->keeper, e);
	return r < 0 ? r
		     : keeper_give(j->keeper, &j->kept, j->pid, j->pidfd, j->ids.slot_fd,
				   e);
}

int launch_jail(struct jail *j, struct parts *parts, struct err *e)
{
	struct child c;
	int r = launch_prepare(j, parts, NULL, &c, e);

	if (r == 0)
		r = clone_child(j, &c, e);
	launch_close_child(j, &c);
	return r < 0 ? r : launch_go(j, e);
}

/* Kill the jail with this process's own rights. Return: false where it lacks them, and
 * the keeper must. */
static bool kill_by_own_rights(const struct jail *j)
{
	cgroup_kill(&j->cgroup);
	return j->pidfd < 0 ||
	       syscall(SYS_pidfd_send_signal, j->pidfd, SIGKILL, NULL, 0) == 0 ||
	       errno != EPERM;
}

void launch_kill(const struct jail *j)
{
	if (!kill_by_own_rights(j) && j->kept)
		(void)keeper_kill(j->keeper, j->kept);
}

/* a template waits for its clones itself; to others, their pidfd tells the end */
static bool is_gone(const struct jail *j, bool wait)
{
	struct pollfd end = { .fd = j->pidfd, .events = POLLIN };

	return j->warm ? poll(&end, 1, wait ? -1 : 0) == 1
		       : waitpid(j->pid, NULL, wait ? 0 : WNOHANG) == j->pid;
}

void launch_wait(struct jail *j)
{
	struct pollfd end = { .fd = j->pidfd, .events = POLLIN };

	/* PID 1's end is the end of every process of its PID namespace */
	if (j->pid <= 0)
		return;

	bool killed = kill_by_own_rights(j);

	/* where no signal can be sent, init ends at this end of file, and mostly soon */
	io_close_fd(&j->control);
	if (!killed && poll(&end, 1, END_BY_ITSELF_MS) != 1)
		launch_kill(j);
	while (!is_gone(j, true) && errno == EINTR)
		;
	j->pid = 0;
}

bool launch_gone(struct jail *j)
{
	if (j->pid > 0 && !is_gone(j, false))
		return false;
	j->pid = 0;
	return true;
}

void launch_end(struct jail *j)
{
	io_close_fd(&j->pidfd);
	io_close_fd(&j->control);
	io_close_fd(&j->gate);
	io_close_fd(&j->ids.slot_fd);
	cgroup_close(&j->cgroup);
	/* keeper_end() tells of a keeper that was killed */
	if (j->kept)
		(void)keeper_drop(j->keeper, j->kept);
	j->kept = 0;
}
