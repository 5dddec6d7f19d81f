/* SPDX-License-Identifier: MIT */
/*
 * describe.c - what a stopped process's call is about, in words that do not change
 *
 * Numbers of three digits and more (PIDs, inodes, addresses) become N.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fault/fault.h"

/* arguments worth telling: s a string, f an fd, n a number; each with its position */
static const struct {
	long nr;
	const char *show;
} rows[] = {
	{ SYS_access, "s0" },       { SYS_chdir, "s0" },
	{ SYS_close, "f0" },        { SYS_dup2, "f0n1" },
	{ SYS_execve, "s0" },       { SYS_execveat, "f0" },
	{ SYS_faccessat, "f0s1" },  { SYS_faccessat2, "s1" },
	{ SYS_fallocate, "f0" },    { SYS_fchdir, "f0" },
	{ SYS_fcntl, "f0n1" },      { SYS_fsconfig, "n1s2s3" },
	{ SYS_fsopen, "s0" },       { SYS_fstat, "f0" },
	{ SYS_fstatfs, "f0" },      { SYS_getdents64, "f0" },
	{ SYS_ftruncate, "f0" },    { SYS_ioctl, "f0n1" },
	{ SYS_kill, "n0n1" },       { SYS_lseek, "f0" },
	{ SYS_mkdir, "s0" },        { SYS_mkdirat, "f0s1" },
	{ SYS_mknod, "s0" },        { SYS_mknodat, "s1" },
	{ SYS_mount, "s1" },        { SYS_mount_setattr, "f0" },
	{ SYS_move_mount, "s1s3" }, { SYS_newfstatat, "f0s1" },
	{ SYS_open, "s0" },         { SYS_open_tree, "s1" },
	{ SYS_openat, "f0s1" },     { SYS_openat2, "s1" },
	{ SYS_pivot_root, "s0" },   { SYS_prctl, "n0" },
	{ SYS_pread64, "f0" },      { SYS_prlimit64, "n1" },
	{ SYS_read, "f0" },         { SYS_readlink, "s0" },
	{ SYS_readv, "f0" },        { SYS_recvmsg, "f0" },
	{ SYS_recvfrom, "f0" },     { SYS_shutdown, "f0" },
	{ SYS_rt_sigaction, "n0" }, { SYS_rt_sigprocmask, "n0" },
	{ SYS_seccomp, "n0" },      { SYS_sendmsg, "f0" },
	{ SYS_setns, "f0" },        { SYS_stat, "s0" },
	{ SYS_statfs, "s0" },       { SYS_symlinkat, "s2" },
	{ SYS_umount2, "s0" },      { SYS_unlinkat, "f0s1" },
	{ SYS_wait4, "n2" },        { SYS_write, "f0" },
	{ SYS_writev, "f0" },
};

static void read_string(pid_t pid, unsigned long long at, char *text, size_t size)
{
	size_t used = 0;

	while (at && used + sizeof(long) < size) {
		long word;

		errno = 0;
		word = ptrace(PTRACE_PEEKDATA, pid, (void *)(at + used), NULL);
		if (errno)
			break;
		(void)memcpy(text + used, &word, sizeof(word));
		if (memchr(&word, '\0', sizeof(word)))
			return;
		used += sizeof(word);
	}
	text[used] = '\0';
}

/* @where: the next free byte of what call_describe() writes, @end its end */
static char *put(char *where, const char *end, const char *word, bool exact)
{
	if (where + 1 < end)
		*where++ = ' ';
	while (*word && where + 1 < end) {
		size_t digits = strspn(word, "0123456789");

		if (digits >= 3 && !exact) {
			*where++ = 'N';
			word += digits;
		} else {
			*where++ = *word++;
		}
	}
	*where = '\0';
	return where;
}

void call_describe(pid_t pid, long nr, const unsigned long long *args, char *text)
{
	const char *show = "", *end = text + DETAIL_TEXT;

	*text = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].nr == nr)
			show = rows[i].show;
	for (; *show; show += 2) {
		unsigned long long arg = args[show[1] - '0'];
		char path[64], word[128] = "?";
		ssize_t n;

		if (show[0] == 's') {
			read_string(pid, arg, word, sizeof(word));
		} else if (show[0] == 'f' && (int)arg < 0) {
			(void)snprintf(word, sizeof(word), "%d", (int)arg);
		} else if (show[0] == 'f') {
			(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid,
				       (int)arg);
			n = readlink(path, word, sizeof(word) - 1);
			word[n > 0 ? n : 1] = '\0';
		} else {
			(void)snprintf(word, sizeof(word), "%#llx", arg & 0xffffffff);
		}
		text = put(text, end, word, show[0] == 'n');
	}
}
