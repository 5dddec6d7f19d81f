/* SPDX-License-Identifier: MIT */
/*
 * confine.c - the agent's own jail: its walls in order, and what the kernel says of them
 *
 * See confine.h. The order: what reads /proc is opened first, capabilities and Landlock
 * come before the filter, which would refuse the calls that make them, and before the
 * filter Landlock is tried.
 */
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/capability.h>

#include "agent/base/secret.h"
#include "agent/confine/confine.h"
#include "init/io.h"

#define STATUS_BYTES 8192

/* of /proc/self/status: UINT64_MAX where there is no such line */
struct status {
	uint64_t no_new_privs, seccomp, threads, caps, filters;
};

int confine_add_path(struct confine_policy *p, const char *path, unsigned int makes,
		     struct err *e)
{
	if (p->path_count == CONFINE_PATHS_MAX)
		return err_say(e, E2BIG, "confinement: too many paths");
	p->paths[p->path_count++] = (struct confine_path){ path, makes };
	return 0;
}

int confine_add_port(struct confine_policy *p, uint16_t port, struct err *e)
{
	for (size_t i = 0; i < p->port_count; i++)
		if (p->ports[i] == port)
			return 0;
	if (p->port_count == CONFINE_PORTS_MAX)
		return err_say(e, E2BIG, "confinement: too many ports");
	p->ports[p->port_count++] = port;
	return 0;
}

int confine_early(struct err *e)
{
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, errno, "confinement: PR_SET_DUMPABLE");
	return 0;
}

/* the number behind "\nname:\t" */
static uint64_t number(const char *text, const char *name, int base)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, base) : UINT64_MAX;
}

/* proc(5), of the process that opened @fd. A line that is missing is a wall that is not
 * in force */
static int read_status(int fd, struct status *s, struct err *e)
{
	char text[STATUS_BYTES];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return err_set(e, errno, "confinement: /proc/self/status");
	text[n] = '\0';
	s->no_new_privs = number(text, "\nNoNewPrivs:\t", 10);
	s->seccomp = number(text, "\nSeccomp:\t", 10);
	s->threads = number(text, "\nThreads:\t", 10);
	s->caps = number(text, "\nCapInh:\t", 16) | number(text, "\nCapPrm:\t", 16) |
		  number(text, "\nCapEff:\t", 16) | number(text, "\nCapAmb:\t", 16);
	s->filters = number(text, "\nSeccomp_filters:\t", 10);
	return 0;
}

static int drop_capabilities(struct err *e)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	if (syscall(SYS_capset, &head, none) < 0)
		return err_set(e, errno, "confinement: capset");
	return 0;
}

/* what reads back must be what was asked for */
static int compare(const struct status *before, const struct status *after,
		   const struct secret_facts *secret, struct err *e)
{
	const struct {
		bool good;
		const char *name;
	} walls[] = {
		{ after->no_new_privs == 1, "no_new_privs" },
		{ after->seccomp == 2 && (after->filters == UINT64_MAX ||
					  after->filters == before->filters + 1),
		  "the seccomp filter" },
		{ after->caps == 0, "the empty capability sets" },
		{ prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0, "PR_SET_DUMPABLE" },
		{ !secret->dumped && !secret->forked,
		  "the key's memory, without dumps and children," },
	};

	for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++)
		if (!walls[i].good)
			return err_say(e, EPERM, "confinement: %s is not in force",
				       walls[i].name);
	return 0;
}

static int put_up(const struct confine_policy *p, uint64_t threads,
		  struct confine_facts *f, struct secret_facts *secret, struct err *e)
{
	/* Landlock confines the calling thread alone */
	if (threads != 1)
		return err_say(e, EBUSY, "confinement: there is more than one thread");
	f->has_secret = p->secret;
	if (confine_early(e) < 0 ||
	    (p->secret && secret_look(p->secret, p->secret_bytes, secret, e) < 0))
		return -e->errnum;
	f->locked = secret->locked;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, errno, "confinement: no_new_privs");
	f->landlock_abi = confine_landlock_abi(e);
	if (f->landlock_abi < 0 || drop_capabilities(e) < 0 ||
	    (f->landlock_abi && confine_files(p, f->landlock_abi, e) < 0))
		return -e->errnum;
	/* where nothing needs them, the filter refuses open() and socket() altogether */
	f->files = f->landlock_abi >= 1 ||
		   !(p->needs & (CONFINE_READ | CONFINE_CREATE | CONFINE_COLLECT));
	f->ports = f->landlock_abi >= 4 || !(p->needs & CONFINE_CONNECT);
	return confine_calls(p->needs, e);
}

int confine_self(const struct confine_policy *p, struct confine_facts *f, struct err *e)
{
	cleanup_fd int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	cleanup_text struct text missing = { 0 };
	struct status before = { 0 }, after = { 0 };
	struct secret_facts secret = { 0 };

	*f = (struct confine_facts){ 0 };
	if (fd < 0)
		return err_set(e, errno, "confinement: /proc/self/status");
	secret_forget_variables();

	if (read_status(fd, &before, e) < 0 ||
	    put_up(p, before.threads, f, &secret, e) < 0 ||
	    read_status(fd, &after, e) < 0 || compare(&before, &after, &secret, e) < 0)
		return -e->errnum;
	f->counted = after.filters != UINT64_MAX;
	confine_missing(p, f, &missing);
	if (p->required && missing.length)
		return err_say(e, EPERM, "--require-confinement: %s",
			       text_string(&missing));
	return 0;
}
