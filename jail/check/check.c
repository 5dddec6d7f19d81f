/* SPDX-License-Identifier: MIT */
/*
 * check.c - stepjail check: what this host has and lacks for a jail
 *
 * Theory of operation
 *   Each row tries the thing itself, in a child process where the try changes something,
 *   and says what failed and what mends it in the words of run. The last row starts a
 *   whole jail, as far as the exec of a program that does not exist.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "init/io.h"
#include "jail/base/command.h"
#include "jail/base/host.h"
#include "jail/walls/landlock.h"
#include "jail/plan/option.h"
#include "jail/check/probe.h"
#include "jail/launch/shipped.h"
#include "jail/vm/take.h"
#include "jail/watch/outcome.h"
#include "jail/walls/seccomp/denied_without.h"

enum state { STATE_OK, STATE_MISSING, STATE_ABSENT };

static const char *const state_names[] = {
	[STATE_OK] = "ok",
	[STATE_MISSING] = "missing",
	[STATE_ABSENT] = "absent", /* of use if it were there; run works without */
};

/* what must have been found before a row can be tried */
enum need { ALWAYS, HOST, USERNS };

struct row {
	const char *name;
	/* Return: 0, @told->text being what is there, or -errno, the text being what
	 * failed and what mends it. NULL: the namespaces are all that is tried */
	int (*look)(struct err *told);
	enum need need;      /* but for ALWAYS: in a child, see probe_in_child() */
	unsigned long flags; /* its namespaces */
};

/* what the options after check say, or would say to run */
static struct plan plan;

static int look_kernel(struct err *told)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (uname(&name) < 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		return err_say(told, EINVAL, "uname fails");
	if (major < 5 || (major == 5 && minor < 14))
		return err_say(told, ENOSYS, "%s: boot Linux 5.14 or newer",
			       name.release);
	return err_say(told, 0, "%s", name.release);
}

static int look_cgroup(struct err *told)
{
	char where[128];
	cleanup_fd int base = -1;
	int r = cgroup_find(NULL, &base, where, sizeof(where), told);

	/* behind it is advice, of which one part has been taken */
	if (r < 0 && (plan.allow_missing & PART_CGROUP)) {
		told->text[strcspn(told->text, ";")] = '\0';
		return err_within(
			told,
			"allowed by allow-missing cgroup, \"not_enforced\" in a report has what stands in: ");
	}
	return r < 0 ? r : err_say(told, 0, "cpu, memory and pids in %s", where);
}

static int look_seccomp(struct err *told)
{
	unsigned int action = SECCOMP_RET_USER_NOTIF;

	if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0UL, &action) < 0)
		return err_say(told, errno, "%s: boot a newer kernel", strerror(errno));
	return 0;
}

static int look_landlock(struct err *told)
{
	int abi = landlock_abi(told);

	if (abi < 0)
		return abi;
	if (abi == 0)
		return err_say(told, ENOSYS, "this kernel has none: " LANDLOCK_REMEDY);
	return err_say(
		told, 0, "ABI %d%s", abi,
		denied_without_lacks(true, abi, NULL)
			? ": cannot refuse to truncate, so seccomp refuses truncate and O_TRUNC without O_WRONLY or O_RDWR"
			: "");
}

static int look_init(struct err *told)
{
	char path[PATH_MAX];
	cleanup_fd int fd = shipped_program("stepjail-init", path, sizeof(path), told);

	return fd;
}

/* it has a dynamic loader, which may miss a library; without words it ends at once */
static int look_proxy(struct err *told)
{
	char path[PATH_MAX], said[256];
	cleanup_fd int fd = shipped_program("stepjail-egress", path, sizeof(path), told);
	int status =
		fd < 0 ? 0 : cgroup_ask((char *[]){ path, NULL }, 2, said, sizeof(said));

	return fd < 0 || status == STATUS_FAILED << 8
		       ? fd
		       : err_say(told, ELIBACC, "it does not start: %s", said);
}

static int look_root(struct err *told)
{
	char path[PATH_MAX];
	int r = shipped_root(plan.rootfs, path, sizeof(path), told);

	return r < 0 ? r : err_say(told, 0, "%.500s", path);
}

static int look_jail(struct err *told)
{
	return probe_jail(&plan, told);
}

#define MOUNTS (CLONE_NEWNS | CLONE_NEWPID)

