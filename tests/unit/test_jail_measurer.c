/* SPDX-License-Identifier: MIT */
/*
 * test_jail_measurer.c - who takes over a measurer gains next to nothing
 *
 * Each attack is tried by a child of PID 1 of a PID namespace, on PID 2 there: without
 * walls, where it succeeds, and behind those of measure.c, one after the other.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/base/procfs.h"
#include "jail/serve/spawner/measure.h"
#include "jail/walls/mount_op.h"
#include "tests/unit/suites.h"

#define VICTIM 2
#define ID 1879048200u

enum walls { NONE, CONFINED, FILTERED, STRICT, WALLS };

static struct confine by = { .root = -1 };
static int proc; /* as the attacker has it */
static int secret[2] = { 4711, 0 };

static int try_open(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static int try_link(void)
{
	return openat(proc, "1/root/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static int try_write(void)
{
	return openat(proc, "self/oom_score_adj", O_WRONLY | O_CLOEXEC);
}

static int try_memory(void)
{
	int fd = openat(proc, "2/mem", O_RDONLY | O_CLOEXEC);
	long at = (long)&secret[0];

	/* a child may be tried before the victim has written it */
	return fd < 0 ? -1 : (int)syscall(SYS_pread64, fd, &secret[1], sizeof(int), at);
}

static int try_trace(void)
{
	return (int)syscall(SYS_ptrace, PTRACE_SEIZE, VICTIM, 0, 0);
}

static int try_kill(void)
{
	return (int)syscall(SYS_kill, VICTIM, 0);
}

static int try_socket(void)
{
	return (int)syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
}

static int try_fork(void)
{
	int r = (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (r == 0)
		(void)syscall(SYS_exit, 0);
	return r;
}

static int try_exec(void)
{
	char *const words[] = { (char *)(uintptr_t) "/bin/true", NULL };

	return (int)syscall(SYS_execve, words[0], words, words + 1);
}

static int try_code(void)
{
	return syscall(SYS_mmap, 0L, 4096L, (long)(PROT_READ | PROT_EXEC),
		       (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L) < 0
		       ? -1
		       : 0;
}

static const struct {
	const char *name;
	int (*act)(void);   /* negative: errno */
	enum walls stopped; /* by which wall first */
} attacks[] = {
	{ "open", try_open, CONFINED },     { "link", try_link, CONFINED },
	{ "write", try_write, CONFINED },   { "exec", try_exec, CONFINED },
	{ "memory", try_memory, FILTERED }, { "trace", try_trace, FILTERED },
	{ "socket", try_socket, FILTERED }, { "fork", try_fork, FILTERED },
	{ "code", try_code, FILTERED },     { "kill", try_kill, FILTERED },
};

/* never returns; the status is what came of it. By the call itself, see
 * test_jail_confine.c */
static void attack(size_t which, enum walls walls)
{
	int r = 0;

	if (walls >= CONFINED) {
		r = measure_confine(&by, getppid(), proc, by.root);
		proc = by.root;
	}
	if (r == 0 && walls >= FILTERED)
		r = measure_lock(walls == FILTERED);
	if (r < 0)
		(void)syscall(SYS_exit, 255);
	r = attacks[which].act();
	(void)syscall(SYS_exit, r < 0 ? errno : 0);
}

/* of a process whose number is known, and which has the same id or the one above it */
static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return status;
}

static int no_lock(bool opens)
{
	(void)opens;
	return 0;
}

/* behind all walls, and of a process that is there; 0: as it should be */
static int measure_victim(enum spawn_measure kind)
{
	struct measured m = { .errnum = 1 };
	uint64_t value = 0;
	int ends[2], dir = openat(by.root, "2", O_PATH | O_DIRECTORY | O_CLOEXEC);
	pid_t pid = getpid(), measurer;

	if (dir < 0 || pipe2(ends, O_CLOEXEC) < 0 ||
	    measure(kind, dir, VICTIM, no_lock, &value) < 0)
		return -1;
	measurer = fork();
	if (measurer == 0)
		measure_run(&by, pid, kind, dir, VICTIM, ends[1]);
	(void)close(dir);
	(void)close(ends[1]);
	if (wait_for(measurer) != 0 || read(ends[0], &m, sizeof(m)) != sizeof(m) ||
	    m.errnum)
		return -1;
	(void)close(ends[0]);
	if (kind == SPAWN_SHARED)
		return m.bytes != value;
	return m.bytes == 0 || (m.cost_us == 0) != (kind == SPAWN_OWN);
}

/* PID 1: the exit status is the number of an attack, and 16 times the wall, that did not
 * go as it should */
static int try_all(void)
{
	struct err e;
	pid_t victim = fork();

	if (victim == 0)
		for (;;)
			(void)pause();
	proc = mount_proc(MOUNT_WRITABLE, MOUNT_PROC_ALL, &e);
	by.root =
		mount_proc(MOUNT_READ_ONLY | MOUNT_ATTR_NOSYMFOLLOW, MOUNT_PROC_ALL, &e);
	procfs_use(by.root);
	if (victim != VICTIM || proc < 0 || by.root < 0)
		return 250;
	for (enum walls walls = NONE; walls < WALLS; walls++)
		for (size_t i = 0; i < COUNT(attacks); i++) {
			pid_t pid = fork();
			int status;

			if (pid == 0)
				attack(i, walls);
			status = wait_for(pid);
			/* as root, the id of its own stops it before */
			if (by.id && walls == CONFINED && attacks[i].act == try_kill)
				continue;
			if (walls == STRICT ? !WIFSIGNALED(status)
					    : !WIFEXITED(status) ||
						      (WEXITSTATUS(status) ==
						       0) != (walls < attacks[i].stopped))
				return (int)(1 + i + 16 * walls);
		}
	for (enum spawn_measure kind = 0; kind < SPAWN_MEASURES; kind++)
		if (measure_victim(kind) != 0)
			return 240 + (int)kind;
	return 0;
}

START_TEST(an_intruder_gains_nothing)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		bool root = geteuid() == 0;

		by.id = root ? ID : 0;
		if (unshare(CLONE_NEWPID | CLONE_NEWNS | (root ? 0 : CLONE_NEWUSER)) < 0)
			_exit(251);
		pid = fork();
		if (pid == 0)
			(void)syscall(SYS_exit, try_all());
		_exit(WEXITSTATUS(wait_for(pid)));
	}
	status = wait_for(pid);
	ck_assert_msg(status == 0, "status %x: 1 + the attack + 16 * the walls",
		      (unsigned int)status);
}
END_TEST

Suite *jail_measurer_suite(void)
{
	Suite *s = suite_create("jail measurer");
	TCase *c = tcase_create("intruder");

	tcase_set_timeout(c, 120);
	tcase_add_test(c, an_intruder_gains_nothing);
	suite_add_tcase(s, c);
	return s;
}
