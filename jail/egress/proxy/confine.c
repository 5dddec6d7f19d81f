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

#include "init/filter.h"
#include "init/io.h"
#include "jail/egress/proxy/proxy.h"
#include "jail/walls/landlock.h"

#include "filter_egress.h"

static const char *const readable[] = { "/etc/resolv.conf",
					"/etc/hosts",
					"/etc/nsswitch.conf",
					"/etc/host.conf",
					"/etc/gai.conf",
					"/etc/ssl",
					"/etc/pki",
					"/usr/lib/ssl",
					"/usr/share/ca-certificates",
					"/usr/local/share/ca-certificates" };

/* a path that is not there is not needed */
static int confine_files(uint32_t *told, struct err *e)
{
	const char *const own[] = { getenv("SSL_CERT_FILE"), getenv("SSL_CERT_DIR") };
	struct landlock_path_beneath_attr rules[COUNT(readable) + COUNT(own)];
	size_t n = 0;
	int abi = landlock_abi(e), r;

	for (size_t i = 0; i < COUNT(rules); i++) {
		const char *path = i < COUNT(own) ? own[i] : readable[i - COUNT(own)];
		int fd = path ? open(path, O_PATH | O_CLOEXEC) : -1;
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			continue;
		rules[n].parent_fd = fd;
		rules[n++].allowed_access = LANDLOCK_ACCESS_FS_READ_FILE;
		if (S_ISDIR(st.st_mode))
			rules[n - 1].allowed_access |= LANDLOCK_ACCESS_FS_READ_DIR;
	}
	*told = (uint32_t)abi;
	/* ABI 4 is for TCP, which a proxy needs; of 0, start.c has said what it lacks,
	 * and no ruleset is made */
	r = abi < 0 ? abi : landlock_close(abi < 3 ? abi : 3, rules, n, e);
	while (n > 0)
		(void)close(rules[--n].parent_fd);
	return r;
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
	if (r < 0)
		return err_set(e, -r, "egress: load the filter");

	cleanup_fd int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* it is in force, or nothing is accepted */
	return local < 0 && errno == EPERM
		       ? 0
		       : err_say(e, EPERM, "egress: the filter is not in force");
}
