/* SPDX-License-Identifier: MIT */
/*
 * main.c - stepjail-egress CONTROL,LOG,LISTENER,LIMIT RULE... -- SECRET...
 *
 * Started by jail/egress/start.c alone, which has checked all of it. The first three are
 * numbers of open fds. It says a struct err on CONTROL, of errnum 0 when it is confined.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/egress/proxy/proxy.h"

#define END_MS 1000

/* the processes of connections; of a slot that is free, the fd is -1 */
#define CONTROL EGRESS_AT_ONCE
#define LISTENER (EGRESS_AT_ONCE + 1)
/* their rows of the log, once they have told what they are asked; lost: for what finds
 * none */
static struct egress_row *noted[EGRESS_AT_ONCE], lost;
static struct pollfd child[] = { [0 ... LISTENER] = { -1, POLLIN, 0 } };

/* of HOST:NAME=FD, which options.c has checked */
static int read_secret(const struct proxy *p, char *spec, struct secret *s, struct err *e)
{
	char *colon = strchr(spec, ':'), *equals = strchr(spec, '=');
	int fd = atoi(equals + 1);
	ssize_t n = io_read_text(fd, s->value, sizeof(s->value));

	(void)close(fd);
	*equals = '\0';
	s->name = colon + 1;
	if (n < 0)
		return err_set(e, (int)-n, "--secret-header: read the file of %s", spec);
	while (n > 0 && strchr("\r\n", s->value[n - 1]))
		s->value[--n] = '\0';
	for (ssize_t i = 0; i < n || i == 0; i++)
		if (s->value[i] < ' ' || s->value[i] > '~')
			return err_say(
				e, EINVAL,
				"--secret-header: the file of %s must have one line, of ASCII without control bytes",
				spec);
	if (place_read(spec, (size_t)(colon - spec), 443, false, &s->to, e) < 0)
		return err_within(e, "--secret-header: ");
	return find_rule(p, &s->to)
		       ? 0
		       : err_say(e, EINVAL,
				 "--secret-header: %s:443 is not allowed: --allow-host %s:443",
				 s->to.host, s->to.host);
}

static int read_words(struct proxy *p, char **argv, struct err *e)
{
	int r = 0;

	for (; r == 0 && *argv && strcmp(*argv, "--") != 0; argv++)
		for (const char *rest = *argv; r == 0 && *rest;)
			r = p->rules < EGRESS_RULES
				    ? place_next(&rest, &p->rule[p->rules++], e)
				    : err_say(e, E2BIG, "--allow-host: too many: %d",
					      EGRESS_RULES);
	for (argv += *argv != NULL; r == 0 && *argv; argv++)
		r = read_secret(p, *argv, &p->secret[p->secrets++], e);
	return r;
}

