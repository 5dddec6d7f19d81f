/* SPDX-License-Identifier: MIT */
/*
 * control.c - what runs in a container is described, signalled, ended and frozen
 *
 * A signal goes to the program itself, PID 2 of the jail, by its pidfd. Its end is the
 * container's: the watcher then ends all else, writes the report, and exits with the
 * program's status. A watcher that is killed leaves that to its keeper.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/oci/command.h"

#define END_MS 10000
#define CGROUPS "/sys/fs/cgroup"

int command_state(const struct call *c, struct err *e)
{
	static const char *const kept[] = { "bundle", "annotations" };
	cleanup_container struct container box = CONTAINER_NONE;
	int r = container_open(&box, c->option[OPTION_ROOT], c->id, false, e);

	if (r < 0)
		return r;

	enum status status = container_status(&box);
	pid_t pid = status == STATUS_STOPPED ? 0 : box.watcher.pid;
	cJSON *json = cJSON_CreateObject();

	(void)cJSON_AddStringToObject(json, "ociVersion", OCI_VERSION);
	(void)cJSON_AddStringToObject(json, "id", c->id);
	(void)cJSON_AddNumberToObject(json, "pid", pid);
	(void)cJSON_AddStringToObject(json, "status", status_names[status]);
	for (size_t i = 0; i < COUNT(kept); i++)
		(void)cJSON_AddItemToObject(
			json, kept[i],
			cJSON_DetachItemFromObjectCaseSensitive(box.json, kept[i]));

	cleanup_free char *text = cJSON_Print(json);

	cJSON_Delete(json);
	printf("%s\n", text);
	return 0;
}

/* 15, TERM and SIGTERM are the same; 0 where it is none */
static int parse_signal(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (!*end)
		return n > 0 && n < NSIG ? (int)n : 0;
	text += strncasecmp(text, "SIG", 3) == 0 ? 3 : 0;
	for (int i = 1; i < NSIG; i++) {
		const char *name = sigabbrev_np(i);

		if (name && strcasecmp(name, text) == 0)
			return i;
	}
	return 0;
}

static int send_signal(struct process p, int signal)
{
	cleanup_fd int fd = process_hold(&p);

	if (fd < 0)
		return fd;
	return syscall(SYS_pidfd_send_signal, fd, signal, NULL, 0) < 0 ? -errno : 0;
}

static int not_running(struct err *e)
{
	return err_say(e, ESRCH, "container not running"); /* words that engines know */
}

int container_running(struct container *box, const struct call *c, struct err *e)
{
	int r = container_open(box, c->option[OPTION_ROOT], c->id, false, e);

	return r == 0 && container_status(box) == STATUS_STOPPED ? not_running(e) : r;
}

