/* SPDX-License-Identifier: MIT */
/*
 * errnos.c - which errnos a call can plausibly fail with
 *
 * Out of the manual pages: what the state of the host or of another process can bring
 * about, and what a container's own seccomp filter answers (EPERM, ENOSYS). Left out is
 * what only a wrong argument could: EFAULT, EBADF. A call without a row gets usual[].
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/fault/fault.h"

#define ERRNOS 8

static const int usual[ERRNOS] = { EPERM, ENOMEM, EINVAL, ENOSYS };

/* an empty row: a call that cannot fail, or without which libc cannot even start */
static const struct {
	long nr;
	const char *name;
	const char
		*detail; /* pattern of fnmatch(3); NULL: any. The first row that fits */
	int errnos[ERRNOS];
} rows[] = {
	{ SYS_access, "access", NULL, { EACCES, ENOENT, EIO } },
	{ SYS_arch_prctl, "arch_prctl", NULL, { 0 } },
	{ SYS_brk, "brk", NULL, { ENOMEM } },
	{ SYS_capget, "capget", NULL, { EPERM, EINVAL, ENOSYS } },
	{ SYS_capset, "capset", NULL, { EPERM } },
	{ SYS_chdir, "chdir", NULL, { EACCES, ENOENT, EIO } },
	{ SYS_clone, "clone", NULL, { EAGAIN, ENOMEM, EPERM } },
	{ SYS_clone3,
	  "clone3",
	  NULL,
	  { EAGAIN, ENOMEM, EPERM, ENOSPC, EINVAL, ENOSYS, EUSERS } },
	{ SYS_close, "close", NULL, { EIO } },
	{ SYS_close_range, "close_range", NULL, { ENOSYS, ENOMEM, EMFILE, EINVAL } },
	{ SYS_dup2, "dup2", NULL, { EBUSY, EMFILE } },
	{ SYS_execve, "execve", NULL, { EACCES, ENOENT, ENOMEM, EPERM, ENOEXEC, EIO } },
	{ SYS_execveat,
	  "execveat",
	  NULL,
	  { EACCES, ENOENT, ENOMEM, EPERM, ENOSYS, EIO } },
	{ SYS_exit, "exit", NULL, { 0 } },
	{ SYS_exit_group, "exit_group", NULL, { 0 } },
	{ SYS_faccessat, "faccessat", NULL, { EACCES, ENOENT, EIO } },
	{ SYS_fallocate, "fallocate", NULL, { ENOSPC, EIO, EOPNOTSUPP, EFBIG, EINTR } },
	{ SYS_fchdir, "fchdir", NULL, { EACCES, EIO } },
	{ SYS_fcntl, "fcntl", "* 0x2", { EPERM } }, /* F_SETFD */
	{ SYS_fcntl, "fcntl", "* 0x3", { EPERM } }, /* F_GETFL */
	{ SYS_fcntl,
	  "fcntl",
	  "* 0x25",
	  { EAGAIN, EACCES, ENOLCK, EINVAL } }, /* F_OFD_SETLK */
	{ SYS_fcntl, "fcntl", NULL, { EMFILE, EINVAL, EPERM } },
	{ SYS_fork, "fork", NULL, { EAGAIN, ENOMEM } },
	{ SYS_fsconfig, "fsconfig", NULL, { EINVAL, ENOMEM, EPERM, EBUSY } },
	{ SYS_fsmount, "fsmount", NULL, { EPERM, ENOMEM, EMFILE, EBUSY } },
	{ SYS_fsopen, "fsopen", NULL, { ENODEV, EPERM, ENOMEM, EMFILE, ENOSYS } },
	{ SYS_fstat, "fstat", NULL, { ENOMEM, EIO } },
	{ SYS_fstatfs, "fstatfs", NULL, { EIO, ENOSYS } },
	{ SYS_ftruncate, "ftruncate", NULL, { EIO, EPERM, EINTR } },
	/* ENOENT says that the folder is gone, or its process: its end, to musl */
	{ SYS_getdents64, "getdents64", "*/tree*", { EIO } },
	{ SYS_getdents64, "getdents64", NULL, { ENOENT, EIO } },
	{ SYS_getegid, "getegid", NULL, { 0 } },
	{ SYS_geteuid, "geteuid", NULL, { 0 } },
	{ SYS_getgid, "getgid", NULL, { 0 } },
	{ SYS_getpid, "getpid", NULL, { 0 } },
	{ SYS_getppid, "getppid", NULL, { 0 } },
	{ SYS_getrandom, "getrandom", NULL, { ENOSYS, EAGAIN, EINTR } },
	{ SYS_gettid, "gettid", NULL, { 0 } },
	{ SYS_getuid, "getuid", NULL, { 0 } },
	/* SECCOMP_IOCTL_NOTIF_SEND: ENOENT says that nobody waits for it */
	{ SYS_ioctl,
	  "ioctl",
	  "*seccomp notify 0xc0182101",
	  { EINTR, EPERM, EINVAL, ENOMEM, ENOSYS } },
	{ SYS_ioctl, "ioctl", NULL, { EPERM, ENOMEM, EINVAL, EINTR, ENOENT } },
	{ SYS_kill, "kill", NULL, { EPERM } },
	{ SYS_landlock_add_rule, "landlock_add_rule", NULL, { ENOMEM, EINVAL, EPERM } },
	{ SYS_landlock_create_ruleset,
	  "landlock_create_ruleset",
	  NULL,
	  { ENOSYS, EOPNOTSUPP, ENOMEM, EPERM, EINVAL } },
	{ SYS_landlock_restrict_self,
	  "landlock_restrict_self",
	  NULL,
	  { EPERM, ENOMEM, E2BIG } },
	{ SYS_lseek, "lseek", NULL, { ESPIPE, EINVAL } },
	{ SYS_madvise, "madvise", NULL, { ENOMEM, EAGAIN } },
	{ SYS_memfd_create, "memfd_create", NULL, { EMFILE, ENOMEM, ENOSYS, EPERM } },
	{ SYS_mkdir, "mkdir", NULL, { EACCES, ENOSPC, EROFS, ENOMEM, EEXIST } },
	{ SYS_mkdirat, "mkdirat", NULL, { EACCES, ENOSPC, EROFS, ENOMEM, EEXIST } },
	{ SYS_mknod, "mknod", NULL, { EPERM, ENOSPC, EEXIST, ENOMEM } },
	{ SYS_mknodat, "mknodat", NULL, { EPERM, ENOSPC, EEXIST, ENOMEM } },
	{ SYS_mmap, "mmap", NULL, { ENOMEM, EPERM } },
	{ SYS_mount, "mount", NULL, { EPERM, EINVAL, ENOMEM, EBUSY } },
	{ SYS_mount_setattr, "mount_setattr", NULL, { EPERM, EINVAL, ENOSYS, EBUSY } },
	{ SYS_move_mount, "move_mount", NULL, { EPERM, EINVAL, ENOMEM, ENOSPC, EBUSY } },
	{ SYS_mprotect, "mprotect", NULL, { ENOMEM, EACCES } },
	{ SYS_mremap, "mremap", NULL, { ENOMEM } },
	{ SYS_munmap, "munmap", NULL, { ENOMEM } },
	{ SYS_nanosleep, "nanosleep", NULL, { EINTR } },
	{ SYS_newfstatat, "newfstatat", NULL, { EACCES, ENOENT, ENOMEM, EIO } },
	{ SYS_open, "open", NULL, { EACCES, ENOENT, EMFILE, ENFILE, ENOMEM, EIO } },
	{ SYS_open_tree,
	  "open_tree",
	  NULL,
	  { EPERM, ENOENT, EMFILE, ENOMEM, ENOSPC, EINVAL, ENOSYS } },
	{ SYS_openat, "openat", NULL, { EACCES, ENOENT, EMFILE, ENFILE, ENOMEM, EIO } },
	/* of the tree; ELOOP says that it is a symlink, and ENOTDIR no folder */
	{ SYS_openat2, "openat2", " bin*", { EACCES, ENOENT, EMFILE, EAGAIN, ENOSYS } },
	{ SYS_openat2,
	  "openat2",
	  NULL,
	  { EACCES, ENOENT, EMFILE, ELOOP, EAGAIN, ENOSYS } },
	{ SYS_personality, "personality", NULL, { EINVAL } },
	{ SYS_pidfd_open, "pidfd_open", NULL, { ESRCH, EMFILE, ENOSYS, EPERM } },
	{ SYS_pidfd_send_signal, "pidfd_send_signal", NULL, { EPERM, ESRCH, ENOSYS } },
	{ SYS_pipe2, "pipe2", NULL, { EMFILE, ENFILE } },
	{ SYS_pivot_root, "pivot_root", NULL, { EPERM, EINVAL, EBUSY } },
	{ SYS_poll, "poll", NULL, { EINTR, ENOMEM } },
	{ SYS_ppoll, "ppoll", NULL, { EINTR, ENOMEM } },
	{ SYS_prctl, "prctl", NULL, { EPERM, EINVAL, ENOSYS } },
	{ SYS_pread64, "pread64", NULL, { EIO, EINTR } },
	{ SYS_prlimit64, "prlimit64", NULL, { EPERM, EINVAL } },
	{ SYS_read, "read", " /proc/*", { EINTR, EIO, ESRCH, EACCES } },
	{ SYS_read, "read", NULL, { EINTR, EIO } },
	{ SYS_readlink, "readlink", NULL, { EACCES, ENOENT, EIO } },
	{ SYS_readv, "readv", " /proc/*", { EINTR, EIO, ESRCH } },
	{ SYS_readv, "readv", NULL, { EINTR, EIO } },
	{ SYS_recvmsg, "recvmsg", NULL, { EINTR, ENOMEM, EMFILE, ECONNRESET } },
	{ SYS_recvfrom, "recvfrom", NULL, { EINTR, ENOMEM, ECONNRESET } },
	{ SYS_rt_sigaction, "rt_sigaction", NULL, { 0 } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", NULL, { EPERM } },
	{ SYS_rt_sigreturn, "rt_sigreturn", NULL, { 0 } },
	{ SYS_sched_getaffinity, "sched_getaffinity", NULL, { EPERM, EINVAL } },
	{ SYS_sched_setaffinity, "sched_setaffinity", NULL, { EPERM, EINVAL } },
	{ SYS_seccomp, "seccomp", NULL, { EPERM, EINVAL, ENOMEM, ENOSYS, EBUSY } },
	{ SYS_sendmsg, "sendmsg", NULL, { EINTR, EPIPE, ENOMEM, ENOBUFS, ECONNRESET } },
	{ SYS_set_robust_list, "set_robust_list", NULL, { ENOSYS } },
	{ SYS_set_tid_address, "set_tid_address", NULL, { 0 } },
	{ SYS_setdomainname, "setdomainname", NULL, { EPERM } },
	{ SYS_setgroups, "setgroups", NULL, { EPERM, ENOMEM } },
	{ SYS_sethostname, "sethostname", NULL, { EPERM } },
	{ SYS_setpgid, "setpgid", NULL, { EACCES, EPERM, ESRCH } },
	{ SYS_setns, "setns", NULL, { EPERM, ENOMEM, EINVAL } },
	{ SYS_setresgid, "setresgid", NULL, { EPERM, EAGAIN, EINVAL } },
	{ SYS_setresuid, "setresuid", NULL, { EPERM, EAGAIN, EINVAL } },
	{ SYS_setsid, "setsid", NULL, { EPERM } },
	{ SYS_signalfd4, "signalfd4", NULL, { EMFILE, ENFILE, ENOMEM, ENODEV } },
	{ SYS_socket, "socket", NULL, { EMFILE, ENFILE, ENOMEM, EACCES, EAFNOSUPPORT } },
	{ SYS_shutdown, "shutdown", NULL, { ENOTCONN, ENOBUFS } },
	{ SYS_socketpair, "socketpair", NULL, { EMFILE, ENFILE, ENOMEM, EOPNOTSUPP } },
	{ SYS_stat, "stat", NULL, { EACCES, ENOENT, ENOMEM, EIO } },
	{ SYS_statfs, "statfs", NULL, { EACCES, EIO } },
	{ SYS_symlinkat, "symlinkat", NULL, { EACCES, ENOSPC, ENOMEM, EEXIST } },
	{ SYS_timerfd_create, "timerfd_create", NULL, { EMFILE, ENOMEM } },
	{ SYS_umask, "umask", NULL, { 0 } },
	{ SYS_umount2, "umount2", NULL, { EPERM, EINVAL, EBUSY } },
	{ SYS_unlinkat, "unlinkat", NULL, { EACCES, EBUSY, EIO, EROFS } },
	{ SYS_unshare, "unshare", NULL, { EPERM, ENOMEM, ENOSPC, EINVAL } },
	{ SYS_wait4, "wait4", " 0x1", { 0 } }, /* WNOHANG: it never waits */
	{ SYS_wait4, "wait4", NULL, { EINTR } },
	{ SYS_waitid, "waitid", NULL, { EINTR } },
	/* EPIPE says that nobody wants it */
	{ SYS_write, "write", " pipe:*", { EINTR, EIO } },
	{ SYS_write, "write", NULL, { EINTR, EIO, ENOSPC, EPERM, EBUSY, EINVAL, EPIPE } },
	{ SYS_writev, "writev", NULL, { EINTR, EIO, ENOSPC, EPIPE } },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

const char *call_name(long nr)
{
	static char number[32];

	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].nr == nr)
			return rows[i].name;
	(void)snprintf(number, sizeof(number), "syscall-%ld", nr);
	return number;
}

const int *call_errnos(const struct call *call)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].nr == call->nr &&
		    (!rows[i].detail || fnmatch(rows[i].detail, call->detail, 0) == 0))
			return rows[i].errnos;
	return usual;
}

/* the fd is gone whatever close(2) returns, EBADF apart */
bool call_takes_place(long nr)
{
	return nr == SYS_close;
}
