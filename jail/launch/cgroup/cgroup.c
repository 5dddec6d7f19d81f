/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c - one cgroup v2 leaf per run: limits in, usage out, kill at the end
 *
 * Theory of operation (all in the launcher; where leaves may be made is cgroup_find.c)
 *   cgroup_make()   mkdir the leaf and keep its fd; write the limits of cgroup_limit.c;
 *                   clone3() then starts the child with CLONE_INTO_CGROUP, so it is
 *                   never outside. A template gets a folder, with its own leaf and its
 *                   clones' in it: the folder's cgroup.procs is the template's, which
 *                   places the clones, and nothing above it has to be lent
 *   at the gate     the limits are read back, cgroup_verify()
 *   at the end      cgroup_usage() reads what it has used
 *   cgroup_end()    write cgroup.kill, rmdir
 *   A cgroup outlives a launcher that is killed, unlike everything else of a jail. So a
 *   sweeper, a process of its own in a process group of its own, sleeps in read(2) on a
 *   pipe that only the launcher holds open, and kills and removes the leaf when the pipe
 *   closes.
 * Kernel: Documentation/admin-guide/cgroup-v2.rst
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/base/sys.h"

/* rmdir can be refused for a moment while killed processes leave; 2 s in all */
#define REMOVE_TRIES 400
#define REMOVE_PAUSE_NS 5000000

/* kill and remove a leaf; used by the launcher and by the sweeper */
static int remove_leaf(int base, int leaf, const char *name)
{
	struct timespec pause = { .tv_nsec = REMOVE_PAUSE_NS };

	for (int i = 0; i < REMOVE_TRIES; i++) {
		if (unlinkat(base, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		if (errno != EBUSY)
			return -errno;
		(void)io_write_file_at(leaf, "cgroup.kill", "1");
		/* a template's own leaf, in its folder; in others there is none */
		if (unlinkat(leaf, name, AT_REMOVEDIR) == 0)
			continue;
		(void)nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

static void sweep(int guard, int base, const char *name)
{
	/* the lowest numbers, so that everything else can be closed at once */
	if (dup2(guard, 0) < 0 || dup2(base, 1) < 0)
		_exit(1);
	(void)close_range(2, ~0U, 0);
	(void)prctl(PR_SET_NAME, "stepjail-sweep");
	(void)chdir("/");

	char byte;

	while (read(0, &byte, 1) < 0 && errno == EINTR)
		;
	/* the launcher has removed it, unless it was killed */
	_exit(remove_leaf(1, openat(1, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC), name) <
	      0);
}

static int start_sweeper(struct cgroup *cg, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(e, errno, "cgroup: pipe to the sweeper");
	cg->guard = ends[1];
	cg->sweeper = fork();
	if (cg->sweeper == 0) {
		(void)close(ends[1]);
		sweep(ends[0], cg->base, cg->name);
	}
	(void)close(ends[0]);
	if (cg->sweeper < 0) {
		cg->sweeper = 0;
		return err_set(e, errno, "cgroup: start the sweeper");
	}
	/* from here, and before there is a leaf: a kill of the launcher's whole process
	 * group must not take the sweeper along */
	if (setpgid(cg->sweeper, cg->sweeper) < 0)
		return err_set(e, errno, "cgroup: set the sweeper apart");
	return 0;
}

static int make_folder(int base, const char *name, int *fd, struct err *e)
{
	if (mkdirat(base, name, 0755) < 0)
		return err_set(e, errno, "cgroup: make %s", name);
	*fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? err_set(e, errno, "cgroup: open %s", name) : 0;
}

/* a cgroup with controllers for its children holds no process: the template's are below */
static int make_inner(struct cgroup *cg, const struct plan *p, struct err *e)
{
	int r = make_folder(cg->base, cg->name, &cg->inner, e);

	if (r < 0)
		return r;
	r = cgroup_enable(cg->inner, p);
	return r < 0 ? err_set(e, -r, "cgroup: enable controllers in %s", cg->name) : 0;
}

int cgroup_give(int dir, uid_t uid, struct err *e)
{
	return fchownat(dir, "cgroup.procs", uid, (gid_t)-1, AT_SYMLINK_NOFOLLOW) < 0
		       ? err_set(e, errno,
				 "cgroup: give cgroup.procs to %u (needs CAP_CHOWN)", uid)
		       : 0;
}

int cgroup_make(struct cgroup *cg, const struct plan *p, const struct cgroup *template,
		struct err *e)
{
	char where[128];
	struct timespec now;
	int r = 0;

	if (!template)
		r = cgroup_find(p, &cg->base, where, sizeof(where), e);
	else if ((cg->base = fcntl(template->inner, F_DUPFD_CLOEXEC, 3)) < 0)
		r = err_set(e, errno, "cgroup: duplicate an fd");
	if (r < 0)
		return r;

	/* unique without asking: no two launchers share a pid and a nanosecond */
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	(void)snprintf(cg->name, sizeof(cg->name), "run-%d-%jd%09ld", getpid(),
		       (intmax_t)now.tv_sec, now.tv_nsec);
	/* first the sweeper, then the leaf: no moment at which a kill would leave it
	 * behind */
	r = start_sweeper(cg, e);
	if (r == 0 && p->template)
		r = make_inner(cg, p, e);
	if (r == 0)
		r = make_folder(p->template ? cg->inner : cg->base, cg->name, &cg->leaf,
				e);
	if (r < 0)
		return r;
	return cgroup_limit(cg->leaf, p, &cg->limits, e);
}

int cgroup_count(const struct cgroup *cg)
{
	char text[16384];
	int lines = 0;
	ssize_t n = io_read_file_at(cg->leaf, "cgroup.procs", text, sizeof(text));

	/* more than fits is still told, as a lower bound */
	if (n == -EFBIG)
		n = sizeof(text);
	if (n < 0)
		return (int)n;
	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

void cgroup_kill(const struct cgroup *cg)
{
	if (cg->leaf >= 0)
		(void)io_write_file_at(cg->leaf, "cgroup.kill", "1");
}

int cgroup_end(struct cgroup *cg, struct err *e)
{
	int r = 0;

	if (cg->leaf >= 0 || cg->inner >= 0) {
		r = remove_leaf(cg->base, cg->inner >= 0 ? cg->inner : cg->leaf,
				cg->name);
		if (r < 0)
			r = err_set(e, -r, "cgroup: remove the leaf %s", cg->name);
	}
	io_close_fd(&cg->guard);
	if (cg->sweeper > 0) {
		while (waitpid(cg->sweeper, NULL, 0) < 0 && errno == EINTR)
			;
		cg->sweeper = 0;
	}
	io_close_fd(&cg->leaf);
	io_close_fd(&cg->inner);
	io_close_fd(&cg->base);
	return r;
}
