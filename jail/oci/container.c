/* SPDX-License-Identifier: MIT */
/*
 * container.c - a container's folder, and what of it still runs: see container.h
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/oci/container.h"
#include "jail/oci/words.h"

#define STATE "state.json"
#define STATE_BYTES (1U << 20)
#define ID_MAX 200
#define START_FIELD 22 /* of /proc/PID/stat, counted from 1 */

const char *const status_names[] = {
	[STATUS_CREATING] = "creating",
	[STATUS_CREATED] = "created",
	[STATUS_RUNNING] = "running",
	[STATUS_STOPPED] = "stopped",
};

const char *container_root(void)
{
	static char path[PATH_MAX] = "/run/stepjail-oci";
	const char *own = getenv("XDG_RUNTIME_DIR");

	if (geteuid() != 0 && own && own[0] == '/')
		(void)snprintf(path, sizeof(path), "%s/stepjail-oci", own);
	return path;
}

/* a name within a folder, that no path hides in */
static int name_path(struct container *c, const char *root, const char *id, struct err *e)
{
	size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "0123456789_.+-");

	*c = CONTAINER_NONE;
	c->id = id;
	if (n == 0 || n > ID_MAX || id[n] || id[0] == '.')
		return err_say(
			e, EINVAL,
			"'%.64s' is no container's name: 1 to %d letters, digits, '_', '.', '+' or '-', and no '.' at first",
			id, ID_MAX);
	if ((size_t)snprintf(c->path, sizeof(c->path), "%s/%s", root, id) >=
	    sizeof(c->path))
		return err_say(e, ENAMETOOLONG, "--root: the path is too long");
	return 0;
}

/* with the folders above it */
static int make_root(const char *root, struct err *e)
{
	char path[PATH_MAX];

	for (size_t n = 1; root[n - 1]; n++) {
		n += strcspn(root + n, "/");
		(void)snprintf(path, sizeof(path), "%.*s", (int)n, root);
		if (mkdir(path, 0711) < 0 && errno != EEXIST)
			return err_set(e, errno, "--root: make %s", path);
	}
	return 0;
}