/* @fd: of the log */
static int prepare(struct proxy *p, int fd, struct err *e)
{
	(void)signal(SIGPIPE, SIG_IGN);
	/* the kernel reaps */
	(void)signal(SIGCHLD, SIG_IGN);
	p->log = mmap(NULL, sizeof(*p->log), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	p->shared = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	(void)close(fd);
	return p->log == MAP_FAILED || p->shared == MAP_FAILED
		       ? err_set(e, errno, "egress: prepare")
		       : 0;
}

/* The row of the log for that of a connection. Refused ones have few; an allowed one that
 * finds none left has that of its rule. */
static struct egress_row *find_row(const struct proxy *p, struct egress_row *row)
{
	bool allowed = egress_words[row->end].allowed;
	struct egress_row *to = p->log->row, *end = to + p->log->rows;
	const struct place *rule = allowed ? find_rule(p, &row->to) : NULL;
	uint32_t alike = 0;

	for (; to < end; to++)
		if (egress_words[to->end].allowed == allowed) {
			if (strcmp(to->to.host, row->to.host) == 0 &&
			    to->to.port == row->to.port)
				return to;
			alike++;
		}
	if (alike >= EGRESS_NAMES && !rule) {
		p->log->more++;
		return &lost;
	}
	if (alike >= EGRESS_NAMES && strcmp(rule->host, row->to.host) != 0) {
		row->to = *rule;
		return find_row(p, row);
	}
	*to = (struct egress_row){ .to = row->to,
				   .end = allowed ? EGRESS_DONE : row->end };
	p->log->rows++;
	return to;
}

/* What a process has told before it goes on, or at its end. It can have written anything,
 * and has one row of the log, once. */
static void note(const struct proxy *p, size_t slot, bool ended)
{
	struct egress_row row = p->shared->row[slot], **to = &noted[slot];

	egress_clamp(&row);
	if (!*to) {
		*to = find_row(p, &row);
		(*to)->times++;
	}
	if (ended) {
		(*to)->sent += row.sent;
		(*to)->received += row.received;
	}
	if (row.failed || row.end == (ended ? EGRESS_DONE : EGRESS_OPEN))
		return;
	(*to)->failed++;
	if (egress_words[row.end].allowed == egress_words[(*to)->end].allowed)
		(*to)->end = row.end;
}

/* Hear a process: its row is to be noted, or it has ended. */
static void hear(const struct proxy *p, size_t slot)
{
	char word;
	bool ended = recv(child[slot].fd, &word, 1, MSG_DONTWAIT) != 1;

	note(p, slot, ended);
	if (ended || send(child[slot].fd, &word, 1, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		io_close_fd(&child[slot].fd);
}

static _Noreturn void be_child(struct proxy *p, size_t slot, int client, int socket,
			       pid_t parent)
{
	const struct rlimit none = { 0 }, memory = { 512u << 20, 512u << 20 };
	struct connection c = { .proxy = p,
				.row = &p->shared->row[slot],
				.parent = socket,
				.client = client,
				.server = -1 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    setrlimit(RLIMIT_NPROC, &none) < 0 || setrlimit(RLIMIT_AS, &memory) < 0 ||
	    munmap(p->log, sizeof(*p->log)) < 0)
		_exit(1);
	(void)close(p->listener);
	for (size_t i = 0; i < EGRESS_AT_ONCE; i++)
		io_close_fd(&child[i].fd);
	serve(&c);
	_exit(0);
}

static void take(struct proxy *p)
{
	pid_t parent = getpid();
	size_t slot = 0;
	cleanup_fd int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	int ends[2];

	while (child[slot].fd >= 0)
		slot++;
	if (client < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return;
	p->shared->row[slot] = (struct egress_row){ .end = EGRESS_OPEN };
	noted[slot] = NULL;
	if (fork() == 0)
		be_child(p, slot, client, ends[1], parent);
	(void)close(ends[1]);
	child[slot].fd = ends[0];
}

static void run(struct proxy *p)
{
	uint64_t until = 0;

	child[CONTROL].fd = p->control;
	for (;;) {
		size_t busy = 0;
		uint64_t now = clock_now_ms();

		for (size_t i = 0; i < EGRESS_AT_ONCE; i++)
			busy += child[i].fd >= 0;
		if (until && (busy == 0 || now >= until))
			break;
		child[LISTENER].fd = until || busy == EGRESS_AT_ONCE ? -1 : p->listener;
		if (poll(child, EGRESS_AT_ONCE + 2, until ? (int)(until - now) : -1) <= 0)
			continue;
		for (size_t i = 0; i < EGRESS_AT_ONCE; i++)
			if (child[i].revents)
				hear(p, i);
		if (child[LISTENER].revents)
			take(p);
		if (child[CONTROL].revents) {
			child[CONTROL].fd = -1;
			until = clock_now_ms() + END_MS;
		}
	}
	for (size_t i = 0; i < EGRESS_AT_ONCE; i++)
		if (child[i].fd >= 0)
			note(p, i, true);
	p->log->whole = 1;
}

int main(int argc, char **argv)
{
	static struct proxy p;
	struct err e = { 0 };
	int log_fd, r;

	if (argc < 3 || sscanf(argv[1], "%d,%d,%d,%" SCNu64, &p.control, &log_fd,
			       &p.listener, &p.limit_bytes) != 4)
		return 125;
	r = read_words(&p, argv + 2, &e);
	r = r ? r : prepare(&p, log_fd, &e);
	r = r ? r : confine(&p.log->landlock_abi, &e);
	if (send(p.control, &e, sizeof(e), MSG_NOSIGNAL) < 0 || r < 0)
		return 125;
	run(&p);
	return 0;
}
