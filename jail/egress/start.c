/* SPDX-License-Identifier: MIT */
/*
 * start.c - start the proxy of a jail: see start.h
 */
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "init/io.h"
#include "init/owner.h"
#include "jail/base/procfs.h"
#include "jail/base/sys.h"
#include "jail/egress/start.h"
#include "jail/launch/shipped.h"
#include "jail/walls/landlock.h"

#define COLLECT_MS 2000
#define HEADER_BYTES (PLACE_HOST_MAX + PLAN_HEADER_NAME_MAX + 16)

/* What a proxy accepts from must be nothing that is always ready and has nobody. */
static int check_port(int port, struct err *e)
{
	int listens = 0;

	(void)getsockopt(port, SOL_SOCKET, SO_ACCEPTCONN, &listens,
			 &(socklen_t){ sizeof(listens) });
	return listens ? 0 : err_say(e, EBADMSG, "egress: no port came through the gate");
}

/* HOST:NAME=FILE becomes HOST:NAME=FD: the proxy has an id that may not open it. */
static int open_header(const char *spec, char *word, struct err *e)
{
	const char *path = strchr(spec, '=') + 1;
	int fd = owner_secret(path, "--secret-header: ", e);

	(void)snprintf(word, HEADER_BYTES, "%.*s%d", (int)(path - spec), spec, fd);
	if (fd < 0)
		return fd;
	return fcntl(fd, F_SETFD, 0) < 0 ? err_set(e, errno, "egress: its fds") : 0;
}

/* Become the proxy, with a socket to it, the log and the port. What is not said to stay
 * open is closed by exec. */
static int become(const struct plan *p, int program, const int fds[3], uid_t id,
		  struct err *e)
{
	const char *argv[4 + PLAN_HOSTS_MAX + PLAN_HEADERS_MAX] = { "stepjail-egress" };
	const char *environment[3] = { NULL };
	char first[96], header[PLAN_HEADERS_MAX][HEADER_BYTES];
	size_t n = 2, count = 0;

	if (fcntl(fds[0], F_SETFD, 0) < 0 || fcntl(fds[1], F_SETFD, 0) < 0 ||
	    fcntl(fds[2], F_SETFD, 0) < 0 || close_range(0, 2, 0) < 0 ||
	    io_hold_standard(O_RDWR) < 0)
		return err_set(e, errno, "egress: its fds");
	(void)snprintf(first, sizeof(first), "%d,%d,%d,%" PRIu64, fds[0], fds[1], fds[2],
		       p->limit[LIMIT_EGRESS_BYTES]);
	argv[1] = first;
	for (size_t i = 0; i < p->host_count; i++)
		argv[n++] = p->host[i];
	argv[n++] = "--";
	for (size_t i = 0; i < p->header_count; i++) {
		if (open_header(p->header[i], header[i], e) < 0)
			return -e->errnum;
		argv[n++] = header[i];
	}
	for (char **at = environ; *at && count < COUNT(environment) - 1; at++)
		if (strncmp(*at, "SSL_CERT_", 9) == 0)
			environment[count++] = *at;
	if (id && (setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0))
		return err_set(e, errno, "egress: become user %u", id);
	(void)syscall(SYS_execveat, program, "", argv, environment, AT_EMPTY_PATH);
	return err_set(e, errno, "egress: start stepjail-egress");
}

static int open_log(struct err *e)
{
	cleanup_fd int fd = memfd_create("egress", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* who shrinks it would kill whoever reads it */
	if (fd < 0 || ftruncate(fd, sizeof(struct egress_log)) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return err_set(e, errno, "egress: make its log");
	return io_steal_fd(&fd);
}

int egress_start(const struct jail *j, int *port, struct egress *g, struct err *e)
{
	char path[PATH_MAX];
	cleanup_fd int program = -1;
	int ends[2];
	uid_t id;

	if (j->plan->host_count == 0)
		return 0;
	if (j->landlock_abi == 0)
		return err_say(
			e, ENOSYS,
			"--allow-host: this kernel has no Landlock, which confines the proxy: " LANDLOCK_REMEDY);

	cleanup_fd int dir = procfs_open(j->pid);

	g->fd[EGRESS_LOG] = open_log(e);
	g->fd[EGRESS_SNMP] = procfs_open_at(dir, "net/snmp", O_RDONLY);
	/* a kernel may have no IPv6 */
	g->fd[EGRESS_SNMP + 1] = procfs_open_at(dir, "net/snmp6", O_RDONLY);
	if (g->fd[EGRESS_SNMP] < 0)
		return err_set(e, -g->fd[EGRESS_SNMP],
			       "egress: open the jail's net/snmp");
	if (g->fd[EGRESS_LOG] >= 0 && check_port(*port, e) == 0)
		program = shipped_program("stepjail-egress", path, sizeof(path), e);
	if (program < 0 || ids_take_other(&j->ids, &id, e) < 0)
		return -e->errnum;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return err_set(e, errno, "egress: socket pair");
	g->fd[EGRESS_SOCKET] = ends[0];
	g->pid = fork();
	if (g->pid == 0) {
		(void)become(j->plan, program,
			     (int[]){ ends[1], g->fd[EGRESS_LOG], *port }, id, e);
		(void)send(ends[1], e, sizeof(*e), MSG_NOSIGNAL);
		_exit(1);
	}
	(void)close(ends[1]);
	io_close_fd(port);
	return g->pid < 0 ? err_set(e, errno, "egress: start a process") : 0;
}

int egress_hear(int socket, int wait_ms, struct err *e)
{
	struct pollfd from = { .fd = socket, .events = POLLIN };
	int r = poll(&from, 1, wait_ms);

	if (r <= 0)
		return err_set(e, r ? errno : ETIMEDOUT, "egress: wait for the proxy");
	if (recv(socket, e, sizeof(*e), MSG_DONTWAIT) != (ssize_t)sizeof(*e))
		return err_say(e, EPIPE, "egress: the proxy ended: see stepjail check");
	e->text[sizeof(e->text) - 1] = '\0';
	return -e->errnum;
}

int egress_map(struct egress *g, struct err *e)
{
	void *at = g->fd[EGRESS_LOG] < 0 ? NULL
					 : mmap(NULL, sizeof(*g->map), PROT_READ,
						MAP_SHARED, g->fd[EGRESS_LOG], 0);

	if (at == MAP_FAILED)
		return err_set(e, errno, "--allow-host: map the log");
	g->map = at;
	io_close_fd(&g->fd[EGRESS_LOG]);
	return 0;
}

void egress_end(struct egress *g)
{
	for (size_t i = 0; i < EGRESS_FDS; i++)
		io_close_fd(&g->fd[i]);
	if (g->map)
		(void)munmap((void *)(uintptr_t)g->map, sizeof(*g->map));
	if (g->pid > 0 && kill(g->pid, SIGKILL) == 0)
		(void)waitpid(g->pid, NULL, 0);
	*g = EGRESS_NONE;
}

void egress_collect(int *socket)
{
	struct pollfd end = { .fd = *socket, .events = POLLIN };

	if (*socket < 0)
		return;
	(void)shutdown(*socket, SHUT_WR);
	(void)poll(&end, 1, COLLECT_MS);
	io_close_fd(socket);
}
