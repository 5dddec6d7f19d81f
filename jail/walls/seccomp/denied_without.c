/* SPDX-License-Identifier: MIT */
/*
 * denied_without.c - calls that are refused where a wall behind them lacks: see
 * denied_without.h
 *
 * Honest programs make these calls, too, so none is a violation. They fail with EPERM,
 * and --learn tells of them. See memfd_create(2), mmap(2), splice(2), socket(7), open(2);
 * Kernel: Documentation/userspace-api/landlock.rst
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/seccomp.h>

#include "jail/walls/seccomp/denied_without.h"

#define MEMFD_EXEC 0x10 /* MFD_EXEC, Linux 6.3: to the compiled filter a violation */
#define UNLISTED (MAP_SHARED | MAP_ANONYMOUS)
#define ACCESS 3 /* open(2)'s O_ACCMODE; musl's has O_PATH in it as well */

static const char hidden[] = "memory that no process has mapped; no cgroup counts it";
static const char unlisted[] =
	"shared memory of no file stays when its pages leave all processes; no cgroup counts it: use MAP_PRIVATE, or a file in /dev/shm";
static const char pinned[] =
	"puts whole pages into a socket that counts the bytes alone; no cgroup counts them";
static const char enlarged[] =
	"more room in a socket than the host gives each; no cgroup counts it";
static const char truncates[] =
	"empties a file that was handed in to be read: this kernel's Landlock has no word for that (ABI 3, Linux 6.2)";

static const char unwaited[] =
	"children end without being waited for, and their CPU time is told nobody; no cgroup counts it";
static const char widens[] = "runs on more than the one CPU of --deterministic";

static const char left[] =
	"leaves flow labels, counters and ports in a network namespace that another jail gets next";
static const char again[] =
	"tells two jails that they have had the same network namespace";

#define NETNS_COOKIE 71 /* SO_NETNS_COOKIE, Linux 5.14 */
#define CALL(name) #name, SYS_##name
/* of an argument these bits, and no other of them */
#define HAS(number, bits, is)                                                            \
	{                                                                                \
		.arg = (number), .mask = (bits), .value = (is)                           \
	}
/* O_WRONLY and O_RDWR take the right to write, which every ABI has. What is no writing to
 * Landlock is O_RDONLY, which is 0, and both bits at once: the kernel asks the file's
 * mode for reading and writing then, and opens it for neither. */
#define EMPTIES(call, arg, access)                                                       \
	{                                                                                \
		DENIED_WITHOUT_NO_TRUNCATE, CALL(call),                                  \
			{ HAS(arg, O_TRUNC | ACCESS, O_TRUNC | (access)) }, truncates    \
	}
/* one half of the argument is not 0: it is no null pointer */
#define NO_NULL(number, is_high)                                                         \
	{                                                                                \
		.arg = (number), .mask = UINT32_MAX, .high = (is_high), .differs = true  \
	}
#define ENLARGES(option)                                                                 \
	{                                                                                \
		DENIED_WITHOUT_NO_CGROUP, CALL(setsockopt),                              \
			{ PREFIX_IS(1, SOL_SOCKET), PREFIX_IS(2, option) }, enlarged     \
	}
#define NO_IP(family)                                                                    \
	{                                                                                \
		DENIED_WITHOUT_OWN_NETWORK, CALL(socket), { PREFIX_IS(0, family) }, left \
	}

const struct denied_without_row denied_without_rows[] = {
	{ DENIED_WITHOUT_NO_CGROUP,
	  CALL(memfd_create),
	  { HAS(1, MEMFD_EXEC, 0) },
	  hidden },
	{ DENIED_WITHOUT_NO_CGROUP,
	  CALL(mmap),
	  { HAS(3, UNLISTED, UNLISTED) },
	  unlisted },
	{ DENIED_WITHOUT_NO_CGROUP, CALL(splice), { { 0 } }, pinned },
	{ DENIED_WITHOUT_NO_CGROUP, CALL(sendfile), { { 0 } }, pinned },
	ENLARGES(SO_SNDBUF),
	ENLARGES(SO_RCVBUF),
	{ DENIED_WITHOUT_NO_TRUNCATE, CALL(truncate), { { 0 } }, truncates },
#ifdef SYS_open
	EMPTIES(open, 1, O_RDONLY),
	EMPTIES(open, 1, ACCESS),
#endif
	EMPTIES(openat, 2, O_RDONLY),
	EMPTIES(openat, 2, ACCESS),
	{ DENIED_WITHOUT_LOCKED,
	  CALL(rt_sigaction),
	  { PREFIX_IS(0, SIGCHLD), NO_NULL(1, false) },
	  unwaited },
	{ DENIED_WITHOUT_LOCKED,
	  CALL(rt_sigaction),
	  { PREFIX_IS(0, SIGCHLD), NO_NULL(1, true) },
	  unwaited },
	NO_IP(AF_INET),
	NO_IP(AF_INET6),
	{ DENIED_WITHOUT_OWN_NETWORK,
	  CALL(getsockopt),
	  { PREFIX_IS(1, SOL_SOCKET), PREFIX_IS(2, NETNS_COOKIE) },
	  again },
	{ DENIED_WITHOUT_ONE_CPU, CALL(sched_setaffinity), { { 0 } }, widens },
};
const size_t denied_without_row_count = COUNT(denied_without_rows);

#define TESTS COUNT(denied_without_rows[0].test)
_Static_assert(PREFIX_HEAD + COUNT(denied_without_rows) * PREFIX_ROW_MAX(TESTS) <=
		       DENIED_WITHOUT_CODE_MAX,
	       "room for the rows");
_Static_assert(DENIED_WITHOUT_CODE_MAX <= UINT8_MAX,
	       "more than a conditional jump can pass");

unsigned int denied_without_lacks(bool cgroup, int landlock_abi, const struct plan *p)
{
	unsigned int lacks = cgroup ? 0 : DENIED_WITHOUT_NO_CGROUP;

	/* without any Landlock a file can be opened for writing anyway, so to refuse
	 * truncation would gain nothing */
	if (landlock_abi == 1 || landlock_abi == 2)
		lacks |= DENIED_WITHOUT_NO_TRUNCATE;
	if (!cgroup && p && p->lock_code == LOCK_YES)
		lacks |= DENIED_WITHOUT_LOCKED;
	if (p && p->deterministic == ANSWER_YES)
		lacks |= DENIED_WITHOUT_ONE_CPU;
	return lacks;
}

size_t denied_without_code(unsigned int lacks, struct sock_filter *code)
{
	size_t n = PREFIX_HEAD;

	if (!lacks)
		return 0;
	for (size_t i = 0; i < COUNT(denied_without_rows); i++) {
		const struct denied_without_row *row = &denied_without_rows[i];

		if (row->lack & lacks)
			n += prefix_row(
				code + n, row->nr, row->test, TESTS,
				SECCOMP_RET_ERRNO |
					(row->nr == SYS_socket ? EAFNOSUPPORT : EPERM));
	}
	prefix_head(code, n);
	return n;
}
