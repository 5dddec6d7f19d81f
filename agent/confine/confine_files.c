/* SPDX-License-Identifier: MIT */
/*
 * confine_files.c - Landlock around the agent: files and TCP ports. See confine.h
 *
 * Everything that the kernel's ABI can refuse is refused, but for the rules of the
 * policy. What is open already stays open: the transcript, the terminal, the broker's
 * socket.
 *
 * Not among the scopes of ABI 6 is that of signals: a stepjail that hangs is ended by
 * this process, and lies outside. What is signalled needs a pidfd that the broker gave:
 * see confine_calls.c. Kernel: Documentation/userspace-api/landlock.rst
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <linux/landlock.h>

#include "agent/confine/confine.h"
#include "init/io.h"

/* numbers, for Debian 12's linux/landlock.h ends at ABI 2 */
#define FS_OF_ABI_1 ((1ULL << 13) - 1) /* EXECUTE to MAKE_SYM */
#define FS_TRUNCATE (1ULL << 14)       /* ABI 3 */
#define NET_BIND_TCP (1ULL << 0)       /* ABI 4 */
#define NET_CONNECT_TCP (1ULL << 1)    /* ABI 4 */
#define FS_IOCTL_DEV (1ULL << 15)      /* ABI 5 */
#define SCOPE_ABSTRACT (1ULL << 0)     /* ABI 6 */
#define RULE_NET_PORT 2

#define READ_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define CREATE_RIGHTS (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG)

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

struct port_rule {
	uint64_t allowed, port;
};

int confine_landlock_abi(struct err *e)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);

	/* not built in, or not enabled at boot; any other answer is no absence */
	if (abi < 0 && (errno == ENOSYS || errno == EOPNOTSUPP))
		return 0;
	return abi < 0 ? err_set(e, errno, "confinement: ask for Landlock's ABI")
		       : (int)abi;
}

static int add_path(int ruleset, const struct confine_path *p, uint64_t handled,
		    struct err *e)
{
	cleanup_fd int fd = open(p->path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = {
		.allowed_access =
			(READ_RIGHTS | (p->makes ? CREATE_RIGHTS : 0) |
			 (p->makes & CONFINE_KEEP ? LANDLOCK_ACCESS_FS_REMOVE_FILE : 0) |
			 (p->makes & CONFINE_COLLECT ? LANDLOCK_ACCESS_FS_MAKE_DIR : 0)) &
			handled,
		.parent_fd = fd,
	};
	struct stat st;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES))
		return 0; /* then it cannot be opened later on, either */
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, errno, "confinement: %s", p->path);
	/* a right that only folders have is refused on a file */
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= LANDLOCK_ACCESS_FS_READ_FILE;
	if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule,
		    0) < 0)
		return err_set(e, errno, "confinement: allow %s", p->path);
	return 0;
}

/* Not /proc: a folder there stands for its process, and can be signalled by. Nor
 * devices. */
static int add_host(int ruleset, uint64_t handled, struct err *e)
{
	static const char *const closed[] = { ".", "..", "proc", "sys", "dev" };
	DIR *root = opendir("/");
	struct dirent *entry;
	int r = 0;

	if (!root)
		return err_set(e, errno, "confinement: /");
	while (r == 0 && (entry = readdir(root))) {
		char path[sizeof(entry->d_name) + 1];
		bool open = true;

		for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
			open &= strcmp(entry->d_name, closed[i]) != 0;
		(void)snprintf(path, sizeof(path), "/%s", entry->d_name);
		if (open)
			r = add_path(ruleset, &(struct confine_path){ .path = path },
				     handled, e);
	}
	(void)closedir(root);
	return r;
}

static int add_port(int ruleset, uint16_t port, struct err *e)
{
	struct port_rule rule = { NET_CONNECT_TCP, port };

	if (syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &rule, 0) < 0)
		return err_set(e, errno, "confinement: allow port %u", port);
	return 0;
}

/* what no rule ever allows: to open a device for writing */
static int try_file(struct err *e)
{
	cleanup_fd int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (fd < 0 && errno == EACCES)
		return 0;
	return err_say(e, EPERM, "confinement: Landlock did not refuse to open a file");
}

/* to bind, and to connect to a port that no policy has: on this host alone */
static int try_ports(struct err *e)
{
	cleanup_fd int fd =
		socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in to = { .sin_family = AF_INET };

	if (fd < 0)
		return 0; /* what cannot be had cannot be bound */
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0 || errno != EACCES)
		return err_say(e, EPERM, "confinement: Landlock did not refuse to bind");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0 || errno != EACCES)
		return err_say(e, EPERM,
			       "confinement: Landlock did not refuse to connect");
	return 0;
}

int confine_files(const struct confine_policy *p, int abi, struct err *e)
{
	const struct ruleset_attr attr = {
		.fs = FS_OF_ABI_1 | (abi >= 2 ? LANDLOCK_ACCESS_FS_REFER : 0) |
		      (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0),
		.net = abi >= 4 ? NET_BIND_TCP | NET_CONNECT_TCP : 0,
		.scoped = abi >= 6 ? SCOPE_ABSTRACT : 0,
	};
	int r = 0;

	/* trailing zeroes are what an older kernel expects of fields it does not know */
	cleanup_fd int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

	if (ruleset < 0)
		return err_set(e, errno, "confinement: a Landlock ruleset of ABI %d",
			       abi);
	for (size_t i = 0; r == 0 && i < p->path_count; i++)
		r = add_path(ruleset, &p->paths[i], attr.fs, e);
	if (r == 0 && p->read_host)
		r = add_host(ruleset, attr.fs, e);
	for (size_t i = 0; r == 0 && attr.net && i < p->port_count; i++)
		r = add_port(ruleset, p->ports[i], e);
	if (r < 0)
		return r;
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return err_set(e, errno, "confinement: Landlock");
	r = try_file(e);
	return r == 0 && attr.net ? try_ports(e) : r;
}
