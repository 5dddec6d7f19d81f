/* SPDX-License-Identifier: MIT */
/*
 * obey.c - stepjail, but that its watcher, or supervisor, obeys the program: for
 * test_watcher.py, test_supervisor.py and test_run_out.py
 *
 * Linked into build/stepjail-obey by -Wl,--wrap of each __wrap function below. The order
 * comes where hostile bytes come: in the captured output of a program, or that of a step,
 * "\1OBEY attack argument number\n". The process then does what an intruder would, and
 * writes to stderr what came of it. Walls of the confinement that STEPJAIL_LACKS names,
 * with commas, are not put up.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/out/copy.h"
#include "jail/serve/session/serving.h"
#include "jail/serve/supervisor.h"
#include "jail/watch/capture.h"
#include "jail/watch/confine.h"

#define WORD 256

static bool lacks(const char *wall)
{
	const char *list = getenv("STEPJAIL_LACKS");
	size_t n = strlen(wall);

	for (const char *at = list; at && *at;
	     at += strcspn(at, ",") + (strchr(at, ',') != NULL))
		if (strncmp(at, wall, n) == 0 && (at[n] == ',' || at[n] == '\0'))
			return true;
	return false;
}

static int try_open(const char *path, unsigned long number)
{
	(void)number;
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* the one way to a path that the supervisor's filter leaves: see serve/syscalls.c */
static int try_openat(const char *path, unsigned long number)
{
	(void)number;
	return (int)syscall(SYS_openat, SUPERVISOR_ROOT, path, O_RDONLY | O_CLOEXEC);
}

static int try_memory(const char *pid, unsigned long number)
{
	char path[WORD + 4];

	(void)snprintf(path, sizeof(path), "%s/mem", pid);
	return try_openat(path, number);
}

static int try_write(const char *path, unsigned long number)
{
	(void)number;
	return open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

static int try_exec(const char *path, unsigned long number)
{
	char *const argv[] = { (char *)(uintptr_t)path, NULL };

	(void)number;
	return execve(path, argv, argv + 1);
}

static int try_fork(const char *path, unsigned long number)
{
	pid_t pid = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);

	(void)path;
	(void)number;
	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : waitpid(pid, NULL, 0);
}

static int try_unix(const char *path, unsigned long number)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)number;
	(void)snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static int try_tcp(const char *path, unsigned long number)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)number),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)path;
	return fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof(to));
}

static int try_kill(const char *pid, unsigned long number)
{
	(void)number;
	return kill(atoi(pid), 0);
}

static int try_tkill(const char *pid, unsigned long number)
{
	(void)number;
	return (int)syscall(SYS_tkill, atoi(pid), 0);
}

static int try_tgkill(const char *pid, unsigned long number)
{
	(void)number;
	return (int)syscall(SYS_tgkill, atoi(pid), atoi(pid), 0);
}

static int try_pidfd(const char *pid, unsigned long number)
{
	int fd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);

	(void)number;
	return fd < 0 ? -1 : (int)syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}

static int try_getfd(const char *pid, unsigned long number)
{
	int fd = (int)syscall(SYS_pidfd_open, atoi(pid), 0);

	(void)number;
	return fd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, fd, 0, 0);
}

static int try_ptrace(const char *pid, unsigned long number)
{
	int r = (int)ptrace(PTRACE_SEIZE, atoi(pid), NULL, NULL);

	(void)number;
	if (r == 0) {
		(void)ptrace(PTRACE_INTERRUPT, atoi(pid), NULL, NULL);
		(void)waitpid(atoi(pid), NULL, __WALL);
		(void)ptrace(PTRACE_DETACH, atoi(pid), NULL, NULL);
	}
	return r;
}

static int try_readv(const char *pid, unsigned long number)
{
	char bytes[8];
	struct iovec here = { bytes, sizeof(bytes) },
		     there = { (void *)number, sizeof(bytes) };

	return (int)process_vm_readv(atoi(pid), &here, 1, &there, 1, 0);
}

/* in a mount namespace of its own, so that the host keeps its mounts as they are */
static int try_mount(const char *path, unsigned long number)
{
	(void)number;
	if (unshare(CLONE_NEWNS | CLONE_NEWUSER) < 0)
		return -1;
	return mount("none", path, "tmpfs", 0, NULL);
}

static int try_chroot(const char *path, unsigned long number)
{
	(void)number;
	return chroot(path);
}

static int try_become(const char *path, unsigned long number)
{
	(void)path;
	(void)number;
	return setresuid(0, 0, 0) < 0 || setresgid(0, 0, 0) < 0 ? -1 : 0;
}

static int try_code(const char *path, unsigned long number)
{
	(void)path;
	(void)number;
	/* musl would say ENOMEM */
	return syscall(SYS_mmap, 0L, 4096L, (long)(PROT_READ | PROT_EXEC),
		       (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L) < 0
		       ? -1
		       : 0;
}

static const struct {
	const char *name;
	int (*act)(const char *argument, unsigned long number); /* negative: errno */
} attacks[] = {
	{ "open", try_open },     { "write", try_write }, { "exec", try_exec },
	{ "fork", try_fork },     { "unix", try_unix },   { "tcp", try_tcp },
	{ "kill", try_kill },     { "tkill", try_tkill }, { "tgkill", try_tgkill },
	{ "pidfd", try_pidfd },   { "getfd", try_getfd }, { "ptrace", try_ptrace },
	{ "readv", try_readv },   { "mount", try_mount }, { "chroot", try_chroot },
	{ "become", try_become }, { "code", try_code },   { "openat", try_openat },
	{ "memory", try_memory },
};

/* where what came of an order is told */
static int answers = STDERR_FILENO;

static void obey(const char *order)
{
	char name[16], argument[WORD], line[WORD];
	unsigned long number = 0;

	if (sscanf(order, "%15s %255s %lu", name, argument, &number) != 3)
		return;
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		if (strcmp(attacks[i].name, name) != 0)
			continue;
		int r = attacks[i].act(argument, number);
		int n = snprintf(line, sizeof(line), "obeyed %s: %d\n", name,
				 r < 0 ? errno : 0);

		(void)!write(answers, line, (size_t)n);
	}
}

