/* SPDX-License-Identifier: MIT */
/*
 * check.c - stepjail check: what this host has, and what it lacks for a jail
 *
 * Theory of operation
 *   Nothing is guessed from a version: each row tries the thing itself, in a child
 *   process of its own where trying it changes something, and words come from the errno.
 *   The last row starts a whole jail, as far as the exec of a program that is not there.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/command.h"
#include "jail/base/host.h"
#include "jail/base/json.h"
#include "jail/walls/landlock.h"
#include "jail/plan/option.h"
#include "jail/check/probe.h"
#include "jail/launch/shipped.h"
#include "jail/walls/seccomp/denied_without.h"
#include "jail/base/sys.h"

enum state { STATE_OK, STATE_MISSING, STATE_ABSENT };

static const char *const state_names[] = {
	[STATE_OK] = "ok",
	[STATE_MISSING] = "missing",
	[STATE_ABSENT] = "absent", /* of use if it were there; run works without */
};

struct finding {
	enum state state;
	char detail[ERR_TEXT_MAX];
	const char *remedy; /* NULL where there is nothing to mend */
};

/* what must have been found before a row can be tried */
enum need { ALWAYS, HOST, USERNS };

struct row {
	const char *name;
	const char *remedy; /* NULL where the finding's line has it */
	bool optional;
	enum need need;
	unsigned long arg; /* where one function serves several rows */
	/* one of them: it tells more than an error, or it does not */
	int (*look)(const struct row *row, struct finding *f);
	int (*attempt)(struct err *e);
};

/* what the options after check say, or would say to run */
static struct plan plan;

static int note(struct finding *f, int result, const char *text)
{
	(void)snprintf(f->detail, sizeof(f->detail), "%.500s", text);
	return result;
}

static int look_kernel(const struct row *row, struct finding *f)
{
	struct utsname name;
	int major = 0, minor = 0;

	(void)row;
	if (uname(&name) < 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		return note(f, -EINVAL, "uname fails");
	(void)note(f, 0, name.release);
	return major > 5 || (major == 5 && minor >= 14) ? 0 : -ENOSYS;
}

/* the line has the remedy */
static int note_err(struct finding *f, int result, struct err *e)
{
	if (result < 0)
		host_hint(e);
	f->remedy = NULL;
	return result < 0 ? note(f, result, e->text) : result;
}

static int look_namespace(const struct row *row, struct finding *f)
{
	struct err e;

	return note_err(f, probe_namespace(row->arg, &e), &e);
}

static int look_cgroup(const struct row *row, struct finding *f)
{
	char where[128];
	struct err e;
	int base = -1;
	int r = cgroup_find(NULL, &base, where, sizeof(where), &e);

	(void)row;
	io_close_fd(&base);
	if (r < 0)
		return note_err(f, r, &e);
	(void)snprintf(f->detail, sizeof(f->detail), "cpu, memory and pids in %s", where);
	return 0;
}

static int look_seccomp(const struct row *row, struct finding *f)
{
	unsigned int action = (unsigned int)row->arg;

	(void)f;
	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0UL, &action) < 0)
		return -errno;
	return 0;
}

static int look_landlock(const struct row *row, struct finding *f)
{
	struct err e;
	int abi = landlock_abi(&e);

	(void)row;
	if (abi < 0)
		return note_err(f, abi, &e);
	if (abi == 0)
		return -ENOSYS;
	(void)snprintf(f->detail, sizeof(f->detail), "ABI %d%s", abi,
		       denied_without_lacks(true, abi, NULL)
			       ? ": cannot refuse to truncate, so seccomp "
				 "refuses truncate and O_TRUNC without "
				 "O_WRONLY or O_RDWR"
			       : "");
	return 0;
}

/* the single-id map needs neither of these; they are what a range of ids would take */
static int look_subuid(const struct row *row, struct finding *f)
{
	char text[4096], user[64];
	const char *name = getenv("USER");
	ssize_t n = io_read_file_at(AT_FDCWD, "/etc/subuid", text, sizeof(text));

	(void)row;
	if (access("/usr/bin/newuidmap", X_OK) < 0)
		return note(f, -ENOENT, "no newuidmap");
	(void)snprintf(user, sizeof(user), "%s:", name ? name : "");
	if (n <= 0 || !name || !strstr(text, user))
		return note(f, -ENOENT, "newuidmap, but no range in /etc/subuid");
	return note(f, 0, "newuidmap and a range in /etc/subuid");
}

static int try_init(struct err *e)
{
	cleanup_fd int fd = shipped_init(e);

	return fd;
}

static int try_jail(struct err *e)
{
	return probe_jail(&plan, e);
}

static int look_root(const struct row *row, struct finding *f)
{
	char path[4096];
	struct err e;
	int r = shipped_root(plan.rootfs, path, sizeof(path), &e);

	(void)row;
	return r < 0 ? note_err(f, r, &e) : note(f, r, path);
}

static const char newer[] = "boot a newer kernel";

