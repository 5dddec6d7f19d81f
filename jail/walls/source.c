/* SPDX-License-Identifier: MIT */
/*
 * source.c - host folders and files that a jail shall see: resolve, check, clone
 *
 * A path is resolved once, in the launcher, with the caller's rights; symlinks of the
 * host are the caller's own. Device and inode of the source are remembered and compared
 * with the clone, so that nothing else can be put in its place in between. A file is
 * cloned later, by its name out of its folder's clone, and is then compared once more.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/walls/mount.h"
#include "jail/walls/mount_op.h"

/* an overlay has device numbers of its own, and may use the highest bits of an inode's */
#define OVERLAY_INO ((ino_t)-1 >> 8)

/* @need: R_OK, W_OK and X_OK, which are the world's bits of a mode, too */
static int check_open_to_jail(const char *path, mode_t mode, unsigned int need,
			      struct err *e)
{
	if ((mode & need) == need)
		return 0;
	return err_say(
		e, EACCES,
		"%s is closed to the jail, which as root runs under ids of its own: chmod o+%s%s%s it, or run stepjail as its owner",
		path, need & R_OK ? "r" : "", need & W_OK ? "w" : "",
		need & X_OK ? "x" : "");
}

/* cut a resolved file path into its folder and its name */
static int split_file_path(struct source *s, char *path, bool foreign, struct err *e)
{
	char *slash = strrchr(path, '/');
	struct stat st;

	s->name = slash + 1;
	s->path = slash == path ? "/" : path;
	*slash = '\0';
	if (stat(s->path, &st) < 0)
		return err_set(e, errno, "look at %s", s->path);
	return foreign ? check_open_to_jail(s->path, st.st_mode, X_OK, e) : 0;
}

static int find_source(struct source *s, const char *given, bool foreign, bool writable,
		       struct err *e)
{
	char *path = realpath(given, NULL);
	struct stat st;

	if (!path || stat(path, &st) < 0)
		return err_set(e, errno, "%s", given);

	bool folder = S_ISDIR(st.st_mode);
	int need = R_OK | (folder ? X_OK : 0) | (writable ? W_OK : 0), r = 0;

	if (!folder && !S_ISREG(st.st_mode))
		return err_say(e, EINVAL, "%s is neither a file nor a folder", given);
	if (foreign)
		r = check_open_to_jail(given, st.st_mode, (unsigned int)need, e);
	/* an ordinary user's jail has the caller's own rights */
	else if (access(path, need) < 0)
		r = err_set(e, errno, "%s", given);
	if (r < 0)
		return r;
	*s = (struct source){
		.path = path, .dev = st.st_dev, .ino = st.st_ino, .tree = -1
	};
	return folder ? 0 : split_file_path(s, path, foreign, e);
}

int mount_find(struct sources *s, const struct plan *p, const char *root, bool foreign,
	       struct err *e)
{
	int r = find_source(&s->root, root, foreign, false, e);

	if (r == 0 && s->root.name)
		r = err_say(e, ENOTDIR, "%s is not a folder", root);
	if (r < 0)
		return err_within(e, "rootfs: ");
	for (size_t i = 0; i < p->bind_count; i++) {
		r = find_source(&s->bind[i], p->bind[i].src, foreign, p->bind[i].writable,
				e);
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

static int clone_one(struct source *s, bool writable, struct err *e)
{
	int r = s->tree = mount_clone_at(s->path, NULL, e);

	if (r >= 0)
		r = mount_set_flags(s->tree, writable ? MOUNT_WRITABLE : MOUNT_TREE, e);
	return r < 0 ? r : mount_check_same(s, s->tree, s->name, false, e);
}

int mount_clone(struct sources *s, const struct plan *p, struct err *e)
{
	int r = clone_one(&s->root, false, e);

	for (size_t i = 0; r == 0 && i < p->bind_count; i++)
		r = clone_one(&s->bind[i], p->bind[i].writable, e);
	return r;
}
