/* SPDX-License-Identifier: MIT */
/*
 * probe.h - the escape corpus: what a probe is, and what it says
 *
 * A probe is one attack. It is a row of a table: the table of its area lies beside its
 * function. It tries one or more doors, and ends as
 *
 *   0   a door opened; the last line of stdout counts how many of how many
 *   1   all held; the last line names what they answered with: errno names, or words
 *   77  something is missing that the attack needs; the last line says what
 *
 * The same binary is the runner (escape.c): what it tables is what it runs. A probe is
 * the jail's own program, never started by a script.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPENED = 0, HELD = 1, LACKS = 77 };

/*
 * The walls. Those with a word can be taken out one by one in the launcher of
 * tests/escape/unwall.c, which is how it is seen which of them an attack needs.
 */
#define WALLS(X)                                                                         \
	X(SECCOMP, "seccomp", "seccomp")                                                 \
	X(SHUT, "shut", "calls shut for what lacks")                                     \
	X(LOCK, "lock-code", "--lock-code")                                              \
	X(CAPS, "capabilities", "no capability")                                         \
	X(NNP, "no-new-privs", "no_new_privs")                                           \
	X(LANDLOCK, "landlock", "Landlock")                                              \
	X(OLD_ROOT, "old-root", "old root detached")                                     \
	X(OVERLAY, "overlay", "overlay in place of binds")                               \
	X(READ_ONLY, "read-only", "read-only mounts")                                    \
	X(PROC_READ_ONLY, "proc-read-only", "read-only /proc")                           \
	X(NOSUID, "nosuid", "nosuid")                                                    \
	X(NODEV, "nodev", "nodev")                                                       \
	X(NOEXEC, "noexec", "noexec")                                                    \
	X(RESOLVE, "resolve", "RESOLVE_NO_SYMLINKS, RESOLVE_BENEATH")                    \
	X(MAGIC_LINKS, "magic-links", "RESOLVE_NO_MAGICLINKS")                           \
	X(SUBSET, "proc-subset", "subset=pid")                                           \
	X(HIDEPID, "hidepid", "hidepid")                                                 \
	X(DUMPABLE, "dumpable", "init is not dumpable")                                  \
	X(TMPFS_SIZE, "tmpfs-size", "size caps of the tmpfs")                            \
	X(TMPFS_INODES, "tmpfs-inodes", "inode caps of the tmpfs")                       \
	X(NET, "net", "network namespace")                                               \
	X(IPC, "ipc", "IPC namespace")                                                   \
	X(UTS, "uts", "UTS namespace")                                                   \
	X(IDS, "ids", "ids of its own (as root)")                                        \
	X(SESSION, "session", "setsid")                                                  \
	X(FDS, "fds", "foreign fds closed")                                              \
	X(STDIO, "stdio", "check of stdin")                                              \
	X(ENVIRONMENT, "environment", "environment from nothing")                        \
	X(NOFILE, "nofile", "RLIMIT_NOFILE")                                             \
	X(LISTENER, "listener-first", "listener sent before RLIMIT_NOFILE falls")        \
	X(NPROC, "nproc", "RLIMIT_NPROC")                                                \
	X(CORE, "core", "RLIMIT_CORE")                                                   \
	X(FSIZE, "fsize", "RLIMIT_FSIZE")                                                \
	X(DATA, "data", "RLIMIT_DATA")                                                   \
	X(MEMLOCK, "memlock", "RLIMIT_MEMLOCK")                                          \
	X(SIGPENDING, "sigpending", "RLIMIT_SIGPENDING")                                 \
	X(CPU, "cpu", "RLIMIT_CPU")                                                      \
	X(PRIORITY, "priority", "RLIMIT_NICE, RLIMIT_RTPRIO")                            \
	X(CAPTURE, "capture", "--capture, --output-limit")                               \
	X(LEASE, "lease", "no socket in a lease")                                        \
	X(WATCH, "watch", "the launcher's watch")                                        \
	X(CGROUP, "cgroup", "cgroup v2 limits")                                          \
	X(MOUNTS, "", "mount namespace")                                                 \
	X(PIDS, "", "PID namespace")                                                     \
	X(USERS, "", "user namespace")                                                   \
	X(CGROUP_NS, "cgroup-ns", "cgroup namespace")                                    \
	X(NODES, "", "/dev of six nodes")                                                \
	X(PLAN, "", "clean paths alone in a plan")                                       \
	X(REPORT, "", "the report is the launcher's word")                               \
	X(KERNEL, "", "the kernel itself")

