/* SPDX-License-Identifier: MIT */
/*
 * denied_without.c - calls that are refused where a wall behind them lacks: see
 * denied_without.h
 *
 * Honest programs make these calls, too, so none is a violation. They fail with EPERM,
 * and --learn tells of them. See memfd_create(2), mmap(2), splice(2), socket(7), open(2);
 * Kernel: Documentation/userspace-api/landlock.rst
 */
#include <fcntl.h>
#include <signal.h>
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
static const char holds[] =
	"holds locks on inodes that all jails share, which others see, and which slow them down: --file-locks 0 has none";
static const char widens[] = "runs on more than the one CPU of --deterministic";

static const char left[] =
	"leaves flow labels, counters and ports in a network namespace that another jail gets next";
static const char again[] =
	"tells two jails that they have had the same network namespace";

#define NETNS_COOKIE 71 /* SO_NETNS_COOKIE, Linux 5.14 */
/* where this lacks, the call is refused; if tests are given, where all of them hold */
#define DENY(lacking, name, why, ...)                                                    \
	{                                                                                \
		DENIED_WITHOUT_##lacking, #name, SYS_##name, { __VA_ARGS__ }, why        \
	}
#define ALWAYS PREFIX_BITS(0, 0, 0)
/* one half of the argument is not 0: it is no null pointer */
#define NO_NULL(number, is_high)                                                         \
	{                                                                                \
		.arg = (number), .mask = UINT32_MAX, .high = (is_high), .differs = true  \
	}
/* O_WRONLY and O_RDWR take the right to write, which every ABI has. What is no writing to
 * Landlock is O_RDONLY, which is 0, and both bits at once: the kernel asks the file's
 * mode for reading and writing then, and opens it for neither. */
#define EMPTIES(arg, access) PREFIX_BITS(arg, O_TRUNC | ACCESS, O_TRUNC | (access))
#define OPTION(is) PREFIX_IS(1, SOL_SOCKET), PREFIX_IS(2, is)

const struct denied_without_row denied_without_rows[] = {
	DENY(NO_CGROUP, memfd_create, hidden, PREFIX_BITS(1, MEMFD_EXEC, 0)),
	DENY(NO_CGROUP, mmap, unlisted, PREFIX_BITS(3, UNLISTED, UNLISTED)),
	DENY(NO_CGROUP, splice, pinned, ALWAYS),
	DENY(NO_CGROUP, sendfile, pinned, ALWAYS),
	DENY(NO_CGROUP, setsockopt, enlarged, OPTION(SO_SNDBUF)),
	DENY(NO_CGROUP, setsockopt, enlarged, OPTION(SO_RCVBUF)),
	DENY(NO_TRUNCATE, truncate, truncates, ALWAYS),
#ifdef SYS_open
	DENY(NO_TRUNCATE, open, truncates, EMPTIES(1, O_RDONLY)),
	DENY(NO_TRUNCATE, open, truncates, EMPTIES(1, ACCESS)),
#endif
	DENY(NO_TRUNCATE, openat, truncates, EMPTIES(2, O_RDONLY)),
	DENY(NO_TRUNCATE, openat, truncates, EMPTIES(2, ACCESS)),
	DENY(LOCKED, rt_sigaction, unwaited, PREFIX_IS(0, SIGCHLD), NO_NULL(1, false)),
	DENY(LOCKED, rt_sigaction, unwaited, PREFIX_IS(0, SIGCHLD), NO_NULL(1, true)),
	DENY(OWN_NETWORK, socket, left, PREFIX_IS(0, AF_INET)),
	DENY(OWN_NETWORK, socket, left, PREFIX_IS(0, AF_INET6)),
	DENY(OWN_NETWORK, getsockopt, again, OPTION(NETNS_COOKIE)),
	DENY(ONE_CPU, sched_setaffinity, widens, ALWAYS),
	DENY(FILE_LOCKS, flock, holds, ALWAYS),
	DENY(FILE_LOCKS, fcntl, holds, PREFIX_IS(1, F_GETLK)),
	DENY(FILE_LOCKS, fcntl, holds, PREFIX_BITS(1, ~1U, F_SETLK)), /* F_SETLKW, too */
	DENY(FILE_LOCKS, fcntl, holds, PREFIX_BITS(1, ~16U, F_SETLEASE)), /* F_SETDELEG */
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
	if (p && p->limit[LIMIT_FILE_LOCKS] == 0)
		lacks |= DENIED_WITHOUT_FILE_LOCKS;
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