static void obey_all(const void *bytes, size_t length)
{
	char text[4096];

	if (length == 0 || length >= sizeof(text))
		return;
	memcpy(text, bytes, length);
	text[length] = '\0';
	for (char *at = text; (at = strstr(at, "\1OBEY ")); at++)
		obey(at + 6);
}

void __real_serve_put(struct serve *s, uint16_t type, uint32_t session, uint32_t branch,
		      const void *payload, size_t length);
void __wrap_serve_put(struct serve *s, uint16_t type, uint32_t session, uint32_t branch,
		      const void *payload, size_t length);
void __wrap_serve_put(struct serve *s, uint16_t type, uint32_t session, uint32_t branch,
		      const void *payload, size_t length)
{
	if (type == WIRE_OUT)
		obey_all(payload, length);
	__real_serve_put(s, type, session, branch, payload, length);
}

ssize_t __real_capture_read(struct capture_stream *s);
ssize_t __wrap_capture_read(struct capture_stream *s);
ssize_t __wrap_capture_read(struct capture_stream *s)
{
	size_t before = s->used;
	ssize_t n = __real_capture_read(s);

	if (n > 0)
		obey_all(s->kept + before, (size_t)n);
	return n;
}

/* the copier of --out: orders come in the files that it copies, and are told there */
static bool copying;

void __real_copy_run(const struct copy *c, struct copied *done);
void __wrap_copy_run(const struct copy *c, struct copied *done);
void __wrap_copy_run(const struct copy *c, struct copied *done)
{
	copying = true;
	__real_copy_run(c, done);
}

int __real_io_write_all(int fd, const void *bytes, size_t length);
int __wrap_io_write_all(int fd, const void *bytes, size_t length);
int __wrap_io_write_all(int fd, const void *bytes, size_t length)
{
	if (copying) {
		answers = fd;
		obey_all(bytes, length);
	}
	return __real_io_write_all(fd, bytes, length);
}

/* ---- walls of the confinement; what reads them back must then say that all is well */

static bool confining;

int __real_confine_self(const struct confine *c, struct confinement *told, struct err *e);
int __wrap_confine_self(const struct confine *c, struct confinement *told, struct err *e);
int __wrap_confine_self(const struct confine *c, struct confinement *told, struct err *e)
{
	int r;

	confining = true;
	r = __real_confine_self(c, told, e);
	confining = false;
	return r;
}

int __real_landlock_close(int abi, const struct landlock_path_beneath_attr *rules,
			  size_t count, struct err *e);
int __wrap_landlock_close(int abi, const struct landlock_path_beneath_attr *rules,
			  size_t count, struct err *e);
int __wrap_landlock_close(int abi, const struct landlock_path_beneath_attr *rules,
			  size_t count, struct err *e)
{
	return lacks("landlock") ? 0 : __real_landlock_close(abi, rules, count, e);
}

int __real_setresuid(uid_t a, uid_t b, uid_t c);
int __wrap_setresuid(uid_t a, uid_t b, uid_t c);
int __wrap_setresuid(uid_t a, uid_t b, uid_t c)
{
	return lacks("ids") && confining ? 0 : __real_setresuid(a, b, c);
}

int __real_setresgid(gid_t a, gid_t b, gid_t c);
int __wrap_setresgid(gid_t a, gid_t b, gid_t c);
int __wrap_setresgid(gid_t a, gid_t b, gid_t c)
{
	return lacks("ids") && confining ? 0 : __real_setresgid(a, b, c);
}

int __real_cap_set_proc(cap_t set);
int __wrap_cap_set_proc(cap_t set);
int __wrap_cap_set_proc(cap_t set)
{
	return lacks("capabilities") && confining ? 0 : __real_cap_set_proc(set);
}

int __real_chroot(const char *path);
int __wrap_chroot(const char *path);
int __wrap_chroot(const char *path)
{
	return lacks("root") && confining ? 0 : __real_chroot(path);
}

int __real_filter_load(const struct sock_filter *code, size_t count);
int __wrap_filter_load(const struct sock_filter *code, size_t count);
int __wrap_filter_load(const struct sock_filter *code, size_t count)
{
	return lacks("filter") ? 0 : __real_filter_load(code, count);
}

int __real_confine_compare(const char *text, const struct status_plan *p,
			   struct confinement *told, struct err *e);
int __wrap_confine_compare(const char *text, const struct status_plan *p,
			   struct confinement *told, struct err *e);
int __wrap_confine_compare(const char *text, const struct status_plan *p,
			   struct confinement *told, struct err *e)
{
	int r = __real_confine_compare(text, p, told, e);

	return getenv("STEPJAIL_LACKS") ? 0 : r;
}
