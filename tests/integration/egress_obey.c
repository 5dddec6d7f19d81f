/* SPDX-License-Identifier: MIT */
/*
 * egress_obey.c - stepjail-egress, but that the process of a connection does what an
 * intruder would do in its place, and tells the jail what came of it: for
 * test_egress_takeover.py
 *
 * Linked by -Wl,--wrap=serve,--wrap=confine. It confines itself unless SSL_CERT_LACKS is
 * in its environment, a name of the kind that start.c lets through. A line for each
 * attack: its name, and 0 or the errno. What the kernel lacks on any host is ENOSYS.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "init/io.h"
#include "jail/egress/proxy/head.h"

int __real_confine(uint32_t *abi, struct err *e);

static int try_open(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int try_write(void)
{
	return open("/tmp", O_TMPFILE | O_RDWR, 0600);
}

static int try_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

/* a datagram to a path, over a socket that a pair gave */
static int try_datagram(void)
{
	struct sockaddr_un to = { AF_UNIX, "/dev/log" };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) < 0)
		return -1;
	(void)sendto(ends[0], "x", 1, 0, (struct sockaddr *)&to, sizeof(to));
	return 0;
}

static int try_exec(void)
{
	char *argv[] = { (char *)(uintptr_t) "/bin/true", NULL };

	return execve(argv[0], argv, NULL);
}

static int try_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid;
}

static int try_survive(void)
{
	return prctl(PR_SET_PDEATHSIG, 0);
}

static int try_listen(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -1
									  : listen(fd, 1);
}

static int try_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0) == MAP_FAILED
		       ? -1
		       : 0;
}

static int try_signal(void)
{
	return kill(getppid(), 0);
}

static int try_trace(void)
{
	pid_t parent = getppid();

	if (ptrace(PTRACE_ATTACH, parent, NULL, NULL) < 0)
		return -1;
	/* it still has to close its copy of the connection */
	(void)waitpid(parent, NULL, __WALL);
	return (int)ptrace(PTRACE_DETACH, parent, NULL, NULL);
}

static int try_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static int try_processes(void)
{
	const struct rlimit more = { 100, 100 };

	return setrlimit(RLIMIT_NPROC, &more);
}

static int try_uring(void)
{
	char params[256] = { 0 };

	return (int)syscall(SYS_io_uring_setup, 1, params);
}

static int try_owner(void)
{
	return fcntl(0, F_SETOWN, getppid());
}

static int try_dump(void)
{
	return prctl(PR_SET_DUMPABLE, 1);
}

/* is the log still there to be written? */
static int try_log(void)
{
	char line[512];
	FILE *maps = fopen("/proc/self/maps", "re");
	int found = -1;

	if (!maps)
		return -1;
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:egress"))
			found = 0;
	(void)fclose(maps);
	return found;
}

static int try_users(void)
{
	return try_open("/etc/passwd");
}

static int try_root(void)
{
	return try_open("/");
}

static int try_proc(void)
{
	return try_open("/proc/1/status");
}

/* what it needs, and has: so that the rest is seen to be told truly */
static int need_names(void)
{
	return try_open("/etc/hosts");
}

static int need_network(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static const struct {
	const char *name;
	int (*act)(void);
} attacks[] = {
	{ "needs:names", need_names },
	{ "needs:network", need_network },
	{ "read users", try_users },
	{ "read the root", try_root },
	{ "read processes", try_proc },
	{ "write a file", try_write },
	{ "a unix socket", try_unix },
	{ "a datagram to a path", try_datagram },
	{ "fork", try_fork },
	{ "more processes", try_processes },
	{ "outlive the proxy", try_survive },
	{ "listen", try_listen },
	{ "code", try_code },
	{ "signal", try_signal },
	{ "signal by an owner", try_owner },
	{ "trace", try_trace },
	{ "a namespace", try_namespace },
	{ "io_uring", try_uring },
	{ "be dumped", try_dump },
	{ "the log", try_log },
	/* the last: without the walls nothing comes after it */
	{ "execute", try_exec },
};

void __wrap_serve(struct connection *c);
void __wrap_serve(struct connection *c)
{
	for (size_t i = 0; i < sizeof(attacks) / sizeof(attacks[0]); i++) {
		char line[128];
		int r = attacks[i].act();
		int n = snprintf(line, sizeof(line), "%s=%d\n", attacks[i].name,
				 r < 0 ? errno : 0);

		(void)send(c->client, line, (size_t)n, MSG_NOSIGNAL);
	}
	c->row->end = EGRESS_DONE;
}

int __wrap_confine(uint32_t *abi, struct err *e);
int __wrap_confine(uint32_t *abi, struct err *e)
{
	return getenv("SSL_CERT_LACKS") ? 0 : __real_confine(abi, e);
}
