/* SPDX-License-Identifier: MIT */
/*
 * recode.c - every way that is known to make code of what was none, for test_lock.py
 *
 * recode WAY...: each in a process of its own. "WAY ran" where the new code ran, "WAY
 * ERRNO" where a call was refused, "WAY SIGNAL" where it came to running it, and died.
 * The new code makes 42 of nothing; a started program, this one, exits with 42.
 * Without a word, the ways are listed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recode.h"

#if defined(__x86_64__)
const unsigned char new_code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
#elif defined(__aarch64__)
const unsigned char new_code[] = { 0x40, 0x05, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6 };
#endif

static char own_path[] = "/bin/recode";
static char *const ok_words[] = { own_path, (char[]){ "ok" }, NULL };
static char *const no_env[] = { NULL };

__attribute__((noinline, aligned(4096), section(".text.spare"))) int spare(void)
{
	__asm__ volatile(".balign 4\n\t.skip 8192, 0x90");
	return 7;
}

int fail(void)
{
	printf("%s\n", strerrorname_np(errno));
	(void)fflush(stdout);
	return 1;
}

int call_it(const void *code)
{
	int (*volatile function)(void) = (int (*)(void))(uintptr_t)code;

	__builtin___clear_cache((char *)(uintptr_t)code, (char *)(uintptr_t)code + 64);
	return function() == RAN ? RAN : 1;
}

static int by_execve(void)
{
	(void)execve(own_path, ok_words, no_env);
	return fail();
}

static int by_execveat(void)
{
	(void)syscall(SYS_execveat, AT_FDCWD, own_path, ok_words, no_env, 0);
	return fail();
}

static int copy_to_memfd(unsigned int flags)
{
	int from = open(own_path, O_RDONLY), to = memfd_create("x", flags);
	char bytes[65536];
	ssize_t n;

	while (to >= 0 && (n = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			return -1;
	return to;
}

static int by_fexecve(void)
{
	int fd = copy_to_memfd(MFD_CLOEXEC);

	if (fd >= 0)
		(void)syscall(SYS_execveat, fd, "", ok_words, no_env, AT_EMPTY_PATH);
	return fail();
}

static int by_memfd_path(void)
{
	char path[64];
	int fd = copy_to_memfd(0);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (fd >= 0)
		(void)execve(path, ok_words, no_env);
	return fail();
}

static int by_vfork(void)
{
	volatile int errnum = 0;
	int status;
	pid_t pid = vfork();

	if (pid == 0) {
		(void)execve(own_path, ok_words, no_env);
		errnum = errno;
		_exit(1);
	}
	(void)waitpid(pid, &status, 0);
	errno = errnum;
	return WEXITSTATUS(status) == RAN ? RAN : fail();
}

/* registers as a guess of what the launcher's own start carries */
static int by_guess(void)
{
	static const unsigned long guesses[] = { 0, 1, -1UL, 0x5ec2e75ec1a551c5UL };

	for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++)
		(void)syscall(SYS_execve, own_path, ok_words, no_env, guesses[i],
			      guesses[i], guesses[i]);
	return fail();
}

static const struct {
	const char *name;
	int (*act)(void);
} ways[] = {
	{ "execve", by_execve },
	{ "execveat", by_execveat },
	{ "fexecve", by_fexecve },
	{ "memfd-path", by_memfd_path },
	{ "vfork", by_vfork },
	{ "guess", by_guess },
	{ "mmap", by_mmap },
	{ "mmap-shared", by_mmap_shared },
	{ "memfd-shared", by_memfd_shared },
	{ "memfd-private", by_memfd_private },
	{ "work-file", by_work_file },
	{ "shm-file", by_shm_file },
	{ "mprotect", by_mprotect },
	{ "mprotect-text", by_mprotect_text },
	{ "pkey_mprotect", by_pkey_mprotect },
	{ "mremap", by_mremap },
	{ "mremap-grow", by_mremap_grow },
	{ "stack", by_stack },
	{ "brk", by_brk },
	{ "shmat", by_shmat },
	{ "personality", by_personality },
	{ "personality-two", by_personality_two },
	{ "proc-mem", by_proc_mem },
	{ "ptrace", by_ptrace },
	{ "process_vm_writev", by_process_vm_writev },
	{ "userfaultfd", by_userfaultfd },
	{ "thread", by_thread },
	{ "handler", by_handler },
	{ "clone-vm", by_clone_vm },
	{ "int80", by_int80 },
};

/* the way's own process says by which errno it failed */
static void try_it(size_t i)
{
	int status;
	pid_t pid;

	printf("%s ", ways[i].name);
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(ways[i].act());
	(void)waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("SIG%s\n", sigabbrev_np(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == RAN)
		printf("ran\n");
	else if (WEXITSTATUS(status) == LACKS)
		printf("lacks\n");
	else if (WEXITSTATUS(status) != 1)
		printf("status-%d\n", WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "ok") == 0)
		return RAN;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		bool asked = false;

		for (int k = 1; k < argc; k++)
			asked = asked || strcmp(argv[k], ways[i].name) == 0;
		if (argc == 1)
			printf("%s\n", ways[i].name);
		if (asked)
			try_it(i);
	}
	return 0;
}
