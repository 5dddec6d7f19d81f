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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/io.h"
#include "jail/cgroup.h"
#include "jail/command.h"
#include "jail/json.h"
#include "jail/landlock.h"
#include "jail/probe.h"
#include "jail/shipped.h"
#include "jail/sys.h"

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

struct row {
	const char *name;
	const char *remedy;
	bool optional;
	bool in_userns; /* can only be tried in a user namespace */
	/* the row's own argument, where one function serves several rows */
	unsigned long arg;
	int (*look)(const struct row *row, struct finding *f);
};

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

/* which of the known switches refuses user namespaces, in words; NULL if none does */
static const char *userns_switch(void)
{
	static const struct {
		const char *file;
		char refusing;
		const char *remedy;
	} switches[] = {
		{ "/proc/sys/user/max_user_namespaces", '0',
		  "sysctl -w user.max_user_namespaces=10000" },
		{ "/proc/sys/kernel/unprivileged_userns_clone", '0',
		  "sysctl -w kernel.unprivileged_userns_clone=1" },
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1',
		  "give stepjail an AppArmor profile with 'userns,', or sysctl -w "
		  "kernel.apparmor_restrict_unprivileged_userns=0" },
	};

	for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		char text[32];

		if (io_read_file_at(AT_FDCWD, switches[i].file, text, sizeof(text)) > 0 &&
		    text[0] == switches[i].refusing && text[1] == '\n')
			return switches[i].remedy;
	}
	return NULL;
}

static int look_user_namespace(const struct row *row, struct finding *f)
{
	int r = probe_user_namespace();
	const char *remedy = r < 0 ? userns_switch() : NULL;

	(void)row;
	if (remedy)
		f->remedy = remedy;
	return r;
}

static int look_namespace(const struct row *row, struct finding *f)
{
	(void)f;
	return probe_namespace(row->arg);
}

static int look_mount_api(const struct row *row, struct finding *f)
{
	(void)row;
	(void)f;
	return probe_mount("tmpfs");
}

static int look_overlay(const struct row *row, struct finding *f)
{
	(void)row;
	(void)f;
	return probe_mount("overlay");
}

static int look_proc(const struct row *row, struct finding *f)
{
	(void)row;
	(void)f;
	return probe_mount("proc");
}

static int look_cgroup(const struct row *row, struct finding *f)
{
	char where[128];
	struct err e;
	int base = -1;
	int r = cgroup_find(&base, false, where, sizeof(where), &e);

	(void)row;
	io_close_fd(&base);
	if (r < 0) {
		f->remedy = NULL; /* the line has it */
		return note(f, r, e.text);
	}
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
	int abi = landlock_abi();

	(void)row;
	if (abi == 0)
		return -ENOSYS;
	(void)snprintf(f->detail, sizeof(f->detail), "ABI %d", abi);
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

static int look_init(const struct row *row, struct finding *f)
{
	struct err e;
	int fd = shipped_init(&e);

	(void)row;
	if (fd < 0)
		return note(f, fd, e.text);
	(void)close(fd);
	return 0;
}

static int look_root(const struct row *row, struct finding *f)
{
	char path[4096];
	struct err e;
	int r = shipped_root("core", path, sizeof(path), &e);

	(void)row;
	return note(f, r, r < 0 ? e.text : path);
}

static int look_jail(const struct row *row, struct finding *f)
{
	struct err e;
	int r = probe_jail(&e);

	(void)row;
	return r < 0 ? note(f, r, e.text) : 0;
}

static const char newer[] = "boot a newer kernel";

static const struct row rows[] = {
	{ "kernel", "boot Linux 5.14 or newer", false, false, 0, look_kernel },
	{ "user namespaces",
	  "allow them: user.max_user_namespaces, and what the host's AppArmor, SELinux "
	  "or "
	  "container engine adds to it",
	  false, false, 0, look_user_namespace },
	{ "mount namespace", newer, false, true, CLONE_NEWNS, look_namespace },
	{ "PID namespace", newer, false, true, CLONE_NEWPID, look_namespace },
	{ "network namespace", newer, false, true, CLONE_NEWNET, look_namespace },
	{ "IPC namespace", newer, false, true, CLONE_NEWIPC, look_namespace },
	{ "UTS namespace", newer, false, true, CLONE_NEWUTS, look_namespace },
	{ "cgroup namespace", newer, false, true, CLONE_NEWCGROUP, look_namespace },
	{ "mount API", newer, false, true, 0, look_mount_api },
	{ "overlayfs", "modprobe overlay", false, true, 0, look_overlay },
	{ "procfs", "unmask /proc on the host, or use --proc none", false, true, 0,
	  look_proc },
	{ "cgroup v2", "", false, false, 0, look_cgroup },
	{ "seccomp filter", newer, false, false, SECCOMP_RET_ERRNO, look_seccomp },
	{ "seccomp notification", newer, true, false, SECCOMP_RET_USER_NOTIF,
	  look_seccomp },
	{ "Landlock", LANDLOCK_REMEDY, true, false, 0, look_landlock },
	{ "newuidmap, subuid", "apt-get install uidmap", true, false, 0, look_subuid },
	{ "stepjail-init", "make, or make install", false, false, 0, look_init },
	{ "root tree core", "make rootfs", false, false, 0, look_root },
	{ "a whole jail", "mend the rows above", false, false, 0, look_jail },
};
#define ROW_COUNT (sizeof(rows) / sizeof(rows[0]))

static void look(const struct row *row, bool userns, struct finding *f)
{
	*f = (struct finding){ .remedy = row->remedy };

	if (row->in_userns && !userns) {
		f->state = STATE_MISSING;
		f->remedy = NULL;
		(void)note(f, 0, "not tried: it takes a user namespace, see above");
		return;
	}

	int r = row->look(row, f);

	f->state = r >= 0 ? STATE_OK : row->optional ? STATE_ABSENT : STATE_MISSING;
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
	printf("%s{\"name\":", first ? "" : ",");
	json_string(stdout, row->name);
	printf(",\"state\":\"%s\",\"detail\":", state_names[f->state]);
	json_string(stdout, f->detail);
	printf(",\"remedy\":");
	json_string(stdout, f->remedy);
	printf("}");
}

int command_check(char *const *argv, struct err *e)
{
	bool json = argv[0] && strcmp(argv[0], "--json") == 0;
	bool whole = true, userns = false;

	if (argv[0] && (!json || argv[1]))
		return err_say(e, EINVAL,
			       "check: '%.64s' is not an option; there is --json",
			       argv[json ? 1 : 0]);
	if (json)
		printf("{\"checks\":[");
	for (size_t i = 0; i < ROW_COUNT; i++) {
		struct finding f;

		/* a probe forks, and must not carry text of ours along */
		(void)fflush(stdout);
		look(&rows[i], userns, &f);
		if (rows[i].look == look_user_namespace)
			userns = f.state == STATE_OK;
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
