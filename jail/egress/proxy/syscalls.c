/* SPDX-License-Identifier: MIT */
/*
 * syscalls.c - what the proxy of a jail may still do once it is confined; confine.c
 *
 * Knowingly excluded: exec; kill and its kin, pidfds, ptrace; bind but for what glibc's
 * look-up needs, listen; unix sockets, raw ones; every open but for reading, which
 * Landlock confines to a few files; memory that is executable. What no row allows fails
 * with EPERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "init/filter.h"

const char filter_name[] = "filter_egress";

const struct filter_row filter_rows[] = {
#include "init/own_syscalls.h"

	{ "fcntl", ARG_EQ, 1, F_SETFL, "O_NONBLOCK; F_SETOWN would signal others" },
	{ "ioctl", ARG_EQ, 1, FIONREAD, "how long is an answer?" },
	{ "openat", ARG_CLEAR, 2, O_ACCMODE | O_CREAT | O_TRUNC, "files to be read" },
	{ "lseek", ALWAYS, 0, 0, "stdio" },
	{ "newfstatat", ALWAYS, 0, 0, "the same; has resolv.conf changed?" },

	{ "accept4", ALWAYS, 0, 0, "connections of the jail" },
	{ "socket", IP_SOCKET, 0, 0, "TCP to hosts, UDP to DNS" },
	{ "socket", ARG_EQ, 0, AF_NETLINK, "getaddrinfo(): this host's addresses" },
	{ "bind", ALWAYS, 0, 0, "the same; without listen, TCP gets nothing" },
	{ "connect", ALWAYS, 0, 0, "hosts that were judged; DNS" },
	{ "sendto", ARG_CLEAR, 3, MSG_FASTOPEN, "sockets" },
	{ "sendmmsg", ARG_CLEAR, 3, MSG_FASTOPEN, "DNS, two questions at once" },
	{ "recvfrom", ALWAYS, 0, 0, "sockets" },
	{ "recvmsg", ALWAYS, 0, 0, "netlink" },
	{ "getsockname", ALWAYS, 0, 0, "which address leads there?" },
	{ "getpeername", ALWAYS, 0, 0, "libcurl" },
	{ "getsockopt", ALWAYS, 0, 0, "did it connect?" },
	{ "setsockopt", ALWAYS, 0, 0, "SO_LINGER; DNS" },
	{ "shutdown", ALWAYS, 0, 0, "an end that is passed on" },
	{ "poll", ALWAYS, 0, 0, "every wait" },
	/* not of datagrams, which reach any unix socket by its path */
	{ "socketpair", ARG_EQ, 1, SOCK_STREAM, "libcurl wakes itself" },
	{ "socketpair", ARG_EQ, 1, SOCK_SEQPACKET | SOCK_CLOEXEC, "a child's row" },

	{ "clone", ARG_EQ, 0, CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD,
	  "fork: a process for a connection, which has RLIMIT_NPROC 0" },
	{ "clone3", NEVER, 0, ENOSYS, "libc then takes clone" },
	{ "set_robust_list", ALWAYS, 0, 0, "libc's fork" },
	/* by its signal, so that it cannot be taken back; no other option takes that
	 * number */
	{ "prctl", ARG_EQ, 1, SIGKILL, "PR_SET_PDEATHSIG: it ends with the first" },
	{ "getppid", ALWAYS, 0, 0, "has that ended?" },
	{ "prlimit64", OWN_LIMIT, 0, 0, "a child's: no process, and 512 MiB" },
	{ "getpid", ALWAYS, 0, 0, "itself" },
	{ "uname", ALWAYS, 0, 0, "the resolver: this host's domain" },
	{ "getrandom", ALWAYS, 0, 0, "keys of TLS" },
	{ "rt_sigprocmask", ALWAYS, 0, 0, "around a fork" },
};

const size_t filter_row_count = COUNT(filter_rows);