static const struct row rows[] = {
	{ "kernel", look_kernel, ALWAYS, 0 },
	{ "system calls, /proc", host_check, ALWAYS, 0 },
	/* with any namespace beside it, the clone itself asks for a capability */
	{ "user namespaces", NULL, HOST, CLONE_NEWUTS },
	{ "mount namespace", NULL, USERNS, CLONE_NEWNS },
	{ "PID namespace", NULL, USERNS, CLONE_NEWPID },
	{ "network namespace", NULL, USERNS, CLONE_NEWNET },
	{ "IPC namespace", NULL, USERNS, CLONE_NEWIPC },
	{ "cgroup namespace", NULL, USERNS, CLONE_NEWCGROUP },
	{ "mount API", probe_tmpfs, USERNS, MOUNTS },
	{ "overlayfs", probe_overlay, USERNS, MOUNTS },
	{ "procfs", probe_proc, USERNS, MOUNTS },
	{ "cgroup v2", look_cgroup, ALWAYS, 0 },
	{ "seccomp notification", look_seccomp, ALWAYS, 0 },
	{ "Landlock", look_landlock, ALWAYS, 0 },
	{ "stepjail-init", look_init, ALWAYS, 0 },
	{ "proxy of --allow-host", look_proxy, ALWAYS, 0 },
	{ "root tree", look_root, ALWAYS, 0 },
	{ "a whole jail", look_jail, ALWAYS, 0 },
};

/* May this be missing? A thing that is there and refused is not missing. */
static bool is_optional(const struct row *row, int result)
{
	return (row->look == look_landlock && result != -EPERM && !plan.host_count) ||
	       (row->look == look_proxy && !plan.host_count) ||
	       (row->look == look_cgroup && (plan.allow_missing & PART_CGROUP)) ||
	       (row->look == probe_proc && plan.proc == PROC_NONE);
}

static enum state look_for_row(const struct row *row, enum need found, struct err *told)
{
	int r;

	*told = (struct err){ 0 };
	if (row->need > found) {
		(void)err_say(told, 0, "not tried: needs what is missing above");
		return STATE_MISSING;
	}
	r = row->need == ALWAYS ? row->look(told)
				: probe_in_child(row->flags, row->look, told);
	if (r >= 0)
		return STATE_OK;
	host_hint(told);
	return is_optional(row, r) ? STATE_ABSENT : STATE_MISSING;
}

static void print_row(const char *name, enum state state, const char *text, bool json,
		      bool first)
{
	if (!json) {
		printf("%-8s %-21s %s\n", state_names[state], name, text);
		return;
	}
	json_after(first ? "{\"name\":" : ",{\"name\":", name, stdout);
	json_after(",\"state\":", state_names[state], stdout);
	json_after(",\"detail\":", text, stdout);
	printf("}");
}

/* all words but --json into the plan, which points to them until the process ends */
static int parse(char *const *argv, bool *json, struct err *e)
{
	static char **words;
	size_t count = 0;

	while (argv[count])
		count++;
	free(words);
	words = calloc(count + 1, sizeof(*words));
	if (!words)
		return err_set(e, ENOMEM, "check");
	for (size_t i = 0, n = 0; i < count; i++)
		if (strcmp(argv[i], "--json") == 0)
			*json = true;
		else
			words[n++] = argv[i];
	return option_parse(&plan, words, e);
}

int command_check(char *const *argv, struct err *e)
{
	static struct err told[COUNT(rows)];
	enum need found = ALWAYS;
	bool whole = true, json = false;
	int r = parse(argv, &json, e);

	if (r < 0)
		return r;
	if (r == 1)
		return option_help(
			"check [--json] [options of run or serve]", true,
			"  0 jails with these options work on this host; 1 they do not\n"
			"  125 an option is wrong\n");
	if (plan.argv)
		return err_say(
			e, EINVAL,
			"check: '%.64s' is not expected here: stepjail check [--json] [options]",
			plan.argv[0]);
	r = vm_take("check", &plan, json ? argv : NULL, e);
	if (r < 0)
		return r;
	if (json)
		printf("{\"checks\":[");
	for (const struct row *row = rows; row < rows + COUNT(rows); row++) {
		struct err *said = &told[row - rows];
		enum state state;

		/* a probe forks, and must not carry unwritten text along */
		(void)fflush(stdout);
		state = look_for_row(row, found, said);
		for (size_t i = 0; state == STATE_MISSING && rows + i < row; i++)
			if (said->errnum && strcmp(told[i].text, said->text) == 0)
				(void)err_say(said, 0, "for the same cause as: %s",
					      rows[i].name);
		/* the rows that others need come in the order of enum need */
		if (state == STATE_OK && (row->look == host_check || row->need == HOST))
			found++;
		whole = whole && state != STATE_MISSING;
		print_row(row->name, state, said->text, json, row == rows);
	}
	if (json)
		printf("],\"ok\":%s}\n", whole ? "true" : "false");
	return whole ? 0 : 1;
}
