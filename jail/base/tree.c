/* SPDX-License-Identifier: MIT */
/*
 * tree.c - the digest of a root tree: see tree.h
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/base/folder.h"
#include "jail/base/sys.h"
#include "jail/base/tree.h"

#define LIST_BYTES_MAX (8U << 20) /* some 70,000 lines */
#define ESCAPED_MAX (4 * PATH_MAX)

/* the paths of a tree, in the order in which they were found, and then sorted */
struct walk {
	int root;
	char **path;
	size_t count, room;
};

static int add_path(struct walk *w, const char *folder, const char *name)
{
	char *path;

	if (w->count == w->room) {
		size_t room = w->room ? 2 * w->room : 1024;
		char **more = realloc(w->path, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		w->path = more;
		w->room = room;
	}
	if (asprintf(&path, "%s%s%s", folder, *folder ? "/" : "", name) < 0)
		return -ENOMEM;
	w->path[w->count++] = path;
	return 0;
}

static int open_in(const struct walk *w, const char *path, int flags)
{
	return sys_openat2(w->root, path, (unsigned int)flags | O_NOFOLLOW,
			   RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

/* Add the names in a folder to the end of the paths; walk_tree() looks at them later. */
static int add_folder(struct walk *w, const char *path)
{
	cleanup_folder DIR *folder =
		folder_list(open_in(w, *path ? path : ".", O_RDONLY | O_DIRECTORY));
	const char *name;

	while (folder && (name = folder_next(folder))) {
		int r = add_path(w, path, name);

		if (r < 0)
			return r;
	}
	return -errno;
}

/*
 * Open the file that an O_PATH fd refers to. The folder may be a stranger's: opening by
 * name could wait for a FIFO's writer, or start a device.
 */
static int open_seen(int seen)
{
	char self[32];
	struct stat st;

	if (fstat(seen, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	(void)snprintf(self, sizeof(self), "/proc/self/fd/%d", seen);

	int fd = open(self, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int hash_file(int seen, char *hex)
{
	static char bytes[65536];
	cleanup_fd int fd = open_seen(seen);
	struct sha256_ctx s;
	ssize_t n;

	if (fd < 0)
		return fd;
	sha256_init(&s);
	while ((n = io_read_all(fd, bytes, sizeof(bytes))) > 0)
		sha256_update(&s, (size_t)n, (const uint8_t *)bytes);
	(void)sha256_end(&s, hex);
	return (int)n;
}

/* Write blanks, newlines and backslashes as \ooo, as proc_pid_mountinfo(5) has them. */
static const char *escape(const char *name, char *text)
{
	char *at = text;

	for (; *name; name++)
		if (strchr(" \t\n\\", *name))
			at += snprintf(at, 5, "\\%03o", (unsigned int)*name);
		else
			*at++ = *name;
	*at = '\0';
	return text;
}

/* Write the list's line for one path, without its newline. */
static int print_line(const struct walk *w, const char *path, char *line, size_t size)
{
	cleanup_fd int fd = open_in(w, path, O_PATH);
	char word[PATH_MAX] = "", to[ESCAPED_MAX], at[ESCAPED_MAX];
	struct stat st;
	int r = 0;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	(void)escape(path, at);
	if (S_ISLNK(st.st_mode)) {
		if (readlinkat(fd, "", word, sizeof(word) - 1) < 0)
			return -errno;
		(void)snprintf(line, size, "link - %s %s", escape(word, to), at);
	} else if (S_ISDIR(st.st_mode)) {
		(void)snprintf(line, size, "dir %04o - %s", st.st_mode & 07777, at);
	} else if (S_ISREG(st.st_mode)) {
		r = hash_file(fd, word);
		(void)snprintf(line, size, "file %04o %s %s", st.st_mode & 07777, word,
			       at);
	} else {
		r = -EINVAL; /* no list has lines for other kinds of files */
	}
	return r;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Find every path of the tree, and sort them as the list is sorted. */
static int walk_tree(struct walk *w, const char *name, struct err *e)
{
	int r = add_folder(w, "");

	if (r < 0)
		return err_set(e, -r, "rootfs: list %s", name);
	for (size_t i = 0; i < w->count; i++) {
		const char *path = w->path[i];

		r = add_folder(w, path);
		if (r < 0 && r != -ENOTDIR && r != -ELOOP)
			return err_set(e, -r, "rootfs: list %s/%s%s", name, path,
				       r == -EXDEV ? ", where something is mounted" : "");
	}
	if (w->count)
		qsort(w->path, w->count, sizeof(*w->path), compare_paths);
	return 0;
}

/* Compare the list's next line with the tree's, NULL at its end, and say what differs. */
static int compare(const char *want, const char *have, const char *name, struct err *e)
{
	const char *listed = want && *want ? strrchr(want, ' ') : NULL;
	const char *found = have ? strrchr(have, ' ') : NULL;
	int order = !listed ? 1 : !found ? -1 : strcmp(listed, found);

	if (want && have && strcmp(want, have) == 0)
		return 0;
	if (order < 0)
		return err_say(e, EBADMSG, "rootfs: %s lacks%.400s, which its list has",
			       name, listed);
	if (order > 0)
		return err_say(e, EBADMSG, "rootfs: %s has%.400s, which its list lacks",
			       name, found);
	return err_say(e, EBADMSG,
		       "rootfs: %s is not what its list says: '%.160s' and not '%.160s'",
		       name, have, want);
}

/* @list: the tree's list, which is cut in place; NULL: there is nothing to compare */
static int list_tree(struct walk *w, const char *name, char *list, char *hex,
		     struct err *e)
{
	char line[2 * ESCAPED_MAX + 128];
	bool listed = list != NULL;
	struct sha256_ctx s;
	int r = walk_tree(w, name, e);

	sha256_init(&s);
	for (size_t i = 0; r == 0 && i < w->count; i++) {
		r = print_line(w, w->path[i], line, sizeof(line));
		if (r < 0)
			return err_set(e, -r, "rootfs: read %s/%s", name, w->path[i]);
		/* behind the list's last line strsep() leaves none */
		if (listed)
			r = compare(strsep(&list, "\n"), line, name, e);
		sha256_update(&s, strlen(line), (const uint8_t *)line);
		sha256_update(&s, 1, (const uint8_t *)"\n");
	}
	if (r == 0 && list && *list)
		r = compare(strsep(&list, "\n"), NULL, name, e);
	(void)sha256_end(&s, hex);
	return r;
}

static int verify(const struct tree_at *root, char *list, char *hex, struct err *e)
{
	cleanup_fd int fd =
		open(root->path, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct walk w = { .root = fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "rootfs: open %s", root->path);
	if (st.st_dev != root->dev || st.st_ino != root->ino)
		return err_say(e, ESTALE, "rootfs: %s was replaced", root->path);

	int r = list_tree(&w, root->path, list, hex, e);

	while (w.count)
		free(w.path[--w.count]);
	free(w.path);
	return r;
}

static ssize_t read_beside(const char *path, char *text, size_t size)
{
	cleanup_fd int seen = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	cleanup_fd int fd = seen < 0 ? -errno : open_seen(seen);

	return fd < 0 ? fd : io_read_text(fd, text, size);
}

/* Read the digest from the file beside the list; false where there is none. */
static bool read_sum(const char *path, char *hex)
{
	char text[512];

	if (read_beside(path, text, sizeof(text)) < 0 ||
	    strspn(text, "0123456789abcdef") != SHA256_HEX - 1)
		return false;
	memcpy(hex, text, SHA256_HEX - 1);
	hex[SHA256_HEX - 1] = '\0';
	return true;
}

int tree_digest(const struct tree_at *root, bool check, struct tree *t, struct err *e)
{
	static char list[LIST_BYTES_MAX];
	char path[PATH_MAX + 16];
	char own[SHA256_HEX];
	ssize_t n;
	bool told;

	t->state = TREE_CLAIMED;
	(void)snprintf(path, sizeof(path), "%s.sha256.sum", root->path);
	told = read_sum(path, t->sha256);
	if (!check && told)
		return 0;
	path[strlen(path) - strlen(".sum")] = '\0';
	n = read_beside(path, list, sizeof(list));
	if (n == -EINVAL)
		return err_say(e, EINVAL, "rootfs: %s, beside the tree, is no file",
			       path);
	if (n < 0 && n != -ENOENT)
		return err_set(e, (int)-n, "rootfs: read %s", path);
	if (check && told &&
	    (n < 0 || strcmp(sha256_text(list, (size_t)n, own), t->sha256) != 0))
		return err_say(
			e, EBADMSG,
			"rootfs: %s is missing, or not the list that %s.sum was made of",
			path, path);
	if (check && n > 0 && list[n - 1] != '\n')
		return err_say(e, EBADMSG, "rootfs: %s is cut off in a line", path);
	if (check) {
		t->state = n < 0 ? TREE_LISTED : TREE_VERIFIED;
		return verify(root, n < 0 ? NULL : list, t->sha256, e);
	}
	if (n < 0)
		t->state = TREE_UNKNOWN;
	else
		(void)sha256_text(list, (size_t)n, t->sha256);
	return 0;
}
