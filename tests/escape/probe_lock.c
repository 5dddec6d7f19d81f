/* SPDX-License-Identifier: MIT */
/*
 * probe_lock.c - new code in a jail whose code is locked: started, mapped, made of data
 *
 * Without --lock-code all of this is allowed, and the scene says that it is skipped.
 * argv: a program that may be read and, by its mode, started
 */
#include "tests/escape/scene.h"

#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/shm.h>

struct program {
	const char *path;
	int fd;
	long key; /* in the register that the lock looks at, and the kernel does not */
};

static char self[] = "stepjail-probe", nothing[] = "nothing";
static char *const words[] = { self, nothing, NULL }, *const none[] = { NULL };

static long start_path(const void *data)
{
	const struct program *p = data;

	return syscall(SYS_execve, p->path, words, none, p->key, p->key, p->key);
}

static long start_fd(const void *data)
{
	const struct program *p = data;

	return syscall(SYS_execveat, p->fd, "", words, none, AT_EMPTY_PATH, p->key);
}

static long start_link(const void *data)
{
	const struct program *p = data;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", p->fd);
	return syscall(SYS_execve, path, words, none, p->key, p->key, p->key);
}

static void start_all(struct program *p)
{
	/* none is the key; nor is what lay in the program's registers when it began */
	static const long guesses[] = { 0, 1, -1 };

	for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
		p->key = guesses[i];
		if (p->path)
			door("execve", probe_in_child(start_path, p));
		door("execveat", probe_in_child(start_fd, p));
		door("execve by /proc/self/fd", probe_in_child(start_link, p));
	}
}

static void start_program(char **argv)
{
	struct program p = { .path = probe_word(argv, 0, "a program") };

	p.fd = open(p.path, O_RDONLY);
	if (p.fd < 0)
		probe_lacks("a program that can be read");
	start_all(&p);
}

/* by the call itself: libc's own has words of its own for a refusal */
static long map(unsigned long prot, int flags, int fd)
{
	return syscall(SYS_mmap, 0, 4096, prot, MAP_PRIVATE | flags, fd, 0);
}

/* the high half of a protection does not count for the kernel */
#define HIGH (1UL << 32)

static void make_code(char **argv)
{
	const unsigned long all = PROT_READ | PROT_WRITE | PROT_EXEC;
	int fd = open(probe_word(argv, 0, "a program"), O_RDONLY);
	void *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	char *own = (char *)((uintptr_t)make_code & ~4095UL);
	int id = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);

	if (fd < 0 || data == MAP_FAILED)
		probe_lacks("a program that can be read");
	door("mmap", map(all, MAP_ANONYMOUS, -1));
	door("mmap a file", map(PROT_READ | PROT_EXEC, 0, fd));
	door("mmap, high half", map(HIGH | all, MAP_ANONYMOUS, -1));
	door("mprotect data", mprotect(data, 4096, PROT_READ | PROT_EXEC));
	door("mprotect, high half", syscall(SYS_mprotect, data, 4096, HIGH | all));
	door("mprotect code", mprotect(own, 4096, (int)all));
	door("pkey_mprotect", syscall(329 /* pkey_mprotect */, data, 4096, all, -1));
	if (id >= 0) {
		door("shmat", shmat(id, NULL, SHM_EXEC) == (void *)-1 ? -1 : 0);
		(void)shmctl(id, IPC_RMID, NULL);
	}
	/* a page that can be read can be executed then, so they say */
	if (personality(READ_IMPLIES_EXEC) >= 0)
		door("READ_IMPLIES_EXEC", map(PROT_READ, MAP_ANONYMOUS, -1));
}

/* a program that no file system has */
static void start_memory(char **argv)
{
	static char text[1 << 20];
	int in = open(probe_word(argv, 0, "a program"), O_RDONLY);
	struct program p = { .fd = memfd_create("program", 0) };
	ssize_t n = -1;

	if (p.fd < 0 && errno == EPERM) {
		door("memfd_create", p.fd);
		return;
	}
	while (in >= 0 && p.fd >= 0 && (n = read(in, text, sizeof(text))) > 0)
		if (write(p.fd, text, (size_t)n) != n)
			break;
	if (n != 0)
		probe_lacks("room for a program of its own size");
	start_all(&p);
	door("mmap", map(PROT_READ | PROT_EXEC, 0, p.fd));
}

#define ROW(name, text, act)                                                             \
	{                                                                                \
		name, text, W(LOCK), &scene_locked, act, 0, NULL                         \
	}

static const struct probe probes[] = {
	ROW("lock-exec", "start a program where code is locked", start_program),
	ROW("lock-map", "map code, or make code of data, where code is locked",
	    make_code),
	ROW("lock-memfd", "start a program out of memory where code is locked",
	    start_memory),
};

AREA(lock, "locked code", probes);
