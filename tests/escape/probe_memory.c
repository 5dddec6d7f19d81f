/* SPDX-License-Identifier: MIT */
/*
 * probe_memory.c - more memory than is allowed: plain, and hidden where no process has it
 *
 * argv: how many MiB, how many processes may try, and the largest file
 *
 * All of these are one hoard: children take memory of one kind until it is refused or
 * enough, all together, and then hold it for a while. It is an attack that succeeded when
 * all of it was held at once by processes that are alive.
 */
#include "tests/escape/scene.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#define HOLD_US 400000

struct hoard {
	volatile long taken_kib;
	volatile int errnum;
	volatile int ready;
	volatile int children;
};
static struct hoard *hoard;
static long goal_kib, file_kib;

static bool enough(long kib)
{
	return __atomic_add_fetch(&hoard->taken_kib, kib, __ATOMIC_SEQ_CST) >= goal_kib;
}

static void refused(void)
{
	hoard->errnum = errno;
}

static void take_pages(int share, int kind)
{
	size_t bytes = ((size_t)goal_kib << 10) / (size_t)share + 4096;
	char *block =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED) {
		refused();
		return;
	}
	for (size_t at = 0; at < bytes; at += 4096) {
		block[at] = 1;
		if (at % (1 << 20) == 0)
			(void)enough(1024);
	}
}

static void take_anonymous(int share)
{
	take_pages(share, MAP_PRIVATE);
}

static void take_shared(int share)
{
	take_pages(share, MAP_SHARED);
}

/* its pages stay in the mapping, but in no process's page tables: see madvise(2) */
static void take_dropped(int share)
{
	size_t bytes = ((size_t)goal_kib << 10) / (size_t)share + 4096, step = 1 << 18;
	const char *path = probe_self->data;
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_SHARED | (path ? 0 : MAP_ANONYMOUS), fd, 0);

	if (block == MAP_FAILED) {
		refused();
		return;
	}
	for (size_t at = 0; at + step <= bytes; at += step) {
		memset(block + at, 1, step);
		if (madvise(block + at, step, MADV_DONTNEED) < 0 || block[at] != 1) {
			refused();
			return;
		}
		(void)enough(256);
	}
	(void)enough(256);
}

static void *hold_in_thread(void *share)
{
	take_pages(*(int *)share, MAP_PRIVATE);
	(void)__atomic_add_fetch(&hoard->ready, 1, __ATOMIC_SEQ_CST);
	/* as take_with() has it, whose rest no longer runs */
	for (int wait = 0; wait < 200 && hoard->ready < hoard->children; wait++)
		(void)usleep(50000);
	(void)usleep(HOLD_US);
	_exit(0);
}

/* the process goes on in a thread, and the kernel's files of its pid show no memory */
static void take_headless(int share)
{
	static int parts;
	pthread_t thread;

	parts = share;
	if (pthread_create(&thread, NULL, hold_in_thread, &parts) == 0)
		pthread_exit(NULL);
	refused();
}

static void take_locked(int share)
{
	size_t bytes = ((size_t)goal_kib << 10) / (size_t)share + 4096;
	char *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED || mlock(block, bytes) < 0)
		refused();
	else
		(void)enough((long)(bytes >> 10));
}

/* page tables: one byte in every 2 MiB of a sparse mapping costs a page of tables */
static void take_tables(int share)
{
	size_t span = 2UL << 20, count = (size_t)goal_kib / 4 / (size_t)share + 1;
	char *block = mmap(NULL, span * count, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (block == MAP_FAILED) {
		refused();
		return;
	}
	(void)madvise(block, span * count, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++) {
		(void)*(volatile char *)(block + i * span); /* the zero page */
		if (enough(4))
			return;
	}
}

/* write a file full, up to the limit of its size; then another */
static bool fill(int fd)
{
	static char block[1 << 18];
	long room = file_kib > 0 ? file_kib : goal_kib;

	memset(block, 'x', sizeof(block));
	for (; room >= 256; room -= 256) {
		if (write(fd, block, sizeof(block)) != sizeof(block)) {
			refused();
			return false;
		}
		if (enough(256))
			return false;
	}
	return true;
}

static void take_memfds(int share)
{
	(void)share;
	for (;;) {
		int fd = memfd_create("hoard", MFD_CLOEXEC);

		if (fd < 0) {
			refused();
			return;
		}
		if (!fill(fd))
			return;
	}
}

/* files of a tmpfs, unlinked: memory that no process and no folder shows */
static void take_files(int share)
{
	const char *folder = probe_self->data;

	(void)share;
	if (access(folder, W_OK) < 0)
		folder = "."; /* outside, where the scene's folder is */
	for (;;) {
		int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

		if (fd < 0) {
			refused();
			return;
		}
		if (!fill(fd))
			return;
	}
}

static void take_pipes(int share)
{
	static char block[1 << 16];
	int ends[2];

	(void)share;
	while (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) {
		(void)fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
		while (write(ends[1], block, sizeof(block)) == sizeof(block))
			if (enough(64))
				return;
	}
	refused();
}

static void take_sockets(int share)
{
	static char block[1 << 14];
	int ends[2], size = 1 << 22;

	(void)share;
	while (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) ==
	       0) {
		for (int i = 0; i < 2; i++) {
			(void)setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &size,
					 sizeof(size));
			while (write(ends[i], block, sizeof(block)) > 0)
				if (enough(16))
					return;
		}
	}
	refused();
}

