/* SPDX-License-Identifier: MIT */
/*
 * errnos.c - which errnos a call can plausibly fail with
 *
 * Out of the manual pages: what the state of the host or of another process can bring
 * about, and what a container's own seccomp filter answers (EPERM, ENOSYS). Left out is
 * what only a wrong argument could: EFAULT, EBADF. A call without a row gets usual[].
 */
#include <errno.h>
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
	int errnos[ERRNOS];
} rows[] = {
	{ SYS_access, "access", { EACCES, ENOENT, EIO } },
	{ SYS_arch_prctl, "arch_prctl", { 0 } },
	{ SYS_brk, "brk", { ENOMEM } },
	{ SYS_capset, "capset", { EPERM } },
	{ SYS_chdir, "chdir", { EACCES, ENOENT, EIO } },
	{ SYS_clone, "clone", { EAGAIN, ENOMEM, EPERM } },
	{ SYS_clone3, "clone3", { EAGAIN, ENOMEM, EPERM, ENOSPC, EINVAL, ENOSYS, EUSERS } },
	{ SYS_close, "close", { EIO, EINTR } },
	{ SYS_close_range, "close_range", { ENOSYS, ENOMEM, EMFILE, EINVAL } },
	{ SYS_dup2, "dup2", { EBUSY, EMFILE } },
	{ SYS_execve, "execve", { EACCES, ENOENT, ENOMEM, EPERM, ENOEXEC, EIO } },
	{ SYS_execveat, "execveat", { EACCES, ENOENT, ENOMEM, EPERM, ENOSYS, EIO } },
	{ SYS_exit, "exit", { 0 } },
	{ SYS_exit_group, "exit_group", { 0 } },
	{ SYS_faccessat, "faccessat", { EACCES, ENOENT, EIO } },
	{ SYS_fallocate, "fallocate", { ENOSPC, EIO, EOPNOTSUPP, EFBIG, EINTR } },
	{ SYS_fchdir, "fchdir", { EACCES, EIO } },
	{ SYS_fcntl, "fcntl", { EMFILE, EINVAL, ENOLCK, EACCES } },
	{ SYS_fork, "fork", { EAGAIN, ENOMEM } },
	{ SYS_fsconfig, "fsconfig", { EINVAL, ENOMEM, EPERM, EBUSY } },
	{ SYS_fsmount, "fsmount", { EPERM, ENOMEM, EMFILE, EBUSY } },
	{ SYS_fsopen, "fsopen", { ENODEV, EPERM, ENOMEM, EMFILE, ENOSYS } },
	{ SYS_fstat, "fstat", { ENOMEM, EIO } },
	{ SYS_fstatfs, "fstatfs", { EIO, ENOSYS } },
	{ SYS_getdents64, "getdents64", { ENOENT, EIO } },
	{ SYS_getegid, "getegid", { 0 } },
	{ SYS_geteuid, "geteuid", { 0 } },
	{ SYS_getgid, "getgid", { 0 } },
	{ SYS_getpid, "getpid", { 0 } },
	{ SYS_getppid, "getppid", { 0 } },
	{ SYS_getrandom, "getrandom", { ENOSYS, EAGAIN, EINTR } },
	{ SYS_gettid, "gettid", { 0 } },
	{ SYS_getuid, "getuid", { 0 } },
	{ SYS_ioctl, "ioctl", { EPERM, ENOMEM, EINVAL, EINTR, ENOENT } },
	{ SYS_kill, "kill", { EPERM } },
	{ SYS_landlock_add_rule, "landlock_add_rule", { ENOMEM, EINVAL, EPERM } },
	{ SYS_landlock_create_ruleset,
	  "landlock_create_ruleset",
	  { ENOSYS, EOPNOTSUPP, ENOMEM, EPERM, EINVAL } },
	{ SYS_landlock_restrict_self,
	  "landlock_restrict_self",
	  { EPERM, ENOMEM, E2BIG } },
	{ SYS_lseek, "lseek", { ESPIPE, EINVAL } },
	{ SYS_madvise, "madvise", { ENOMEM, EAGAIN } },
	{ SYS_memfd_create, "memfd_create", { EMFILE, ENOMEM, ENOSYS, EPERM } },
	{ SYS_mkdir, "mkdir", { EACCES, ENOSPC, EROFS, ENOMEM, EEXIST } },
	{ SYS_mkdirat, "mkdirat", { EACCES, ENOSPC, EROFS, ENOMEM, EEXIST } },
	{ SYS_mknod, "mknod", { EPERM, ENOSPC, EEXIST, ENOMEM } },
	{ SYS_mknodat, "mknodat", { EPERM, ENOSPC, EEXIST, ENOMEM } },
	{ SYS_mmap, "mmap", { ENOMEM, EPERM } },
	{ SYS_mount, "mount", { EPERM, EINVAL, ENOMEM, EBUSY } },
	{ SYS_mount_setattr, "mount_setattr", { EPERM, EINVAL, ENOSYS, EBUSY } },
	{ SYS_move_mount, "move_mount", { EPERM, EINVAL, ENOMEM, ENOSPC, EBUSY } },
	{ SYS_mprotect, "mprotect", { ENOMEM, EACCES } },
	{ SYS_mremap, "mremap", { ENOMEM } },
	{ SYS_munmap, "munmap", { ENOMEM } },
	{ SYS_nanosleep, "nanosleep", { EINTR } },
	{ SYS_newfstatat, "newfstatat", { EACCES, ENOENT, ENOMEM, EIO } },
	{ SYS_open, "open", { EACCES, ENOENT, EMFILE, ENFILE, ENOMEM, EIO } },
	{ SYS_open_tree, "open_tree", { EPERM, ENOENT, EMFILE, ENOMEM, ENOSPC, EINVAL, ENOSYS } },
	{ SYS_openat, "openat", { EACCES, ENOENT, EMFILE, ENFILE, ENOMEM, EIO } },
	{ SYS_openat2, "openat2", { EACCES, ENOENT, EMFILE, ELOOP, EAGAIN, ENOSYS } },
	{ SYS_pidfd_open, "pidfd_open", { ESRCH, EMFILE, ENOSYS, EPERM } },
	{ SYS_pidfd_send_signal, "pidfd_send_signal", { EPERM, ESRCH, ENOSYS } },
	{ SYS_pipe2, "pipe2", { EMFILE, ENFILE } },
	{ SYS_pivot_root, "pivot_root", { EPERM, EINVAL, EBUSY } },
	{ SYS_poll, "poll", { EINTR, ENOMEM } },
	{ SYS_ppoll, "ppoll", { EINTR, ENOMEM } },
	{ SYS_prctl, "prctl", { EPERM, EINVAL, ENOSYS } },
	{ SYS_pread64, "pread64", { EIO, EINTR } },
	{ SYS_prlimit64, "prlimit64", { EPERM, EINVAL } },
	{ SYS_read, "read", { EINTR, EIO, ESRCH } },
	{ SYS_readlink, "readlink", { EACCES, ENOENT, EIO } },
	{ SYS_readv, "readv", { EINTR, EIO, ESRCH } },
	{ SYS_recvmsg, "recvmsg", { EINTR, ENOMEM, EMFILE, ECONNRESET } },
	{ SYS_rt_sigaction, "rt_sigaction", { EINVAL } },
	{ SYS_rt_sigprocmask, "rt_sigprocmask", { EINVAL, EPERM } },
	{ SYS_rt_sigreturn, "rt_sigreturn", { 0 } },
	{ SYS_sched_getaffinity, "sched_getaffinity", { EPERM, EINVAL } },
	{ SYS_seccomp, "seccomp", { EPERM, EINVAL, ENOMEM, ENOSYS, EBUSY } },
	{ SYS_sendmsg, "sendmsg", { EINTR, EPIPE, ENOMEM, ENOBUFS, ECONNRESET } },
	{ SYS_set_robust_list, "set_robust_list", { ENOSYS } },
	{ SYS_set_tid_address, "set_tid_address", { 0 } },
	{ SYS_setdomainname, "setdomainname", { EPERM } },
	{ SYS_setgroups, "setgroups", { EPERM, ENOMEM } },
	{ SYS_sethostname, "sethostname", { EPERM } },
	{ SYS_setpgid, "setpgid", { EACCES, EPERM, ESRCH } },
	{ SYS_setresgid, "setresgid", { EPERM, EAGAIN, EINVAL } },
	{ SYS_setresuid, "setresuid", { EPERM, EAGAIN, EINVAL } },
	{ SYS_setsid, "setsid", { EPERM } },
	{ SYS_signalfd4, "signalfd4", { EMFILE, ENFILE, ENOMEM, ENODEV } },
	{ SYS_socket, "socket", { EMFILE, ENFILE, ENOMEM, EACCES, EAFNOSUPPORT } },
	{ SYS_socketpair, "socketpair", { EMFILE, ENFILE, ENOMEM, EOPNOTSUPP } },
	{ SYS_stat, "stat", { EACCES, ENOENT, ENOMEM, EIO } },
	{ SYS_statfs, "statfs", { EACCES, EIO } },
	{ SYS_symlinkat, "symlinkat", { EACCES, ENOSPC, ENOMEM, EEXIST } },
	{ SYS_timerfd_create, "timerfd_create", { EMFILE, ENOMEM } },
	{ SYS_umask, "umask", { 0 } },
	{ SYS_umount2, "umount2", { EPERM, EINVAL, EBUSY } },
	{ SYS_unlinkat, "unlinkat", { EACCES, EBUSY, EIO, EROFS } },
	{ SYS_unshare, "unshare", { EPERM, ENOMEM, ENOSPC, EINVAL } },
	{ SYS_wait4, "wait4", { EINTR } },
	{ SYS_waitid, "waitid", { EINTR } },
	{ SYS_write, "write", { EINTR, EIO, ENOSPC, EPERM, EBUSY, EINVAL, EPIPE } },
	{ SYS_writev, "writev", { EINTR, EIO, ENOSPC, EPIPE } },
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
		if (rows[i].nr == call->nr)
			return rows[i].errnos;
	return usual;
}

/* the fd is gone whatever close(2) returns, EBADF apart */
bool call_takes_place(long nr)
{
	return nr == SYS_close;
}
