/* SPDX-License-Identifier: MIT */
/*
 * confine.c - the proxy gives up everything but the network, before it accepts a
 * connection
 *
 *	ids		as root, one that is nobody else's: start.c has set it
 *	capabilities	none; no_new_privs; not dumpable
 *	fds		closed by exec, but for those of proxy.h
 *	Landlock	reading what look-ups and certificates need: readable[]
 *	seccomp		syscalls.c
 *
 * Not confined is where it connects to: the rules are its own code's. Who takes it over
 * has the network of its user, and the secrets of --secret-header.
 */
#include <netdb.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <curl/curl.h>

#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>

#include "init/filter.h"
#include "init/io.h"
#include "jail/egress/proxy/proxy.h"

#include "filter_egress.h"

#define FS_ALL_OF_ABI_1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)

static const char *const readable[] = { "/etc/resolv.conf",
					"/etc/hosts",
					"/etc/nsswitch.conf",
					"/etc/host.conf",
					"/etc/gai.conf",
					"/etc/services",
					"/etc/protocols",
					"/etc/ssl",
					"/etc/pki",
					"/usr/lib/ssl",
					"/usr/share/ca-certificates",
					"/usr/local/share/ca-certificates" };

/* a path that is not there is not needed */
static int allow(int ruleset, const char *path)
{
	cleanup_fd int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
	struct landlock_path_beneath_attr rule = { LANDLOCK_ACCESS_FS_READ_FILE, fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	if (S_ISDIR(st.st_mode))
		rule.allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH,
			    &rule, 0);
}

static int confine_files(uint32_t *abi, struct err *e)
{
	const struct landlock_ruleset_attr attr = { FS_ALL_OF_ABI_1 };
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0,
			       LANDLOCK_CREATE_RULESET_VERSION);
	cleanup_fd int ruleset =
		(int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	int r = version < 0 || ruleset < 0 ? -1 : 0;

	for (size_t i = 0; r == 0 && i < COUNT(readable); i++)
		r = allow(ruleset, readable[i]);
	r = r ? r : allow(ruleset, getenv("SSL_CERT_FILE"));
	r = r ? r : allow(ruleset, getenv("SSL_CERT_DIR"));
	*abi = (uint32_t)version;
	return r < 0 || syscall(SYS_landlock_restrict_self, ruleset, 0) < 0
		       ? err_set(e, errno, "egress: Landlock")
		       : 0;
}

/* what was done is in force, or nothing is accepted */
static int try_walls(struct err *e)
{
	cleanup_fd int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int errnum = root < 0 ? errno : 0;
	cleanup_fd int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (errnum == EACCES && local < 0 && errno == EPERM)
		return 0;
	return err_say(e, EPERM, "egress: %s is not in force",
		       errnum == EACCES ? "the filter" : "Landlock");
}

int confine(uint32_t *abi, struct err *e)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };
	struct addrinfo *list = NULL;
	int r;

	/* libraries load what they need now, and could not later */
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(e, ENOMEM, "libcurl");
	if (getaddrinfo("localhost", "1", NULL, &list) == 0)
		freeaddrinfo(list);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &head, none) < 0)
		return err_set(e, errno, "egress: give up rights");
	r = confine_files(abi, e);
	if (r < 0)
		return r;
	r = filter_load(filter_egress, COUNT(filter_egress));
	return r < 0 ? err_set(e, -r, "egress: load the filter") : try_walls(e);
}
