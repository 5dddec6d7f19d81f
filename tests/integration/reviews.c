/* SPDX-License-Identifier: MIT */
/*
 * reviews.c - what made holes in other launchers, tried from inside of a jail
 *
 * usage: reviews NAME		one row of attempts[]
 * Prints one line for each door that opens, and exits 1; "closed" and 0 if none does. Run by
 * test_reviews.py, in a jail, and outside of one where that is what shows that a door is
 * one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>

#define COUNT(x) (sizeof(x) / sizeof((x)[0]))

static int opened;

static void door(const char *what, long result)
{
	if (result < 0)
		return;
	(void)printf("open: %s\n", what);
	opened = 1;
}

static void open_for(const char *path, int flags)
{
	char what[300];
	int fd = open(path, flags | O_CLOEXEC | O_NOCTTY);

	(void)snprintf(what, sizeof(what), "open %s for %s", path,
		       (flags & O_ACCMODE) == O_RDONLY ? "reading" : "writing");
	door(what, fd);
	if (fd >= 0)
		(void)close(fd);
}

/* CVE-2019-5736: the file of a launcher's own program, through /proc */
static void try_executable(void)
{
	static const char *const files[] = { "/proc/self/exe", "/proc/1/exe" };

	for (size_t i = 0; i < COUNT(files); i++) {
		int fd = open(files[i], O_RDONLY | O_CLOEXEC);
		char again[64];

		open_for(files[i], O_RDWR);
		door("truncate it", truncate(files[i], 0));
		door("change its mode", chmod(files[i], 0755));
		(void)snprintf(again, sizeof(again), "/proc/self/fd/%d", fd);
		if (fd >= 0)
			open_for(again, O_WRONLY);
	}
	open_for("/proc/1/exe", O_RDONLY);
}

/* CVE-2024-21626: a folder of the host that is open, or stood in */
static void try_descriptors(void)
{
	static const char *const ways[] = { "/proc/self/cwd/..", "/proc/1/cwd",
					    "/proc/1/root", "/proc/self/root/.." };
	struct stat st, root;

	for (int fd = 0; fd < 4096; fd++)
		if (fstat(fd, &st) == 0 && (fd > 2 || S_ISDIR(st.st_mode)))
			door("a folder or file that is open", fd);
	if (stat("/", &root) < 0)
		door("no root", 0);
	for (size_t i = 0; i < COUNT(ways); i++) {
		char there[64];

		(void)snprintf(there, sizeof(there), "%s/srv", ways[i]);
		door(there, stat(there, &st));
	}
	(void)chdir("..");
	for (int i = 0; i < 64; i++)
		(void)chdir("..");
	door("above the root", stat("srv", &st));
}

/* CVE-2022-0492: a cgroup v1 hierarchy, and who is told when its cgroups are empty */
static void try_cgroup(void)
{
	door("a user and a cgroup namespace",
	     unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWCGROUP));
	(void)mkdir("/tmp/cgroup", 0755);
	door("mount cgroup", mount("none", "/tmp/cgroup", "cgroup", 0, "none,name=x"));
	door("mount cgroup2", mount("none", "/tmp/cgroup", "cgroup2", 0, NULL));
	open_for("/sys/fs/cgroup", O_RDONLY | O_DIRECTORY);
	open_for("/tmp/cgroup/release_agent", O_WRONLY);
}

/* CVE-2022-0185: fsconfig, once a user namespace gives the right to it */
static void try_fsconfig(void)
{
	int fd;

	door("a user namespace", unshare(CLONE_NEWUSER | CLONE_NEWNS));
	fd = (int)syscall(430 /* fsopen */, "tmpfs", 1);
	door("fsopen", fd);
	door("fsconfig", syscall(431, fd < 0 ? 0 : fd, 1, "source", "x", 0));
	door("fspick", syscall(433, AT_FDCWD, "/", 1));
}

