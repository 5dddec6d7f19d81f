/* SPDX-License-Identifier: MIT */
/*
 * probe_right.c - capabilities, user and group ids
 */
#include "tests/escape/scene.h"

#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/resource.h>
#include <sched.h>

static void held_capabilities(char **argv)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2] = { { 0 } };
	bool any;

	(void)argv;
	if (syscall(SYS_capget, &header, now) < 0)
		probe_lacks("capget");
	any = now[0].effective || now[1].effective;
	door_word("effective", any, "empty");
	any = now[0].permitted || now[1].permitted;
	door_word("permitted", any, "empty");
	any = now[0].inheritable || now[1].inheritable;
	door_word("inheritable", any, "empty");
	any = false;
	for (unsigned long cap = 0; cap < 64; cap++)
		any = any || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1;
	door_word("ambient", any, "empty");
}

static void bounding(char **argv)
{
	int count = 0;

	(void)argv;
	for (unsigned long cap = 0; cap < 64; cap++)
		count += prctl(PR_CAPBSET_READ, cap) == 1;
	door_word("bounding", count > 0, "empty");
}

static void raise_capabilities(char **argv)
{
	struct __user_cap_header_struct header = { .version =
							   _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct now[2] = { { 0 } }, sets[2] = { { 0 } };

	(void)argv;
	(void)syscall(SYS_capget, &header, now);
	for (int i = 0; i < 2; i++) {
		uint32_t all = now[i].permitted ? now[i].permitted : ~0U;

		sets[i] = (struct __user_cap_data_struct){ all, all, all };
	}
	door("capset", syscall(SYS_capset, &header, sets));
	door("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_ADMIN, 0, 0));
}

static void securebits(char **argv)
{
	(void)argv;
	door("keep capabilities", prctl(PR_SET_KEEPCAPS, 1));
	door("securebits", prctl(PR_SET_SECUREBITS, SECBIT_NOROOT));
}

static void become_user(char **argv)
{
	(void)argv;
	door("setuid", syscall(SYS_setuid, 0));
	door("setresuid", syscall(SYS_setresuid, 0, 0, 0));
	door("setreuid", syscall(SYS_setreuid, 0, 0));
	errno = EPERM;
	/* says what it was, or fails by the filter: never 0 for anybody but root */
	door("setfsuid",
	     syscall(SYS_setfsuid, 0) == 0 && syscall(SYS_setfsuid, 0) == 0 ? 0 : -1);
}

static void become_group(char **argv)
{
	gid_t none[1] = { 0 };

	(void)argv;
	door("setgid", syscall(SYS_setgid, 0));
	door("setresgid", syscall(SYS_setresgid, 0, 0, 0));
	door("setregid", syscall(SYS_setregid, 0, 0));
	door("setgroups", syscall(SYS_setgroups, 1, none));
}

static void give_away(char **argv)
{
	int fd;

	if (chdir(probe_word(argv, 0, "a folder")) < 0)
		probe_lacks("the folder");
	fd = open("mine", O_CREAT | O_WRONLY, 0644);
	if (fd < 0)
		probe_lacks("a file of its own");
	door("chown", chown("mine", 1, 1));
	door("fchown", fchown(fd, 2, 2));
	door("chown a file of others", chown("/", geteuid(), getegid()));
}

/* a wish for more than others get */
static void priority(char **argv)
{
	struct sched_param first = { .sched_priority = 1 };

	(void)argv;
	door("nice", setpriority(PRIO_PROCESS, 0, -20));
	door("real time", syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &first));
	door("input and output", syscall(SYS_ioprio_set, 1, 0, 1 << 13));
}

static const struct probe probes[] = {
	{ "caps-held", "use a capability that was left", W(CAPS) | W(USERS),
	  &scene_namespaces, held_capabilities, 0, NULL },
	{ "caps-bounding", "find something left in the bounding set", W(CAPS), NULL,
	  bounding, 0, NULL },
	{ "caps-raise", "raise capabilities: capset, ambient", W(SECCOMP) | W(CAPS),
	  &scene_namespaces, raise_capabilities, 0, NULL },
	{ "caps-securebits", "keep capabilities for later, change securebits",
	  W(SECCOMP) | W(CAPS), &scene_namespaces, securebits, 0, NULL },
	{ "uid-zero", "become user 0", W(SECCOMP) | W(CAPS) | W(USERS), &scene_namespaces,
	  become_user, 0, NULL },
	{ "gid-zero", "become group 0, or join groups", W(SECCOMP) | W(CAPS) | W(USERS),
	  &scene_namespaces, become_group, 0, NULL },
	{ "chown", "give files to other users", W(CAPS) | W(USERS), &scene_user_outside,
	  give_away, 0, NULL },
	{ "priority", "raise one's priority: nice, real time, input and output",
	  W(SECCOMP) | W(CAPS) | W(PRIORITY), &scene_as_root, priority, 0, NULL },
};

AREA(right, "capabilities and ids", probes);