enum wall_number {
#define X(id, word, text) WALL_##id,
	WALLS(X)
#undef X
		WALL_COUNT
};

#define W(id) (1ULL << WALL_##id)

struct wall {
	const char *word; /* of the launcher without walls; "" if it cannot be removed */
	const char *text;
};
extern const struct wall walls[WALL_COUNT];

struct scene;

/* flags of a row */
enum {
	/* run it bare first: what the kernel lacks shows there, where no filter hides it.
	 * Only for probes that do no harm. */
	CONTROL = 1,
	/* a mended fault of the kernel: outside, it is enough that its precondition is
	 * there, without which the probe says what it lacks */
	MENDED = 2,
	/* that the launcher refuses to start it, with the word that is the row's data, is
	 * the wall; for others it is a failure */
	REFUSED = 4,
	/* a verdict of a limit (memory, wall-timeout, ...) is the wall */
	LIMITED = 8,
};

struct probe {
	const char *name, *attack;
	uint64_t walls; /* what is expected; probe_walls() knows what was seen */
	const struct scene *scene; /* what must be around it; NULL: nothing */
	void (*act)(char **argv);  /* argv: as its scene gives them, NULL at the end */
	unsigned int flags;
	const void *data; /* for a function that several rows share */
};

struct area {
	const char *name;
	const struct probe *probes;
	size_t count;
};

#define AREA(id, title, rows)                                                            \
	const struct area area_##id = { title, rows, sizeof(rows) / sizeof((rows)[0]) }

extern const struct area *const areas[];
extern const size_t area_count;

/* the row being run, for functions that several rows share */
extern const struct probe *probe_self;

/* the walls that were seen to hold it, and those of its row that cannot be removed */
uint64_t probe_walls(const struct probe *p);

const struct probe *probe_find(const char *name);
int probe_main(const char *name, char **argv);

/* a system call's result: negative is held, and errno says by what */
void door(const char *what, long result);

/* a door whose answer is a word of its own, not an errno */
void door_word(const char *what, bool open, const char *word);

/* has the kernel's own code answered? Anything but EPERM and ENOSYS is an answer. */
void door_reach(const char *what, long result);

_Noreturn void probe_lacks(const char *what);
_Noreturn void probe_end(void);
const char *probe_errno(int errnum);

#define PROBE_COPIES_MAX 200 /* musl sends no more control data than this */

/* send one byte with as many copies of stdin, which stay in flight; does not wait */
bool probe_send_stdin(int socket, socklen_t copies);

/* a child of our own that sleeps, as a victim; it never outlives us */
pid_t probe_victim(void);

/*
 * "child": make a victim; "1": the jail's init, our parent. If it is not, the jail is
 * broken and that PID is the host's, which is left alone: the probe ends as one that got
 * out.
 */
pid_t probe_target(const char *word);

/* in a child, so that one success does not help the next; its errno comes back */
long probe_in_child(long (*act)(const void *), const void *data);

/* nobody maps ids here: what this process may, it may do to the whole machine */
bool probe_on_the_machine(void);
/* ends the probe there */
void probe_spares_the_machine(void);

/* argv[n], or the end of the probe where its scene gave no such word */
const char *probe_word(char **argv, int n, const char *what);
long probe_number(char **argv, int n, const char *what);

/* the start of a file, as a string; -1 and errno, or how much was read */
ssize_t probe_read(const char *path, char *text, size_t size);
/* the same path by way of what may be mounted on top of the jail's root; static */
const char *probe_above(const char *path);
bool probe_file_has(const char *path, const char *marker);