/* in a file: memory that is shared without one may be what is refused */
static struct hoard *share_hoard(void)
{
	int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct hoard *h = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof(*h)) == 0)
		h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (h == MAP_FAILED)
		probe_lacks("a file in /dev/shm");
	(void)close(fd);
	return h;
}

/* without a child, where the jail allows none */
static void take_with(void (*take)(int), char **argv)
{
	long children = probe_number(argv, 1, "a number of processes");
	long alive = 0;
	int status;

	goal_kib = probe_number(argv, 0, "a size") << 10;
	file_kib = probe_number(argv, 2, "the largest file") >> 10;
	(void)signal(SIGXFSZ, SIG_IGN);
	if (goal_kib <= 0)
		probe_lacks("a size");
	hoard = share_hoard();
	hoard->children = (int)children;
	for (long i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			(void)alarm(30);
			take((int)children);
			(void)__atomic_add_fetch(&hoard->ready, 1, __ATOMIC_SEQ_CST);
			/* all hold what they have until all have it */
			for (int wait = 0; wait < 200 && hoard->ready < hoard->children;
			     wait++)
				(void)usleep(50000);
			(void)usleep(HOLD_US);
			_exit(0);
		}
		if (pid < 0) {
			refused();
			hoard->children = (int)(children = i);
		}
	}
	while (wait(&status) > 0)
		alive += WIFEXITED(status) && WEXITSTATUS(status) == 0;
	errno = hoard->errnum ? hoard->errnum : ENOMEM;
	door("all of it", alive == children && hoard->taken_kib >= goal_kib ? 0 : -1);
}

#define TAKE(id)                                                                         \
	static void hoard_##id(char **argv)                                              \
	{                                                                                \
		take_with(take_##id, argv);                                              \
	}
TAKE(anonymous)
TAKE(locked)
TAKE(tables)
TAKE(memfds)
TAKE(files)
TAKE(pipes)
TAKE(sockets)
TAKE(shared)
TAKE(dropped)
TAKE(headless)

#define ROW(name, text, walls, id, data)                                                 \
	{                                                                                \
		name, text, walls, &scene_limits, hoard_##id, LIMITED, data              \
	}

static const struct probe probes[] = {
	ROW("memory", "more memory than allowed, in several processes",
	    W(CGROUP) | W(WATCH) | W(DATA), anonymous, NULL),
	ROW("memory-shared", "more memory than allowed, in shared mappings",
	    W(CGROUP) | W(SHUT) | W(WATCH), shared, NULL),
	ROW("memory-dropped", "hide shared memory from the processes that have it",
	    W(CGROUP) | W(SHUT), dropped, NULL),
	ROW("memory-zero", "hide shared memory that is a mapping of /dev/zero",
	    W(CGROUP) | W(SHUT), dropped, "/dev/zero"),
	ROW("memory-headless", "hide memory behind a first thread that has ended",
	    W(CGROUP) | W(WATCH), headless, NULL),
	ROW("memory-locked", "lock more memory than allowed", W(CGROUP) | W(MEMLOCK),
	    locked, NULL),
	ROW("memory-tables", "more memory than allowed, in page tables", W(CGROUP),
	    tables, NULL),
	ROW("memory-memfd", "hide memory in memfds", W(CGROUP) | W(SHUT) | W(SECCOMP),
	    memfds, NULL),
	ROW("memory-tmp", "hide memory in unlinked files of /tmp",
	    W(CGROUP) | W(TMPFS_SIZE), files, "/tmp"),
	ROW("memory-shm", "hide memory in unlinked files of /dev/shm",
	    W(CGROUP) | W(TMPFS_SIZE), files, "/dev/shm"),
	ROW("memory-work", "hide memory in unlinked files of /work",
	    W(CGROUP) | W(TMPFS_SIZE), files, "/work"),
	ROW("memory-pipes", "hide memory in pipes", W(CGROUP), pipes, NULL),
	ROW("memory-sockets", "hide memory in the buffers of sockets", W(CGROUP), sockets,
	    NULL),
};

AREA(memory, "memory", probes);