/* signal all processes of the jail, or print them where @signal is 0 */
static int each_inside(const struct container *box, int signal, bool json, struct err *e)
{
	/* its PID namespace, which is the jail's alone */
	ino_t inside = process_file(box->program.pid, "ns/pid");
	const char *name, *before = json ? "[" : "PID\n";

	/* still of this process? */
	if (!inside || process_find(box->program.pid).start != box->program.start)
		return not_running(e);

	cleanup_folder DIR *list =
		folder_list(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	while (list && (name = folder_next(list))) {
		pid_t pid = (pid_t)strtol(name, NULL, 10);

		if (pid <= 0 || process_file(pid, "ns/pid") != inside)
			continue;
		if (signal)
			(void)send_signal(process_find(pid), signal);
		else
			printf("%s%d", before, pid);
		before = json ? "," : "\n";
	}
	printf("%s", signal ? "" : json ? "]\n" : "\n");
	return 0;
}

int command_kill(const struct call *c, struct err *e)
{
	int signal = c->words[0] ? parse_signal(c->words[0]) : SIGTERM;
	cleanup_container struct container box = CONTAINER_NONE;
	int r = signal ? container_running(&box, c, e)
		       : err_say(e, EINVAL, "kill: '%.64s' is no signal", c->words[0]);

	if (r < 0)
		return r;
	/* with the program, all end */
	if (c->option[OPTION_ALL] && signal != SIGKILL)
		return each_inside(&box, signal, false, e);
	r = send_signal(box.program, signal);
	/* it may have ended while its watcher has not yet, or never have begun */
	if (r == -ESRCH && signal == SIGKILL)
		r = send_signal(box.watcher, signal);
	if (r == -ESRCH)
		return not_running(e);
	return r < 0 ? err_set(e, -r, "send signal %d to '%s'", signal, c->id) : 0;
}

int command_delete(const struct call *c, struct err *e)
{
	cleanup_container struct container box = CONTAINER_NONE;
	int r = container_open(&box, c->option[OPTION_ROOT], c->id, true, e);

	/* engines delete what they are not sure of */
	if (c->option[OPTION_FORCE] && r == -ENOENT)
		return 0;
	if (r < 0 && !(c->option[OPTION_FORCE] && r == -EBADMSG))
		return r;
	if (!c->option[OPTION_FORCE] && container_status(&box) != STATUS_STOPPED)
		return err_say(e, EBUSY,
			       "container '%s' is %s: kill it first, or say --force",
			       c->id, status_names[container_status(&box)]);
	/* its keeper then ends the jail */
	(void)send_signal(box.watcher, SIGKILL);
	if (!process_await(&box.watcher, END_MS) || !process_await(&box.program, END_MS))
		return err_say(e, EBUSY,
			       "container '%s' was killed, and has not ended within %d s",
			       c->id, END_MS / 1000);
	return container_remove(&box, e);
}

int command_ps(const struct call *c, struct err *e)
{
	const char *format = c->option[OPTION_FORMAT];
	cleanup_container struct container box = CONTAINER_NONE;
	int r = container_running(&box, c, e);

	return r < 0 ? r : each_inside(&box, 0, format && strcmp(format, "json") == 0, e);
}

/* where a process is in cgroup v2; "" where it is not known */
static void find_cgroup(pid_t pid, char *path, size_t size)
{
	char text[PATH_MAX];
	ssize_t n = procfs_read(pid, "cgroup", text, sizeof(text));
	const char *at = n < 0 ? NULL : procfs_find(text, "0::");

	(void)snprintf(path, size, "%.*s", at ? (int)strcspn(at, "\n") : 0, at ? at : "");
}

int container_leaf(struct container *box, const struct call *c, char *leaf, size_t size,
		   struct err *e)
{
	char own[PATH_MAX], watcher[PATH_MAX];
	int r = container_running(box, c, e);

	if (r < 0)
		return r;
	find_cgroup(box->program.pid, own, sizeof(own));
	find_cgroup(box->watcher.pid, watcher, sizeof(watcher));
	if (process_find(box->program.pid).start != box->program.start)
		return not_running(e);
	(void)snprintf(leaf, size, CGROUPS "%s", own);
	/* a leaf holds one jail; without, both are in a cgroup of others */
	return own[0] && strcmp(own, watcher) != 0
		       ? 0
		       : err_say(e, ENOENT,
				 "container '%s' has no cgroup of its own (--allow-missing cgroup): it cannot be frozen or measured",
				 c->id);
}

int command_freeze(const struct call *c, struct err *e)
{
	const char *value = strcmp(c->name, "pause") == 0 ? "1" : "0";
	char leaf[PATH_MAX], path[PATH_MAX + 64];
	cleanup_container struct container box = CONTAINER_NONE;
	int r = container_leaf(&box, c, leaf, sizeof(leaf), e);

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/cgroup.freeze", leaf);
	r = io_write_file_at(AT_FDCWD, path, value);
	return r < 0 ? err_set(e, -r, "write %s into %s", value, path) : 0;
}

int command_explain(const struct call *c, struct err *e)
{
	struct bundle b = { .notes = stdout };
	int r = bundle_read(&b, c->option[OPTION_BUNDLE], e);

	for (size_t i = 0; r == 0 && i < b.options.count; i++)
		printf("%s\n", b.options.word[i]);
	bundle_free(&b);
	return r;
}
