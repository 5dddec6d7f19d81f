/* SPDX-License-Identifier: MIT */
/*
 * mount.c - the jail's file system: see mount.h
 *
 * Theory of operation
 *   The root is an overlay of three read-only layers: an empty folder, the root tree, and
 *   a skeleton that only holds mount points. So a tree needs no folder prepared for a
 *   bind, and /proc/self/mountinfo in the jail says "lowerdir=z:r:e" where a bind mount
 *   would say the host's path of the tree. statvfs(2) asks the first layer: the empty
 *   folder says nothing of the host's disk. A read-only bind is an overlay too. The bound
 *   folder is its first layer, because an overlay takes owner and mode from there.
 *
 *   All of it is assembled on a small private tmpfs, each mount attached with its flags,
 *   but for the device nodes, which get theirs together. Then pivot_root(2) with both
 *   arguments ".", and the old root, the assembly with it, is detached: no path leads
 *   back.
 *   Destinations are opened with openat2(2), RESOLVE_NO_SYMLINKS and RESOLVE_BENEATH: no
 *   symlink of a tree is ever followed.
 *
 *   But for those of binds, fds are not closed here: exec closes init's, and the
 *   program's process closes them together, by close_range(2).
 * See mount_namespaces(7), pivot_root(2), mount(2), mount_setattr(2);
 * Kernel: Documentation/filesystems/overlayfs.rst
 */
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/sysmacros.h>

#include "init/io.h"
#include "jail/walls/mount.h"
#include "jail/walls/mount_op.h"
#include "jail/walls/places.h"

/* folders of the assembly */
#define TREE "r"     /* the root tree */
#define SKELETON "e" /* mount points that the tree may lack */
#define EMPTY "z" /* an empty layer, of binds too: an overlay takes no fewer than two */
#define ROOT "n"  /* the new root */
#define DEV "dev" /* becomes /dev */
#define SHM "dev/shm"
#define WRITABLE "w" /* the tmpfs of /tmp and /dev/shm */
#define WORK "k"     /* the tmpfs of /work */

static const char *const assembly[] = { TREE, SKELETON, EMPTY,    ROOT,
					DEV,  SHM,      WRITABLE, WORK };

static const char *const links[][2] = {
	{ "dev/fd", "/proc/self/fd" },
	{ "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" },
	{ "dev/stderr", "/proc/self/fd/2" },
};

