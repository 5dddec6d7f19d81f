/* SPDX-License-Identifier: MIT */
/*
 * cgroup.c - one cgroup v2 leaf per run: limits in, kill at the end
 *
 * Theory of operation (where leaves may be made is cgroup_find.c)
 *   cgroup_place()  find the folder for a leaf, and choose its name: the keeper hears of
 *                   it, and removes the leaf at the end, whoever was killed until then
 *   cgroup_make()   mkdir the leaf and keep its fd; write the limits of cgroup_limit.c;
 *                   clone3() then starts the child with CLONE_INTO_CGROUP, so it is
 *                   never outside. A template gets a folder, with its own leaf and its
 *                   clones' in it: the folder's cgroup.procs is the template's, which
 *                   places the clones, and nothing above it has to be lent
 *   at the gate     the limits are read back, cgroup_verify(); cgroup_hold() opens what
 *                   is read afterwards, by a process that may open nothing any more:
 *                   jail/watch/cgroup_usage.c
 * Kernel: Documentation/admin-guide/cgroup-v2.rst
 */
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup.h"

/* files of a leaf that are read or written after cgroup_hold() */
const char *const cgroup_held[CGROUP_HELD] = {
	"cgroup.kill",   "cgroup.procs", "memory.peak",    "pids.peak",   "cpu.stat",
	"memory.events", "pids.events",  "memory.current", "memory.stat",
};

int cgroup_remove(int base, const char *name)
{
	cleanup_fd int leaf = -1;

	if (unlinkat(base, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return 0;
	if (errno != EBUSY)
		return -errno;
	leaf = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)io_write_file_at(leaf, "cgroup.kill", "1");
	/* a template's own leaf, in its folder; in others there is none */
	(void)unlinkat(leaf, name, AT_REMOVEDIR);
	return -EBUSY;
}

static int make_folder(int base, const char *name, int *fd, struct err *e)
{
	if (mkdirat(base, name, 0755) < 0)
		return err_set(e, errno, "cgroup: make %s", name);
	*fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd < 0 ? err_set(e, errno, "cgroup: open %s", name) : 0;
}

/* a cgroup with controllers for its children holds no process: the template's are
 * below */
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

int cgroup_place(struct cgroup *cg, const struct plan *p, const struct cgroup *template,
		 struct err *e)
{
	char where[128];
	struct timespec now;
	int r = 0;

	if (!template) {
		r = cgroup_find(p, &cg->base, where, sizeof(where), e);
		if (r == 0)
			r = cgroup_limit_total(cg->base, p, e);
	} else if ((cg->base = fcntl(template->inner, F_DUPFD_CLOEXEC, 3)) < 0) {
		r = err_set(e, errno, "cgroup: duplicate an fd");
	}
	if (r < 0)
		return r;
	/* unique without asking: no two launchers share a pid and a nanosecond */
	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	(void)snprintf(cg->name, sizeof(cg->name), "run-%d-%jd%09ld", getpid(),
		       (intmax_t)now.tv_sec, now.tv_nsec);
	return 0;
}

int cgroup_make(struct cgroup *cg, const struct plan *p, struct err *e)
{
	int r = p->template ? make_inner(cg, p, e) : 0;

	if (r == 0)
		r = make_folder(p->template ? cg->inner : cg->base, cg->name, &cg->leaf,
				e);
	return r < 0 ? r : cgroup_limit(cg->leaf, p, &cg->limits, e);
}

void cgroup_hold(struct cgroup *cg, bool session)
{
	for (size_t i = 0; i < (session ? CGROUP_HELD : CGROUP_HELD_RUN); i++)
		cg->held[i] =
			openat(cg->leaf, cgroup_held[i],
			       (i == 0 ? O_WRONLY : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
}

void cgroup_kill(const struct cgroup *cg)
{
	if (cg->held[0] >= 0)
		(void)io_write_text(cg->held[0], "1");
	else if (cg->leaf >= 0)
		(void)io_write_file_at(cg->leaf, "cgroup.kill", "1");
}

void cgroup_release(struct cgroup *cg)
{
	for (size_t i = 0; i < CGROUP_HELD; i++)
		io_close_fd(&cg->held[i]);
}

void cgroup_close(struct cgroup *cg)
{
	cgroup_release(cg);
	io_close_fd(&cg->leaf);
	io_close_fd(&cg->inner);
	io_close_fd(&cg->base);
}
