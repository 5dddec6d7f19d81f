/* SPDX-License-Identifier: MIT */
/*
 * walls.c - the program of a jail that looks whether all its walls stand
 *
 * usage: walls [NAMESPACE...]	the caller's own, as readlink(2) names them: "net:[...]"
 * Prints one line for each wall that does not stand, and exits 1; "whole" and 0 if all do.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/capability.h>

static int fallen;

static void wall(int stands, const char *what)
{
	if (stands)
		return;
	(void)printf("does not stand: %s (errno %d)\n", what, errno);
	fallen = 1;
}

static int refused(long result)
{
	return result < 0 && (errno == EPERM || errno == EROFS || errno == EACCES);
}

static void look_at_rights(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct sets[2] = { { ~0U, ~0U, ~0U }, { ~0U, ~0U, ~0U } };
	uid_t ids[3] = { 0 };
	gid_t groups[64];
	int caps = 0;

	wall(syscall(SYS_capget, &header, sets) == 0, "capget");
	for (int i = 0; i < 2; i++)
		wall(!(sets[i].effective | sets[i].permitted | sets[i].inheritable),
		     "capability sets are empty");
	for (int cap = 0, r; (r = prctl(PR_CAPBSET_READ, cap, 0, 0, 0)) >= 0; cap++)
		caps += r;
	wall(caps == 0, "the bounding set is empty");
	wall(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "no_new_privs");
	wall(prctl(PR_GET_SECCOMP, 0, 0, 0, 0) == 2, "seccomp filters");
	wall((prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) & 0xaf) == 0xaf, "securebits");
	wall(getresuid(ids, ids + 1, ids + 2) == 0 && ids[0] == 1000 && ids[1] == 1000 &&
		     ids[2] == 1000,
	     "user 1000");
	/* an ordinary user's own groups stay, and have no number here but for the one */
	for (int i = getgroups(64, groups); i-- > 0;)
		wall(groups[i] == 65534 || groups[i] == getgid(), "no group of the host");
}

static void look_at_calls(void)
{
	wall(refused(unshare(CLONE_NEWUSER)), "unshare");
	wall(refused(mount("none", "/tmp", "tmpfs", 0, NULL)), "mount");
	wall(refused(syscall(430 /* fsopen */, "tmpfs", 0)), "fsopen");
	wall(refused(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0)), "ptrace");
	wall(refused(syscall(SYS_keyctl, 0, -3, 0)), "keyctl");
	wall(refused(syscall(SYS_bpf, 0, NULL, 0)), "bpf");
	wall(refused(syscall(425 /* io_uring_setup */, 1, NULL)), "io_uring");
	wall(refused(socket(AF_NETLINK, SOCK_RAW, 0)), "netlink");
	wall(refused(chroot("/tmp")), "chroot");
	wall(refused(sethostname("x", 1)), "sethostname");
}

static void look_at_files(void)
{
	struct statvfs root;
	struct stat st;
	int fds = 0;

	wall(statvfs("/", &root) == 0 && (root.f_flag & ST_RDONLY) &&
		     (root.f_flag & ST_NOSUID) && (root.f_flag & ST_NODEV),
	     "the root is read-only, nosuid and nodev");
	wall(refused(mkdir("/x", 0755)), "no folder in the root");
	wall(refused(mknod("/tmp/null", S_IFCHR | 0666, 0x103)), "no device node");
	wall(stat("/proc/sys", &st) < 0 && stat("/proc/kcore", &st) < 0, "subset=pid");
	wall(stat("/sys/kernel", &st) < 0, "no sysfs");
	wall(stat("/srv", &st) < 0 && stat("/root", &st) < 0, "no folder of the host");
	wall(open("/proc/1/environ", O_RDONLY | O_CLOEXEC) < 0, "init is closed");
	for (int fd = 3; fd < 4096; fd++)
		fds += fcntl(fd, F_GETFD) >= 0;
	wall(fds == 0, "no fd beyond stderr");
}

static void look_at_namespaces(char **theirs)
{
	struct utsname name;

	wall(getpid() == 2 && getppid() == 1, "a PID namespace, and init in it");
	wall(getsid(0) == getpid(), "a session");
	wall(uname(&name) == 0 && strcmp(name.nodename, "stepjail") == 0, "a host name");
	for (; *theirs; theirs++) {
		char path[64], ours[64] = "";

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%.*s",
			       (int)strcspn(*theirs, ":"), *theirs);
		wall(readlink(path, ours, sizeof(ours) - 1) < 0 ||
			     strcmp(ours, *theirs) != 0,
		     *theirs);
	}
}

int main(int argc, char **argv)
{
	(void)argc;
	look_at_rights();
	look_at_calls();
	look_at_files();
	look_at_namespaces(argv + 1);
	if (!fallen)
		(void)puts("whole");
	return fallen;
}
