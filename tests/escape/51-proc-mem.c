/* write machine code over the own text by /proc/self/mem | read-only /proc | EROFS */
/* SPDX-License-Identifier: MIT */
#include "attack.h"

/* never inlined, and a page of its own: what is overwritten is this and nothing else */
__attribute__((noinline, aligned(4096))) static int answer(void)
{
	__asm__ volatile("");
	return 41;
}

/* make answer() return something else: text pages are r-x, and this file ignores that */
static int overwrite(const char *path, int (*volatile function)(void))
{
	static const unsigned char code[] = {
#if defined(__x86_64__)
		0xb8,
		42,
		0,
		0,
		0,
		0xc3, /* mov $42,%eax; ret */
#elif defined(__aarch64__)
		0x40,
		0x05,
		0x80,
		0x52,
		0xc0,
		0x03,
		0x5f,
		0xd6, /* mov w0,#42; ret */
#else
#error "no code for this processor"
#endif
	};
	int fd = open(path, O_RDWR);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = pwrite(fd, code, sizeof(code), (off_t)(uintptr_t)function);
	(void)close(fd);
	if (n != (ssize_t)sizeof(code))
		return -1;
	__builtin___clear_cache((char *)(uintptr_t)function,
				(char *)(uintptr_t)function + sizeof(code));
	errno = EINVAL;
	return function() == 42 ? 0 : -1;
}

int main(void)
{
	char task[64];

	(void)snprintf(task, sizeof(task), "/proc/self/task/%d/mem", getpid());
	door("/proc/self/mem", overwrite("/proc/self/mem", answer));
	door("/proc/thread-self/mem", overwrite("/proc/thread-self/mem", answer));
	door(task, overwrite(task, answer));
	return attack_end();
}
