/* SPDX-License-Identifier: MIT */
/*
 * recode_map.c - ways to new code through the process's own memory: see recode.c
 */
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recode.h"

static int map(int prot, int flags, int fd)
{
	void *at = mmap(NULL, PAGE, prot | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		return fail();
	memcpy(at, new_code, sizeof(new_code));
	return call_it(at);
}

int by_mmap(void)
{
	return map(PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

int by_mmap_shared(void)
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

int by_memfd_shared(void)
{
	return run_file(memfd_create("x", 0), MAP_SHARED);
}

int by_memfd_private(void)
{
	return run_file(memfd_create("x", 0), MAP_PRIVATE);
}

int by_work_file(void)
{
	return run_file(open("/work/code", O_RDWR | O_CREAT, 0700), MAP_SHARED);
}

int by_shm_file(void)
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

int by_mprotect(void)
{
	return protect(SYS_mprotect);
}

int by_pkey_mprotect(void)
{
	return protect(SYS_pkey_mprotect);
}

/* own code, made writable for a moment */
int by_mprotect_text(void)
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
int by_mremap(void)
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
int by_mremap_grow(void)
{
	char *from = (char *)(uintptr_t)spare, *at;
	size_t far = (size_t)((const char *)new_code - from);

	at = mremap(from, PAGE, (far / PAGE + 2) * PAGE, MREMAP_MAYMOVE);
	if (at == MAP_FAILED)
		return fail();
	return call_it(at + far);
}

int by_stack(void)
{
	unsigned char volatile bytes[64];

	for (size_t i = 0; i < sizeof(new_code); i++)
		bytes[i] = ((const unsigned char *)new_code)[i];
	return call_it((const void *)bytes);
}

int by_brk(void)
{
	char *at = sbrk(PAGE);

	memcpy(at, new_code, sizeof(new_code));
	return call_it(at);
}

int by_shmat(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, 0700);
	void *at = id < 0 ? (void *)-1 : shmat(id, NULL, SHM_EXEC);

	if (at == (void *)-1)
		return fail();
	memcpy(at, new_code, sizeof(new_code));
	return call_it(at);
}

int by_personality(void)
{
	if (personality(READ_IMPLIES_EXEC) < 0)
		return fail();
	return map(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

int by_personality_two(void)
{
	if (personality(READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE) < 0)
		return fail();
	return map(PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}
