/* SPDX-License-Identifier: MIT */
/*
 * recode_other.c - ways to new code past a page's rights, through other processes, and
 * from odd places: see recode.c
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#include "recode.h"

int by_proc_mem(void)
{
	int fd = open("/proc/self/mem", O_RDWR);

	if (fd < 0 || pwrite(fd, new_code, sizeof(new_code), (off_t)(uintptr_t)spare) < 0)
		return fail();
	return call_it((const void *)(uintptr_t)spare);
}

static pid_t make_victim(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		(void)raise(SIGSTOP);
		_exit(call_it((const void *)(uintptr_t)spare));
	}
	(void)waitpid(pid, NULL, WUNTRACED);
	return pid;
}

static int end_victim(pid_t pid, bool changed)
{
	int status, errnum = errno;

	(void)kill(pid, changed ? SIGCONT : SIGKILL);
	(void)waitpid(pid, &status, 0);
	errno = errnum;
	if (!changed)
		return fail();
	return WIFEXITED(status) && WEXITSTATUS(status) == RAN ? RAN : 1;
}

int by_ptrace(void)
{
	pid_t pid = make_victim();
	unsigned long word = 0, word2 = 0;
	bool done;

	memcpy(&word, new_code, sizeof(new_code) < 8 ? sizeof(new_code) : 8);
	done = ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 &&
	       ptrace(PTRACE_INTERRUPT, pid, 0, 0) == 0 &&
	       waitpid(pid, NULL, __WALL) == pid &&
	       ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)spare, word) == 0 &&
	       (errno = 0,
		word2 = (unsigned long)ptrace(PTRACE_PEEKTEXT, pid,
					      (void *)(uintptr_t)spare, 0),
		errno == 0) &&
	       word2 == word && ptrace(PTRACE_DETACH, pid, 0, 0) == 0;
	return end_victim(pid, done);
}

int by_process_vm_writev(void)
{
	pid_t pid = make_victim();
	struct iovec own = { (void *)(uintptr_t)new_code, sizeof(new_code) };
	struct iovec its = { (void *)(uintptr_t)spare, sizeof(new_code) };

	return end_victim(pid, process_vm_writev(pid, &own, 1, &its, 1, 0) ==
				       (ssize_t)sizeof(new_code));
}

/* a page of own code is given back, and comes anew by choice: possible where the
 * program's file lies on a tmpfs */
int by_userfaultfd(void)
{
	void *at = (void *)((uintptr_t)spare + PAGE);
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register area = { { (uintptr_t)at, PAGE },
					UFFDIO_REGISTER_MODE_MISSING,
					0 };
	static unsigned char page[PAGE] __attribute__((aligned(4096)));
	struct uffdio_copy copy = { .dst = (uintptr_t)at,
				    .src = (uintptr_t)page,
				    .len = PAGE };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	memcpy(page, new_code, sizeof(new_code));
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 ||
	    ioctl(fd, UFFDIO_REGISTER, &area) < 0 ||
	    madvise(at, PAGE, MADV_DONTNEED) < 0 || ioctl(fd, UFFDIO_COPY, &copy) < 0)
		return fail();
	return call_it(at);
}

static void *thread_main(void *result)
{
	*(int *)result = by_mprotect();
	return NULL;
}

int by_thread(void)
{
	pthread_t thread;
	int result = 1;

	if (pthread_create(&thread, NULL, thread_main, &result) != 0)
		return fail();
	(void)pthread_join(thread, NULL);
	return result;
}

static volatile int handled;

static void handler(int signal)
{
	(void)signal;
	handled = by_mmap();
}

int by_handler(void)
{
	(void)signal(SIGUSR1, handler);
	(void)raise(SIGUSR1);
	return handled;
}

int by_clone_vm(void)
{
	static unsigned char stack[65536] __attribute__((aligned(16)));
	int status, (*act)(void *) = (int (*)(void *))(uintptr_t)by_mmap;
	pid_t pid = clone(act, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);

	if (pid < 0)
		return fail();
	(void)waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#if defined(__x86_64__)
static void no_entry(int signum)
{
	(void)signum;
	_exit(LACKS);
}

/* mmap2 of i386; a kernel without 32-bit emulation has no gate for int 0x80 */
int by_int80(void)
{
	long r;

	(void)signal(SIGSEGV, no_entry);
	__asm__ volatile("push %%rbp\n\txor %%ebp, %%ebp\n\tint $0x80\n\tpop %%rbp"
			 : "=a"(r)
			 : "a"(192L), "b"(0L), "c"(PAGE), "d"(7L), "S"(0x22L), "D"(-1L)
			 : "memory", "r8", "r9", "r10", "r11");
	if (r < 0 && r > -4096) {
		errno = (int)-r;
		return fail();
	}
	memcpy((void *)r, new_code, sizeof(new_code));
	return call_it((void *)r);
}
#else
int by_int80(void)
{
	return LACKS;
}
#endif
