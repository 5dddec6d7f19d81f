/* SPDX-License-Identifier: MIT */
/*
 * probe_proc.c - attacks by way of /proc, /sys and the cgroup files
 *
 * Files are opened for writing and never written to: outside, nothing changes.
 */
#include "tests/escape/scene.h"

/* the row's data: paths, NULL at the end */
static void open_for_writing(char **argv)
{
	(void)argv;
	for (const char *const *path = probe_self->data; *path; path++) {
		door(*path, open(*path, O_WRONLY));
		door(probe_above(*path), open(probe_above(*path), O_WRONLY));
	}
}

static const char *const settings[] = {
	"/proc/sys/kernel/core_pattern",      "/proc/sys/kernel/modprobe",
	"/proc/sys/kernel/hotplug",           "/proc/sys/vm/overcommit_memory",
	"/proc/sys/net/ipv4/ip_forward",      "/proc/sys/fs/binfmt_misc/register",
	"/proc/sys/user/max_user_namespaces", NULL,
};
static const char *const triggers[] = {
	"/proc/sysrq-trigger", "/proc/mtrr",    "/proc/irq/default_smp_affinity",
	"/proc/timer_list",    "/proc/bus/pci", NULL,
};
static const char *const sysfs[] = {
	"/sys/kernel/uevent_helper",
	"/sys/kernel/mm/transparent_hugepage/enabled",
	"/sys/kernel/debug",
	"/sys/fs/bpf",
	"/sys/block/vda/queue/scheduler",
	"/sys/module/kernel/parameters/panic",
	"/sys/power/state",
	NULL,
};
static const char *const cgroups[] = {
	"/sys/fs/cgroup/cgroup.procs",
	"/sys/fs/cgroup/cgroup.subtree_control",
	"/sys/fs/cgroup/unified/cgroup.procs",
	"/sys/fs/cgroup/pids/cgroup.procs",
	"/sys/fs/cgroup/memory/cgroup.procs",
	"/sys/fs/cgroup/memory/release_agent",
	NULL,
};
static const char *const own[] = {
	"/proc/self/mem",
	"/proc/self/oom_score_adj",
	"/proc/self/uid_map",
	"/proc/self/gid_map",
	"/proc/self/setgroups",
	"/proc/self/clear_refs",
	"/proc/self/attr/exec",
	"/proc/self/loginuid",
	"/proc/self/coredump_filter",
	"/proc/self/timens_offsets",
	NULL,
};

/* Dirty COW's way to a page that may only be read; here it is our own */
static void write_own_code(char **argv)
{
	int fd = open("/proc/self/mem", O_RDWR);
	char byte;

	(void)argv;
	door("open /proc/self/mem", fd);
	door("read code",
	     fd < 0 ? -1 : pread(fd, &byte, 1, (off_t)(uintptr_t)write_own_code));
	door("write code",
	     fd < 0 ? -1 : pwrite(fd, &byte, 1, (off_t)(uintptr_t)write_own_code));
}

/* argv: "child", or the PID of init */
static void init_files(char **argv)
{
	static const char *const files[] = { "maps", "fd/0",    "root",   "cwd",
					     "exe",  "cmdline", "status", "ns/mnt" };
	pid_t target = probe_target(probe_word(argv, 0, "a target"));

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char path[64], link[256];

		(void)snprintf(path, sizeof(path), "/proc/%d/%s", target, files[i]);
		door(path, open(path, O_RDONLY));
		if (i >= 1 && i <= 4)
			door(path, readlink(path, link, sizeof(link)));
	}
}

static void init_environment(char **argv)
{
	pid_t target = probe_target(probe_word(argv, 0, "a target"));
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", target);
	door(path, open(path, O_RDONLY));
	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", target);
	door(path, open(path, O_RDONLY));
}

static void init_memory(char **argv)
{
	pid_t target = probe_target(probe_word(argv, 0, "a target"));
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", target);
	door("read memory", open(path, O_RDONLY));
	door("write memory", open(path, O_RDWR));
	(void)snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", target);
	door("make it the first to be killed", open(path, O_WRONLY));
}

static const struct probe probes[] = {
	{ "proc-sysctl", "write sysctls: core_pattern, modprobe, binfmt_misc",
	  W(SUBSET) | W(LANDLOCK) | W(IDS), &scene_as_root, open_for_writing, 0,
	  settings },
	{ "proc-trigger", "pull the triggers of /proc: sysrq, irq, pci", W(SUBSET),
	  &scene_as_root, open_for_writing, 0, triggers },
	{ "sys-write", "write to /sys: uevent_helper, modules, power, debug", W(MOUNTS),
	  &scene_as_root, open_for_writing, 0, sysfs },
	{ "cgroup-write", "leave the cgroup, or change it, by cgroupfs", W(MOUNTS),
	  &scene_as_root, open_for_writing, 0, cgroups },
	{ "proc-self-write", "write to one's own /proc: memory, oom score, maps of ids",
	  W(LANDLOCK) | W(PROC_READ_ONLY), NULL, open_for_writing, 0, own },
	{ "proc-self-mem", "write to read-only pages by /proc/self/mem",
	  W(LANDLOCK) | W(PROC_READ_ONLY), NULL, write_own_code, 0, NULL },
	{ "init-files", "read maps, root, fds and namespaces of init in /proc",
	  W(HIDEPID) | W(DUMPABLE), &scene_on_init, init_files, 0, NULL },
	{ "init-environment", "read the environment of init", W(HIDEPID) | W(DUMPABLE),
	  &scene_on_init, init_environment, 0, NULL },
	{ "init-memory", "read or write the memory of init by /proc",
	  W(HIDEPID) | W(DUMPABLE) | W(LANDLOCK), &scene_on_init, init_memory, 0, NULL },
};

AREA(proc, "/proc and /sys", probes);
