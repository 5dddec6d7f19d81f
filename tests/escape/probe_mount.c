/* SPDX-License-Identifier: MIT */
/*
 * probe_mount.c - attacks by mounting, on the old API and on the new
 */
#include "tests/escape/scene.h"

#include <sys/mount.h>

static void mount_new(char **argv)
{
	(void)argv;
	probe_spares_the_machine();
	door("tmpfs", mount("none", "/tmp", "tmpfs", 0, NULL));
	door("proc", mount("none", "/tmp", "proc", 0, NULL));
	door("sysfs", mount("none", "/tmp", "sysfs", 0, NULL));
	door("mqueue", mount("none", "/tmp", "mqueue", 0, NULL));
}

static void mount_bind(char **argv)
{
	(void)argv;
	probe_spares_the_machine();
	door("bind", mount("/", "/tmp", NULL, MS_BIND, NULL));
	door("bind, recursive", mount("/", "/tmp", NULL, MS_BIND | MS_REC, NULL));
	door("move", mount("/tmp", "/work", NULL, MS_MOVE, NULL));
}

static void mount_remount(char **argv)
{
	(void)argv;
	probe_spares_the_machine();
	/* where it may be had: something of our own to remount */
	(void)mount("none", "/tmp", "tmpfs", MS_RDONLY | MS_NOEXEC, NULL);
	door("remount /tmp", mount(NULL, "/tmp", NULL, MS_REMOUNT | MS_BIND, NULL));
	door("remount /", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	door("propagation", mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
}

static void unmount(char **argv)
{
	(void)argv;
	probe_spares_the_machine();
	(void)mount("none", "/tmp", "tmpfs", 0, NULL);
	door("lazily", umount2("/tmp", MNT_DETACH));
	door("/proc", umount2("/proc", 0));
	door("/dev/null", umount2("/dev/null", MNT_DETACH));
}

/* CVE-2023-2640, CVE-2023-0386: an overlay whose layers are ours */
static void mount_overlay(char **argv)
{
	(void)argv;
	probe_spares_the_machine();
	(void)mount("none", "/tmp", "tmpfs", 0, NULL);
	(void)mkdir("/tmp/l", 0755);
	(void)mkdir("/tmp/u", 0755);
	(void)mkdir("/tmp/w", 0755);
	door("overlay", mount("none", "/tmp", "overlay", 0,
			      "lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w"));
}

static void api_context(char **argv)
{
	long context, fs;

	(void)argv;
	probe_spares_the_machine();
	context = syscall(SYS_fsopen, "tmpfs", 0);
	door("fsopen", context);
	door("fsconfig",
	     syscall(SYS_fsconfig, context, 6 /* CMD_CREATE */, NULL, NULL, 0));
	fs = syscall(SYS_fsmount, context, 0, 0);
	door("fsmount", fs);
	door("move_mount", syscall(SYS_move_mount, fs, "", AT_FDCWD, "/tmp", 4));
	door("fspick", syscall(SYS_fspick, AT_FDCWD, "/tmp", 0));
}

static void api_flags(char **argv)
{
	const uint64_t attr[4] = { 0, 1 /* MOUNT_ATTR_RDONLY */, 0, 0 };

	(void)argv;
	probe_spares_the_machine();
	(void)mount("none", "/tmp", "tmpfs", MS_RDONLY, NULL);
	door("mount_setattr /tmp", syscall(442, AT_FDCWD, "/tmp", 0, attr, sizeof(attr)));
	door("mount_setattr /", syscall(442, AT_FDCWD, "/", 0, attr, sizeof(attr)));
}

/* what lies under a mount: the tree below /dev, or the host's below the jail's */
static void api_tree(char **argv)
{
	(void)argv;
	probe_spares_the_machine();
	/* recursive: in a user namespace, what lies under a mount may not be uncovered */
	door("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1 | AT_RECURSIVE));
	door("of /proc", syscall(SYS_open_tree, AT_FDCWD, "/proc", 1 | AT_RECURSIVE));
}

/* CVE-2022-0185: a length that wrapped, in the legacy options of fsconfig */
static void api_legacy(char **argv)
{
	char value[256];
	long context;
	int said = 0;

	(void)argv;
	probe_spares_the_machine();
	memset(value, 'A', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	context = syscall(SYS_fsopen, "cgroup2", 0);
	if (context < 0)
		context = syscall(SYS_fsopen, "tmpfs", 0);
	door_reach("fsopen of a legacy type", context);
	for (int i = 0; context >= 0 && i < 20; i++)
		said += syscall(SYS_fsconfig, context, 1, value, value, 0) == 0;
	door_reach("fsconfig", context < 0 ? -1 : said);
}

static void pivot(char **argv)
{
	(void)argv;
	probe_spares_the_machine();
	/* what pivot_root needs, where it may be had */
	(void)mount("none", "/tmp", "tmpfs", 0, NULL);
	(void)!chdir("/tmp");
	(void)mkdir("old", 0755);
	door("pivot_root on itself", syscall(SYS_pivot_root, ".", "."));
	door("pivot_root", syscall(SYS_pivot_root, ".", "old"));
	door("chroot", chroot("."));
}

#define ROW(name, text, act)                                                             \
	{                                                                                \
		name, text, W(SECCOMP) | W(CAPS), &scene_namespaces, act, 0, NULL        \
	}

static const struct probe probes[] = {
	ROW("mount-new", "mount a new tmpfs, proc, sysfs or mqueue", mount_new),
	ROW("mount-bind", "bind or move mounts", mount_bind),
	ROW("mount-remount", "remount without the flags that hold", mount_remount),
	ROW("mount-umount", "unmount what covers something", unmount),
	ROW("mount-overlay", "mount an overlay (CVE-2023-0386, CVE-2023-2640)",
	    mount_overlay),
	ROW("mount-api", "the new mount API: fsopen to move_mount", api_context),
	ROW("mount-setattr", "change mount flags by mount_setattr", api_flags),
	ROW("mount-tree", "clone the mount tree by open_tree", api_tree),
	ROW("mount-legacy", "options of a legacy file system (CVE-2022-0185)",
	    api_legacy),
	ROW("mount-pivot", "pivot_root and chroot", pivot),
};

AREA(mount, "mounts", probes);
