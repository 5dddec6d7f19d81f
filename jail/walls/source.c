/* SPDX-License-Identifier: MIT */
/*
 * source.c - host folders and files that a jail shall see: resolve, check, clone
 *
 * A path is resolved once, in the launcher, with the caller's rights; symlinks of the
 * host are the caller's own. Device and inode of the source are remembered and compared
 * with the clone, so that nothing else can be put in its place in between. A file is
 * cloned later, by its name out of its folder's clone, and is then compared once more.
 *
 * As root, what is closed to others is shown under other ids: its clone is an idmapped
 * mount, in which the owner's files are the program's, and nobody else's are. That is
 * for what the options name, and not for where a symlink leads: whoever may make one
 * could have root hand in what is root's alone.
 */
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/base/idmap.h"
#include "jail/walls/mount.h"
#include "jail/walls/mount_op.h"

/* an overlay has device numbers of its own, and may use the highest bits of an inode's */
#define OVERLAY_INO ((ino_t)-1 >> 8)

static int refuse_closed(const char *path, unsigned int need, struct err *e)
{
	return err_say(
		e, EACCES,
		"%s is closed to the jail, which as root runs under ids of its own: chmod o+%s%s%s it, or run stepjail as its owner",
		path, need & R_OK ? "r" : "", need & W_OK ? "w" : "",
		need & X_OK ? "x" : "");
}

/* cut a resolved file path into its folder and its name. Return: is the folder closed to
 * others? */
static int split_file_path(struct source *s, char *path, struct err *e)
{
	char *slash = strrchr(path, '/');
	struct stat st;

	s->name = slash + 1;
	s->path = slash == path ? "/" : path;
	*slash = '\0';
	if (stat(s->path, &st) < 0)
		return err_set(e, errno, "look at %s", s->path);
	return !(st.st_mode & X_OK);
}

/* Is this the file or folder itself, with no symlink on the way? */
static int check_direct(const char *given, const struct source *s, struct err *e)
{
	cleanup_fd int fd = sys_openat2(AT_FDCWD, given, O_PATH, RESOLVE_NO_SYMLINKS);

	if (fd == -ELOOP)
		return err_say(
			e, ELOOP,
			"%s leads through a symlink to %s%s%s, which is closed to others: name that",
			given, s->path, s->name ? "/" : "", s->name ? s->name : "");
	return fd < 0 ? err_set(e, -fd, "%s", given)
		      : mount_check_same(s, fd, NULL, false, e);
}

/* @b: NULL for the root tree */
static int find_source(struct source *s, const char *given, bool foreign,
		       const struct plan_bind *b, struct err *e)
{
	char *path = realpath(given, NULL);
	bool writable = b && b->writable;
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return err_set(e, errno, "%s", given);

	bool folder = S_ISDIR(st.st_mode);
	unsigned int need = R_OK | (folder ? X_OK : 0) | (writable ? W_OK : 0);
	bool closed = foreign && (st.st_mode & need) != need;

	if (!folder && !S_ISREG(st.st_mode))
		return err_say(e, EINVAL, "%s is neither a file nor a folder", given);
	/* an ordinary user's jail has the caller's own rights */
	if (!foreign && access(path, (int)need) < 0)
		return err_set(e, errno, "%s", given);
	*s = (struct source){
		.path = path, .dev = st.st_dev, .ino = st.st_ino, .tree = -1
	};
	/* the program would have the rights of the owner */
	if (closed && (!b || writable || (st.st_mode >> 6 & need) != need))
		return refuse_closed(given, need, e);

	int r = folder ? 0 : split_file_path(s, path, e);

	if (r < 0 || !foreign || !(closed || r))
		return r < 0 ? r : 0;
	if (writable)
		return refuse_closed(s->path, X_OK, e);
	s->mapped = true;
	return check_direct(given, s, e);
}

int mount_find(struct sources *s, const struct plan *p, const char *root, bool foreign,
	       struct err *e)
{
	int r = find_source(&s->root, root, foreign, NULL, e);

	if (r == 0 && s->root.name)
		r = err_say(e, ENOTDIR, "%s is not a folder", root);
	if (r < 0)
		return err_within(e, "rootfs: ");
	for (size_t i = 0; i < p->bind_count; i++) {
		r = find_source(&s->bind[i], p->bind[i].src, foreign, &p->bind[i], e);
		if (r < 0)
			return err_within(e, "bind: ");
	}
	return 0;
}

int mount_check_same(const struct source *s, int tree, const char *name, bool overlay,
		     struct err *e)
{
	struct stat st;

	if (fstatat(tree, name ? name : "", &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return err_set(e, errno, "mount: look at %s again", s->path);
	if (overlay ? (st.st_ino ^ s->ino) & OVERLAY_INO
		    : st.st_dev != s->dev || st.st_ino != s->ino)
		return err_say(e, ESTALE,
			       "mount: %s%s%s was replaced while the jail started",
			       s->path, s->name ? "/" : "", s->name ? s->name : "");
	return 0;
}

/* its owner is shown as the program; that of a file's folder as init, which passes
 * through it to the file */
static int map_owner(const struct source *s, const struct ids *ids, struct err *e)
{
	const struct idmap shown = { ids_program(ids), ids_program_group(ids),
				     ids->host_uid, ids->host_gid };
	int r = idmap_set(s->tree, s->name, &shown, e);

	return r < 0 ? err_within(e, "mount: %s%s%s is closed to others: ", s->path,
				  s->name ? "/" : "", s->name ? s->name : "")
		     : 0;
}

/* @ids: NULL: it is not shown to a program from here */
static int clone_one(struct source *s, bool writable, const struct ids *ids,
		     struct err *e)
{
	int r = 0;

	if (s->tree < 0) {
		r = s->tree = mount_clone_at(s->path, NULL, e);
		if (r >= 0)
			r = mount_set_flags(s->tree,
					    writable ? MOUNT_WRITABLE : MOUNT_TREE, e);
		if (r == 0 && s->mapped && ids)
			r = map_owner(s, ids, e);
	}
	return r < 0 ? r : mount_check_same(s, s->tree, s->name, false, e);
}

int mount_clone(struct sources *s, const struct plan *p, const struct ids *ids,
		bool mapped, struct err *e)
{
	int r = mapped ? 0 : clone_one(&s->root, false, ids, e);

	/* its clones show them, each under other ids */
	if (p->template)
		ids = NULL;
	for (size_t i = 0; r == 0 && i < p->bind_count; i++)
		if (!mapped || s->bind[i].mapped)
			r = clone_one(&s->bind[i], p->bind[i].writable, ids, e);
	return r;
}