/* a point for each place and bind; a bind's is a file or a folder, as its source is */
static int make_skeleton(const struct sources *s, const struct plan *p, struct err *e)
{
	int layer = open(SKELETON, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (layer < 0)
		return err_set(e, errno, "mount: open the skeleton");
	for (size_t i = 0; i < place_row_count; i++) {
		const char *at = place_rows[i].at;

		if (at[1] && strrchr(at, '/') == at && mkdirat(layer, at + 1, 0755) < 0)
			return err_set(e, errno, "mount: make the point %s", at);
	}
	if (p->template)
		r = mount_make_point(layer, PLACES_KEPT_ROOT, true, e);
	for (size_t i = 0; r == 0 && i < p->bind_count; i++)
		r = p->template ? mount_make_point(layer, places_kept(i), true, e)
				: mount_make_point(layer, p->bind[i].dst,
						   !s->bind[i].name, e);
	return r;
}

static int assemble(const struct sources *s, const struct plan *p, struct err *e)
{
	/* on a folder that every host has, and nothing is looked up in from here on */
	int r = mount_tmpfs("/proc", &(struct tmpfs){ 1U << 20, 4096, 0755, 0 }, 0, e);

	if (r < 0)
		return r;
	if (chdir("/proc") < 0)
		return err_set(e, errno, "mount: enter the assembly");
	for (size_t i = 0; i < COUNT(assembly); i++)
		if (mkdir(assembly[i], 0755) < 0)
			return err_set(e, errno, "mount: make %s", assembly[i]);
	return make_skeleton(s, p, e);
}

/*
 * Without a cgroup, /dev/zero is the host's /dev/full: a shared mapping of /dev/zero
 * would be memory that nobody counts (see seccomp/denied_without.c), while /dev/full
 * reads as zeros, too, and cannot be mapped: see full(4).
 */
static const struct place *node_for(const struct place *place, bool cgroup)
{
	return !cgroup && strcmp(place->at, "/dev/zero") == 0 ? place + 1 : place;
}

/* /dev is a folder of the assembly's own tmpfs, attached once more, and read-only */
static int make_dev(int root, bool cgroup, struct err *e)
{
	for (size_t i = 0; i < COUNT(links); i++)
		if (symlinkat(links[i][1], AT_FDCWD, links[i][0]) < 0)
			return err_set(e, errno, "mount: make /%s", links[i][0]);
	for (size_t i = 0; i < place_row_count; i++)
		if (!place_rows[i].type &&
		    mknod(place_rows[i].at + 1, S_IFREG | 0444, 0) < 0)
			return err_set(e, errno, "mount: make the point %s",
				       place_rows[i].at);

	int dev = mount_clone_at(DEV, NULL, e);
	int r = dev < 0 ? dev : mount_set_flags(dev, MOUNT_READ_ONLY, e);

	if (r == 0)
		r = mount_attach_beneath(dev, root, "/dev", e);
	for (size_t i = 0; r == 0 && i < place_row_count; i++) {
		const struct place *node = node_for(&place_rows[i], cgroup);

		if (!node->type)
			r = mount_node(dev, place_rows[i].at + sizeof(DEV "/"), node->at,
				       makedev(node->major, node->minor), e);
	}
	/* the nodes are mounted in it by now */
	return r < 0 ? r : mount_set_flags(dev, MOUNT_NODE, e);
}

/* /tmp and /dev/shm are folders of one tmpfs, with one size; /work is one of its own */
static int make_writable(int root, const struct plan *p, struct err *e)
{
	static const char *const parts[][3] = {
		{ WORK, NULL, "/work" },
		{ WRITABLE, "tmp", "/tmp" },
		{ WRITABLE, "shm", "/dev/shm" },
	};
	const struct tmpfs tmp = { p->limit[LIMIT_TMP_BYTES], p->limit[LIMIT_INODES],
				   01777, 0 };
	const struct tmpfs work = { p->limit[LIMIT_WORK_BYTES], p->limit[LIMIT_INODES],
				    0755, p->template ? 0 : PLAN_PROGRAM_ID };
	int r = mount_tmpfs(WORK, &work, MOUNT_WRITABLE, e);

	if (r == 0 && p->out &&
	    (mkdir(WORK "/out", 0755) < 0 ||
	     chown(WORK "/out", PLAN_PROGRAM_ID, PLAN_PROGRAM_ID) < 0))
		return err_set(e, errno, "mount: make /work/out");
	if (r == 0)
		r = mount_tmpfs(WRITABLE, &tmp, MOUNT_WRITABLE, e);
	if (r == 0 &&
	    (mkdir(WRITABLE "/tmp", 01777) < 0 || mkdir(WRITABLE "/shm", 01777) < 0))
		return err_set(e, errno, "mount: make /tmp and /dev/shm");
	for (size_t i = 0; r == 0 && i < COUNT(parts); i++) {
		int part = mount_clone_at(parts[i][0], parts[i][1], e);

		r = part < 0 ? part : mount_attach_beneath(part, root, parts[i][2], e);
	}
	return r;
}

static int make_proc(int root, const struct plan *p, struct err *e)
{
	if (p->proc == PROC_NONE && !p->template)
		return 0;

	/* read-only, because /proc/self/mem writes even to pages of code. A template's is
	 * writable: the template writes the id maps of its clones */
	int proc = mount_proc(p->template ? MOUNT_WRITABLE : MOUNT_READ_ONLY,
			      MOUNT_PROC_OWN, e);

	return proc < 0 ? proc : mount_attach_beneath(proc, root, "/proc", e);
}

/*
 * A read-only bind is an overlay whose lower layer is the source's folder; a writable one
 * is that folder itself. Either is attached to the assembly first, because a file can
 * only be cloned out of a mount that is attached somewhere.
 */
static int make_source(const struct source *s, size_t i, bool writable, struct err *e)
{
	char lower[24], layers[40], over[24];
	int r;

	(void)snprintf(lower, sizeof(lower), "b%zu", i);
	(void)snprintf(over, sizeof(over), "o%zu", i);
	(void)snprintf(layers, sizeof(layers), "%s:" EMPTY, lower);
	if (mkdir(lower, 0755) < 0 || mkdir(over, 0755) < 0)
		return err_set(e, errno, "mount: make %s", lower);
	r = mount_attach(s->tree, AT_FDCWD, lower, e);
	if (r < 0 || writable)
		return r < 0 ? r : mount_clone_at(lower, s->name, e);

	/* The kernel also asks whether whoever made an overlay may read what is in it: a
	 * file of the program's, but of another group, is closed to init. */
	(void)setfsuid(PLAN_PROGRAM_ID);

	r = mount_overlay(over, layers, e);
	/* it tells no failure, but what was before */
	if (setfsuid(geteuid()) != PLAN_PROGRAM_ID)
		return err_say(e, EPERM, "mount: setfsuid to the program's id");
	return r < 0 ? r : mount_clone_at(over, s->name, e);
}

static int make_bind(int root, const struct source *s, const struct plan_bind *b,
		     size_t i, struct err *e)
{
	/* below /work and /tmp the mount point is made now; elsewhere the skeleton has
	 * it */
	int r = mount_make_point(root, b->dst, !s->name, e);
	cleanup_fd int tree = r < 0 ? r : make_source(s, i, b->writable, e);

	if (tree < 0)
		return tree;
	if (s->name)
		r = mount_check_same(s, tree, NULL, !b->writable, e);
	return r < 0 ? r : mount_attach_beneath(tree, root, b->dst, e);
}

/* in a template: attach the sources for its clones, see PLACES_KEPT_ROOT */
static int keep_sources(int root, const struct sources *s, const struct plan *p,
			struct err *e)
{
	/* the mount of the root tree is attached already, as a layer: clone it */
	cleanup_fd int tree = mount_clone_at(TREE, NULL, e);
	int r = tree < 0 ? tree : mount_attach_beneath(tree, root, PLACES_KEPT_ROOT, e);

	for (size_t i = 0; r == 0 && i < p->bind_count; i++)
		r = mount_attach_beneath(s->bind[i].tree, root, places_kept(i), e);
	return r;
}

static int pivot(int root, struct err *e)
{
	if (fchdir(root) < 0)
		return err_set(e, errno, "mount: enter the new root");
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_set(
			e, errno, "mount: pivot_root%s",
			errno == EINVAL
				? " (is the host's root an initramfs? switch to a tmpfs or disk root first)"
				: "");
	/* the old root now lies on top of the new one. The assembly lies in it and goes
	 * along: each call waits for all CPUs. The working directory stays the new root:
	 * see pivot_root(2) */
	if (umount2(".", MNT_DETACH) < 0)
		return err_set(e, errno, "mount: detach the old root");
	return 0;
}

int mount_jail(const struct sources *s, const struct plan *p, bool cgroup, struct err *e)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_set(e, errno, "mount: make all mounts private");

	int r = assemble(s, p, e);

	if (r == 0)
		r = mount_attach(s->root.tree, AT_FDCWD, TREE, e);
	if (r == 0)
		r = mount_overlay(ROOT, EMPTY ":" TREE ":" SKELETON, e);
	if (r < 0)
		return r;

	int root = open(ROOT, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return err_set(e, errno, "mount: open the new root");
	r = make_dev(root, cgroup, e);
	if (r == 0)
		r = make_writable(root, p, e);
	if (r == 0)
		r = make_proc(root, p, e);
	if (r == 0 && p->template)
		r = keep_sources(root, s, p, e);
	for (size_t i = 0; r == 0 && i < p->bind_count && !p->template; i++)
		r = make_bind(root, &s->bind[i], &p->bind[i], i, e);
	return r < 0 ? r : pivot(root, e);
}
