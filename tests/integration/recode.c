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
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/userfaultfd.h>

#if defined(__x86_64__)
static const unsigned char new_code[] = { 0xb8, 42, 0, 0, 0, 0xc3 };
#elif defined(__aarch64__)
static const uint32_t new_code[] = { 0x52800540, 0xd65f03c0 };
#endif

#define PAGE 4096UL
#define RAN 42
#define LACKS 43

static char own_path[] = "/bin/recode";
static char *const ok_words[] = { own_path, (char[]){ "ok" }, NULL };
static char *const no_env[] = { NULL };

/* a page of code that nobody needs, to be written over: it makes 7 of nothing */
__attribute__((noinline, aligned(4096), section(".text.spare"))) static int spare(void)
{
	__asm__ volatile(".balign 4\n\t.skip 8192, 0x90");
	return 7;
}

static int fail(void)
{
	printf("%s\n", strerrorname_np(errno));
	(void)fflush(stdout);
	return 1;
}

static int call_it(const void *code)
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

static int map(int prot, int flags, int fd)
{
	void *at = mmap(NULL, PAGE, prot | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		return fail();
	memcpy(at, new_code, sizeof(new_code));
	return call_it(at);
}

static int by_mmap(void)
{
	return map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int by_mmap_shared(void)
{
	return map(PROT_READ | PROT_EXEC, MAP_SHARED | MAP_ANONYMOUS, -1);
}

/* the file is written by one mapping, or by write(2), and run by another */
static int run_file(int fd, int flags)
{
	if (fd < 0 || ftruncate(fd, PAGE) < 0)
		return fail();

	void *write_at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *run_at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, flags, fd, 0);

	if (write_at == MAP_FAILED || run_at == MAP_FAILED)
		return fail();
	memcpy(write_at, new_code, sizeof(new_code));
	return call_it(run_at);
}

static int by_memfd_shared(void)
{
	return run_file(memfd_create("x", 0), MAP_SHARED);
}

static int by_memfd_private(void)
{
	return run_file(memfd_create("x", 0), MAP_PRIVATE);
}

static int by_work_file(void)
{
	return run_file(open("/work/code", O_RDWR | O_CREAT, 0700), MAP_SHARED);
}

static int by_shm_file(void)
{
	return run_file(open("/dev/shm/code", O_RDWR | O_CREAT, 0700), MAP_PRIVATE);
}

static int protect(long nr)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	memcpy(at, new_code, sizeof(new_code));
	if (syscall(nr, at, PAGE, PROT_READ | PROT_EXEC, -1) < 0)
		return fail();
	return call_it(at);
}

static int by_mprotect(void)
{
	return protect(SYS_mprotect);
}

static int by_pkey_mprotect(void)
{
	return protect(SYS_pkey_mprotect);
}

/* own code, made writable for a moment */
static int by_mprotect_text(void)
{
	void *at = (void *)(uintptr_t)spare;

	if (mprotect(at, PAGE, PROT_READ | PROT_WRITE) < 0)
		return fail();
	memcpy(at, new_code, sizeof(new_code));
	if (mprotect(at, PAGE, PROT_READ | PROT_EXEC) < 0)
		return fail();
	return call_it(at);
}

/* data moved to where code was */
static int by_mremap(void)
{
	void *data = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	void *to = (void *)(uintptr_t)spare;

	memcpy(data, new_code, sizeof(new_code));
	if (mremap(data, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED)
		return fail();
	return call_it(to);
}

/* what lies behind own code in own file becomes code, as that file's owner wrote it */
static int by_mremap_grow(void)
{
	char *from = (char *)(uintptr_t)spare, *at;
	size_t far = (size_t)((const char *)new_code - from);

	at = mremap(from, PAGE, (far / PAGE + 2) * PAGE, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return fail();
	return call_it(at + far);
}

static int by_stack(void)
{
	unsigned char volatile bytes[64];

	for (size_t i = 0; i < sizeof(new_code); i++)
		bytes[i] = ((const unsigned char *)new_code)[i];
	return call_it((const void *)bytes);
}

static int by_brk(void)
{
	char *at = sbrk(PAGE);

	memcpy(at, new_code, sizeof(new_code));
	return call_it(at);
}

static int by_shmat(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, 0700);
	void *at = id < 0 ? (void *)-1 : shmat(id, NULL, SHM_EXEC);

	if (at == (void *)-1)
		return fail();
	memcpy(at, new_code, sizeof(new_code));
	return call_it(at);
}

static int by_personality(void)
{
	if (personality(READ_IMPLIES_EXEC) < 0)
		return fail();
	return map(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int by_personality_two(void)
{
	if (personality(READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE) < 0)
		return fail();
	return map(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static int by_proc_mem(void)
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

static int by_ptrace(void)
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

static int by_process_vm_writev(void)
{
	pid_t pid = make_victim();
	struct iovec own = { (void *)(uintptr_t)new_code, sizeof(new_code) };
	struct iovec its = { (void *)(uintptr_t)spare, sizeof(new_code) };

	return end_victim(pid, process_vm_writev(pid, &own, 1, &its, 1, 0) ==
				       (ssize_t)sizeof(new_code));
}

/* a page of own code is given back, and comes anew by choice: possible where the program's
 * file lies on a tmpfs */
static int by_userfaultfd(void)
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

static int by_thread(void)
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

static int by_handler(void)
{
	(void)signal(SIGUSR1, handler);
	(void)raise(SIGUSR1);
	return handled;
}

static int by_clone_vm(void)
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
/* mmap2 of i386 */
static int by_int80(void)
{
	long r;

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
static int by_int80(void)
{
	return LACKS;
}
#endif

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
