/* SPDX-License-Identifier: MIT */
/*
 * boot.c - what a guest's PID 1 does before and beside its request: see boot.h
 */
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "jail/vm/guest/boot.h"

#define OWN_ADDRESS 0x0a00020f /* 10.0.2.15 */

void boot_fail(const char *what, const char *which)
{
	(void)dprintf(2, "stepjail-vm-init: %s %s: %s\n", what, which, strerror(errno));
	(void)reboot(RB_AUTOBOOT);
	_exit(1);
}

/* fds 0 to 2 are the console: the kernel has none to give, as its archive has no nodes */
void boot_console(void)
{
	(void)mknod("/dev/console", S_IFCHR | 0600, makedev(5, 1));

	int fd = open("/dev/console", O_RDWR);

	for (int i = 0; i < 3; i++)
		if (fd != i && dup2(fd, i) < 0)
			boot_fail("open", "/dev/console");
	if (fd > 2)
		(void)close(fd);
}

void boot_mount(const char *type, const char *from, const char *at, unsigned long flags,
		const char *options)
{
	(void)mkdir(at, 0755);
	if (mount(from, at, type, flags, options) < 0)
		boot_fail("mount", at);
}

void boot_write(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		boot_fail("write", path);
	(void)close(fd);
}

/* pivot_root(2) refuses the kernel's initial root: a bind of it on top is as any other */
static void leave_initial_root(void)
{
	if (mount("/", "/mnt", NULL, MS_BIND, NULL) < 0 || chdir("/mnt") < 0 ||
	    mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 || chdir("/") < 0)
		boot_fail("move", "/");
}

static void load_modules(void)
{
	static char names[4096];
	int list = open("/modules/list", O_RDONLY | O_CLOEXEC);

	if (list < 0 || read(list, names, sizeof(names) - 1) <= 0)
		boot_fail("read", "/modules/list");
	(void)close(list);
	for (char *path = strtok(names, "\n"); path; path = strtok(NULL, "\n")) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		if (fd < 0 ||
		    (syscall(SYS_finit_module, fd, "", 0) < 0 && errno != EEXIST))
			boot_fail("load", path);
		(void)close(fd);
	}
}

void boot_mount_all(void)
{
	const unsigned long shut = MS_NOSUID | MS_NODEV | MS_NOEXEC;

	leave_initial_root();
	boot_mount("proc", "proc", "/proc", shut, NULL);
	boot_mount("sysfs", "sysfs", "/sys", shut, NULL);
	boot_mount("devtmpfs", "devtmpfs", "/dev", MS_NOSUID, NULL);
	boot_mount("tmpfs", "tmpfs", "/dev/shm", shut, "mode=1777");
	boot_mount("tmpfs", "tmpfs", "/tmp", MS_NOSUID | MS_NODEV, "mode=1777");
	boot_mount("tmpfs", "tmpfs", "/run", MS_NOSUID | MS_NODEV, "mode=755");
	boot_mount("cgroup2", "cgroup2", "/sys/fs/cgroup", shut, "nsdelegate");
	boot_write("/sys/fs/cgroup/cgroup.subtree_control",
		   "+cpu +memory +pids +io +cpuset", 0644);
	load_modules();
}

/* QEMU's own network, on which the host's proxy is: see egress.c */
void boot_network(void)
{
	struct ifreq eth0 = { .ifr_name = "eth0" };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*(struct sockaddr_in *)&eth0.ifr_addr =
		(struct sockaddr_in){ .sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(OWN_ADDRESS) };
	if (fd < 0 || ioctl(fd, SIOCSIFADDR, &eth0) < 0)
		boot_fail("set the address of", eth0.ifr_name);
	eth0.ifr_flags = IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &eth0) < 0)
		boot_fail("start", eth0.ifr_name);
	(void)close(fd);
}
