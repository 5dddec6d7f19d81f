/* SPDX-License-Identifier: MIT */
/*
 * probe_entry.c - the other ways into an x86 kernel: 32-bit calls, x32 numbers, old
 * tables
 */
#include "tests/escape/scene.h"

#ifdef __x86_64__

static void no_entry(int signum)
{
	static const char text[] = "a 32-bit entry in this kernel\n";

	(void)signum;
	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	_exit(LACKS);
}

static long int80(long nr, long first, long second)
{
	long r;

	__asm__ volatile("int $0x80"
			 : "=a"(r)
			 : "a"(nr), "b"(first), "c"(second), "d"(0)
			 : "memory");
	if (r >= 0)
		return r;
	errno = (int)-r;
	return -1;
}

static void entry_32(char **argv)
{
	(void)argv;
	(void)signal(SIGSEGV, no_entry);
	door("getpid", int80(20, 0, 0));
	door("getuid", int80(24, 0, 0));
	door("getppid", int80(64, 0, 0));
}

/* numbers that mean something else for 64 bits: 26 is ptrace, not msync */
static void entry_32_refused(char **argv)
{
	(void)argv;
	(void)signal(SIGSEGV, no_entry);
	door_reach("ptrace", int80(26, 99, 0));
	door_reach("socketcall", int80(102, 99, 0));
	door_reach("ipc", int80(117, 99, 0));
	door_reach("keyctl", int80(288, 99, 0));
}

static void entry_x32(char **argv)
{
	long r = syscall(0x40000000L + SYS_getppid);

	(void)argv;
	if (r < 0 && errno == ENOSYS)
		probe_lacks("an x32 entry in this kernel");
	door("getppid", r);
	door_reach("ptrace", syscall(0x40000000L + 521, 99, 0, 0, 0));
}

/* numbers above the table, and with bits above the 32 that the kernel looks at */
static void entry_odd(char **argv)
{
	(void)argv;
	door_reach("high bits of unshare",
		   syscall((long)(0x100000000UL | SYS_unshare), 0x10000000));
	door_reach("high bits of ptrace",
		   syscall((long)(0xff00000000UL | SYS_ptrace), 99));
	door_reach("high bits of keyctl",
		   syscall((long)(0x8000000000000000UL | SYS_keyctl), 0, 0, 0));
}

/* a far call into 32-bit code, segments of one's own */
static void segments(char **argv)
{
	char text[16];

	(void)argv;
	door_reach("modify_ldt", syscall(SYS_modify_ldt, 0, text, 16));
	door_reach("iopl", syscall(SYS_iopl, 99));
	door_reach("ioperm", syscall(SYS_ioperm, 0xffffffffUL, 1, 1));
}

#else

static void foreign(char **argv)
{
	(void)argv;
	probe_lacks("an x86 processor");
}
#define entry_32 foreign
#define entry_32_refused foreign
#define entry_x32 foreign
#define entry_odd foreign
#define segments foreign

#endif

static const struct probe probes[] = {
	{ "int80", "call the kernel by the 32-bit entry", W(SECCOMP), NULL, entry_32,
	  CONTROL, NULL },
	{ "int80-refused", "reach refused calls by the 32-bit entry", W(SECCOMP), NULL,
	  entry_32_refused, CONTROL, NULL },
	{ "x32", "call the kernel by x32 numbers", W(SECCOMP), NULL, entry_x32, CONTROL,
	  NULL },
	{ "odd-numbers", "call numbers with bits that the kernel ignores", W(SECCOMP),
	  NULL, entry_odd, CONTROL, NULL },
	{ "segments", "own segments and I/O ports: modify_ldt, iopl, ioperm", W(SECCOMP),
	  NULL, segments, CONTROL, NULL },
};

AREA(entry, "32-bit and x32 entry", probes);