/* CVE-2023-2640: an overlay of one's own, and attributes that count on the host */
static void try_overlay(void)
{
	static const char *const files[] = { "/tmp/file", "/work/file", "/", "/tmp" };
	/* cap_setuid=ep, as setcap(8) writes it */
	static const char caps[20] = { 1, 0, 0, 2, (char)0x80 };

	(void)close(open("/tmp/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
	(void)close(open("/work/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
	for (size_t i = 0; i < COUNT(files); i++) {
		door("setxattr security.capability",
		     setxattr(files[i], "security.capability", caps, sizeof(caps), 0));
		door("setxattr trusted.overlay",
		     setxattr(files[i], "trusted.overlay.opaque", "y", 1, 0));
	}
	door("a user namespace", unshare(CLONE_NEWUSER | CLONE_NEWNS));
	(void)mkdir("/tmp/up", 0755);
	(void)mkdir("/tmp/at", 0755);
	door("mount overlay", mount("none", "/tmp/at", "overlay", 0,
				    "lowerdir=/tmp,upperdir=/tmp/up,workdir=/tmp/at"));
}

/* CVE-2025-31133, CVE-2025-52565: what a replaced /dev/null or console would have
 * bared */
static void try_masked(void)
{
	static const char *const files[] = {
		"/proc/sys/kernel/core_pattern",
		"/proc/sysrq-trigger",
		"/proc/timer_list",
		"/proc/cmdline",
		"/proc/kcore",
		"/proc/keys",
	};
	struct stat st;

	for (size_t i = 0; i < COUNT(files); i++) {
		open_for(files[i], O_RDONLY);
		open_for(files[i], O_WRONLY);
	}
	if (stat("/dev/null", &st) < 0 || st.st_rdev != makedev(1, 3))
		door("another /dev/null", 0);
	open_for("/dev/console", O_RDWR);
	open_for("/dev/ptmx", O_RDWR);
	open_for("/dev/pts", O_RDONLY | O_DIRECTORY);
}

/* CVE-2025-52881: files of /proc that a launcher writes, and mounts over them */
static void try_proc_files(void)
{
	static const char *const files[] = {
		"/proc/1/uid_map",      "/proc/1/gid_map",       "/proc/1/setgroups",
		"/proc/1/attr/exec",    "/proc/1/oom_score_adj", "/proc/self/uid_map",
		"/proc/self/attr/exec",
	};
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	for (size_t i = 0; i < COUNT(files); i++) {
		int file = open(files[i], O_WRONLY | O_CLOEXEC);

		door(files[i], file < 0 ? file : write(file, "0 0 1", 5));
	}
	door("be killed last", fd < 0 ? fd : write(fd, "-1", 2));
	door("mount over /proc", mount("/tmp", "/proc", NULL, MS_BIND, NULL));
	door("a symlink in /proc", symlink("/tmp", "/proc/9"));
}

/* CVE-2017-5226: the terminal of whoever started the jail is stdin */
static void try_terminal(void)
{
	char key = 'x', paste = 3;

	door("TIOCSTI", ioctl(0, TIOCSTI, &key));
	door("TIOCSTI, high half",
	     syscall(SYS_ioctl, 0, 0xffffffff00000000UL | TIOCSTI, &key));
	door("TIOCLINUX", ioctl(0, TIOCLINUX, &paste));
	door("take the terminal", ioctl(0, TIOCSCTTY, 1));
	open_for("/dev/tty", O_RDWR);
}

/* CVE-2016-8659, CVE-2020-5291, CVE-2026-41163: the privileged half, traced or joined */
static void try_init(void)
{
	char byte = 0;
	struct iovec mine = { &byte, 1 }, theirs = { (void *)0x10000, 1 };
	int ns = open("/proc/1/ns/user", O_RDONLY | O_CLOEXEC);

	door("ptrace init", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
	door("read init's memory", process_vm_readv(1, &mine, 1, &theirs, 1, 0));
	open_for("/proc/1/mem", O_RDWR);
	open_for("/proc/1/environ", O_RDONLY);
	door("init's user namespace", ns);
	door("join it", setns(ns, CLONE_NEWUSER));
	door("a pidfd's files",
	     syscall(438 /* pidfd_getfd */, syscall(SYS_pidfd_open, 1, 0), 0, 0));
}

/* nsjail: a /proc that honours set-user-ID bits, nodes or programs; calls no filter
 * sees */
static void try_proc_mount(void)
{
	struct statvfs fs;
	unsigned long want = ST_NOSUID | ST_NODEV | ST_NOEXEC;

	door("/proc without nosuid, nodev, noexec",
	     statvfs("/proc", &fs) == 0 && (fs.f_flag & want) != want ? 0 : -1);
	door("io_uring", syscall(425 /* io_uring_setup */, 1, (char[128]){ 0 }));
}

static const struct {
	const char *name;
	void (*act)(void);
} attempts[] = {
	{ "executable", try_executable },
	{ "descriptors", try_descriptors },
	{ "cgroup", try_cgroup },
	{ "fsconfig", try_fsconfig },
	{ "overlay", try_overlay },
	{ "masked", try_masked },
	{ "proc-files", try_proc_files },
	{ "terminal", try_terminal },
	{ "init", try_init },
	{ "proc-mount", try_proc_mount },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < COUNT(attempts); i++) {
		if (strcmp(argv[1], attempts[i].name) != 0)
			continue;
		attempts[i].act();
		if (!opened)
			(void)puts("closed");
		return opened;
	}
	return 99;
}