static const struct row rows[] = {
	{ "kernel", "boot Linux 5.14 or newer", false, ALWAYS, 0, look_kernel, NULL },
	{ "system calls, /proc", NULL, false, ALWAYS, 0, NULL, host_check },
	{ "user namespaces", NULL, false, HOST, 0, NULL, probe_user_namespace },
	{ "mount namespace", NULL, false, USERNS, CLONE_NEWNS, look_namespace, NULL },
	{ "PID namespace", NULL, false, USERNS, CLONE_NEWPID, look_namespace, NULL },
	{ "network namespace", NULL, false, USERNS, CLONE_NEWNET, look_namespace, NULL },
	{ "IPC namespace", NULL, false, USERNS, CLONE_NEWIPC, look_namespace, NULL },
	{ "UTS namespace", NULL, false, USERNS, CLONE_NEWUTS, look_namespace, NULL },
	{ "cgroup namespace", NULL, false, USERNS, CLONE_NEWCGROUP, look_namespace,
	  NULL },
	{ "mount API", NULL, false, USERNS, 0, NULL, probe_tmpfs },
	{ "overlayfs", NULL, false, USERNS, 0, NULL, probe_overlay },
	{ "procfs", NULL, false, USERNS, 0, NULL, probe_proc },
	{ "cgroup v2", NULL, false, ALWAYS, 0, look_cgroup, NULL },
	{ "seccomp filter", newer, false, ALWAYS, SECCOMP_RET_ERRNO, look_seccomp, NULL },
	{ "seccomp notification", newer, false, ALWAYS, SECCOMP_RET_USER_NOTIF,
	  look_seccomp, NULL },
	{ "Landlock", LANDLOCK_REMEDY, true, ALWAYS, 0, look_landlock, NULL },
	{ "newuidmap, subuid", "apt-get install uidmap", true, ALWAYS, 0, look_subuid,
	  NULL },
	{ "stepjail-init", NULL, false, ALWAYS, 0, NULL, try_init },
	{ "root tree", NULL, false, ALWAYS, 0, look_root, NULL },
	{ "a whole jail", NULL, false, ALWAYS, 0, NULL, try_jail },
};
#define ROW_COUNT (COUNT(rows))

/* may it be missing, by the row or by an option that does without it? What is there, and
 * refused, is not missing */
static bool is_optional(const struct row *row, int result)
{
	return (row->optional && result != -EPERM) ||
	       (row->look == look_cgroup && (plan.allow_missing & PART_CGROUP)) ||
	       (row->attempt == probe_proc && plan.proc == PROC_NONE);
}

static void look_for_row(const struct row *row, enum need found, struct finding *f)
{
	*f = (struct finding){ .remedy = row->remedy };

	if (row->need > found) {
		f->state = STATE_MISSING;
		f->remedy = NULL;
		(void)note(f, 0, "not tried: it takes what is missing above");
		return;
	}

	struct err e;
	int r = row->look ? row->look(row, f) : note_err(f, row->attempt(&e), &e);

	f->state = r >= 0 ? STATE_OK : is_optional(row, r) ? STATE_ABSENT : STATE_MISSING;
	if (r >= 0)
		f->remedy = NULL;
	else if (f->detail[0] == '\0')
		(void)note(f, r, strerror(-r));
}

static void print_line(const struct row *row, const struct finding *f)
{
	bool remedy = f->remedy && f->remedy[0];

	printf("%-8s %-21s %s%s%s\n", state_names[f->state], row->name, f->detail,
	       remedy ? "; remedy: " : "", remedy ? f->remedy : "");
}

static void print_json(const struct row *row, const struct finding *f, bool first)
{
	json_after(first ? "{\"name\":" : ",{\"name\":", row->name, stdout);
	json_after(",\"state\":", state_names[f->state], stdout);
	json_after(",\"detail\":", f->detail, stdout);
	json_after(",\"remedy\":", f->remedy, stdout);
	printf("}");
}

int command_check(char *const *argv, struct err *e)
{
	bool json = argv[0] && strcmp(argv[0], "--json") == 0;
	enum need found = ALWAYS;
	bool whole = true;
	int r = option_parse(&plan, argv + json, e);

	if (r < 0)
		return r;
	if (r == 1 || plan.argv)
		return err_say(e, EINVAL,
			       "check: '%.64s' is out of place: stepjail check [--json] "
			       "[options of run]",
			       r == 1 ? "--help" : plan.argv[0]);
	if (json)
		printf("{\"checks\":[");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct finding f;

		/* a probe forks, and must not carry text of ours along */
		(void)fflush(stdout);
		look_for_row(&rows[i], found, &f);
		if (f.state == STATE_OK && found < USERNS &&
		    (rows[i].attempt == host_check ||
		     rows[i].attempt == probe_user_namespace))
			found++;
		whole = whole && f.state != STATE_MISSING;
		if (json)
			print_json(&rows[i], &f, i == 0);
		else
			print_line(&rows[i], &f);
	}
	if (json)
		printf("],\"ok\":%s}\n", whole ? "true" : "false");
	return whole ? 0 : 1;
}