static int lock(struct container *c, bool change, struct err *e)
{
	struct stat st;

	c->folder = open(c->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	while (c->folder >= 0 && flock(c->folder, change ? LOCK_EX : LOCK_SH) < 0)
		if (errno != EINTR)
			return err_set(e, errno, "lock %s", c->path);
	/* somebody may have removed it meanwhile */
	if ((c->folder < 0 && errno == ENOENT) ||
	    (c->folder >= 0 && fstat(c->folder, &st) == 0 && st.st_nlink == 0))
		return err_say(e, ENOENT, "container '%s' does not exist", c->id);
	return c->folder < 0 ? err_set(e, errno, "open %s", c->path) : 0;
}

int container_make(struct container *c, const char *root, const char *id, struct err *e)
{
	char real[PATH_MAX];
	int r = make_root(root, e);

	/* a report is written through no symlink */
	if (r == 0 && !realpath(root, real))
		r = err_set(e, errno, "--root %s", root);
	if (r == 0)
		r = name_path(c, real, id, e);
	if (r < 0)
		return r;
	if (mkdir(c->path, 0700) < 0)
		return errno == EEXIST
			       ? err_say(e, EEXIST, "container '%s' exists already", id)
			       : err_set(e, errno, "make %s", c->path);
	return lock(c, true, e);
}

static struct process read_process(const cJSON *json, const char *name)
{
	const cJSON *text = cJSON_GetObjectItemCaseSensitive(json, name);
	struct process p = { 0 };

	if (!cJSON_IsString(text) ||
	    sscanf(text->valuestring, "%d %" SCNu64, &p.pid, &p.start) != 2)
		p.pid = 0;
	return p;
}

static void put_process(cJSON *json, const char *name, const struct process *p)
{
	char text[48];

	(void)snprintf(text, sizeof(text), "%d %" PRIu64, p->pid, p->start);
	cJSON_DeleteItemFromObjectCaseSensitive(json, name);
	(void)cJSON_AddStringToObject(json, name, text);
}

static int load(struct container *c, struct err *e)
{
	cleanup_free char *text = words_allocate(STATE_BYTES);
	ssize_t n = io_read_file_at(c->folder, STATE, text, STATE_BYTES);

	/* a create that was killed at its beginning leaves none */
	if (n == -ENOENT)
		return 0;
	if (n < 0)
		return err_set(e, (int)-n, "read %s/" STATE, c->path);
	c->json = cJSON_Parse(text);
	if (!c->json)
		return err_say(e, EBADMSG, "%s/" STATE " is damaged: delete --force %s",
			       c->path, c->id);
	c->watcher = read_process(c->json, "watcher");
	c->program = read_process(c->json, "program");
	return 0;
}

int container_open(struct container *c, const char *root, const char *id, bool change,
		   struct err *e)
{
	int r = name_path(c, root, id, e);

	if (r == 0)
		r = lock(c, change, e);
	return r < 0 ? r : load(c, e);
}

int container_write(int folder, const char *name, const char *text, struct err *e)
{
	char new[PATH_MAX];
	cleanup_fd int fd = -1;
	int r;

	(void)snprintf(new, sizeof(new), "%s.new", name);
	fd = openat(folder, new, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0644);
	r = fd < 0 ? -errno : io_write_all(fd, text, strlen(text));
	if (r == 0 && renameat(folder, new, folder, name) < 0)
		r = -errno;
	return r < 0 ? err_set(e, -r, "write %s", name) : 0;
}

int container_save(struct container *c, struct err *e)
{
	put_process(c->json, "watcher", &c->watcher);
	put_process(c->json, "program", &c->program);

	cleanup_free char *text = cJSON_Print(c->json);

	return container_write(c->folder, STATE, text, e);
}

int container_remove(const struct container *c, struct err *e)
{
	cleanup_folder DIR *list =
		folder_list(openat(c->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const char *name;

	while (list && (name = folder_next(list)))
		if (unlinkat(c->folder, name, 0) < 0)
			return err_set(e, errno, "remove %s/%s", c->path, name);
	return rmdir(c->path) < 0 ? err_set(e, errno, "remove %s", c->path) : 0;
}

void container_close(struct container *c)
{
	io_close_fd(&c->folder);
	cJSON_Delete(c->json);
	c->json = NULL;
}

int container_start_fd(const struct container *c)
{
	int fd = openat(c->folder, "start", O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

enum status container_status(const struct container *c)
{
	if (!c->watcher.start || process_find(c->watcher.pid).start != c->watcher.start)
		return STATUS_STOPPED;
	if (!c->program.start)
		return STATUS_CREATING;

	cleanup_fd int fd = container_start_fd(c);

	return fd < 0 ? STATUS_RUNNING : STATUS_CREATED;
}

struct process process_find(pid_t pid)
{
	struct process p = { .pid = pid };
	char stat[1024];
	ssize_t n = procfs_read(pid, "stat", stat, sizeof(stat));
	/* its name, in parentheses, may hold anything */
	const char *at = n < 0 ? NULL : strrchr(stat, ')');

	/* a zombie has ended: its parent has not asked yet */
	if (!at || strchr("ZX", at[2]))
		return p;
	for (int field = 2; field < START_FIELD && at; field++)
		at = strchr(at + 1, ' ');
	p.start = at ? strtoull(at, NULL, 10) : 0;
	return p;
}

ino_t process_file(pid_t pid, const char *name)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return stat(path, &st) < 0 ? 0 : st.st_ino;
}

int process_hold(const struct process *p)
{
	cleanup_fd int fd = p->pid > 0 ? (int)syscall(SYS_pidfd_open, p->pid, 0) : -1;

	/* what the pidfd holds is looked at once it cannot change any more */
	if (fd < 0 || p->start == 0 || process_find(p->pid).start != p->start)
		return -ESRCH;
	return io_steal_fd(&fd);
}

bool process_await(const struct process *p, int ms)
{
	cleanup_fd int fd = process_hold(p);
	struct pollfd end = { .fd = fd, .events = POLLIN };

	return fd < 0 || poll(&end, 1, ms) == 1;
}
