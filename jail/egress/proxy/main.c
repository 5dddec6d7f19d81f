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
#include <sys/wait.h>

#include <curl/curl.h>

#include "init/io.h"
#include "jail/base/clock.h"
#include "jail/egress/proxy/proxy.h"

#define RULES_MAX 64
#define END_MS 1000
#define MEMORY_BYTES (512u << 20)

static struct place rules[RULES_MAX];
static struct secret secrets[SECRETS_MAX];
static pid_t child[EGRESS_AT_ONCE]; /* 0: the slot is free */

/* of HOST:NAME=FD, which start.c has checked */
static int read_secret(const char *spec, struct secret *s, struct err *e)
{
	const char *colon = strchr(spec, ':'), *equals = strchr(spec, '=');
	int name = (int)(equals - spec), fd = atoi(equals + 1);
	ssize_t n = io_read_text(fd, s->value, sizeof(s->value));
	size_t length = n < 0 ? 0 : strcspn(s->value, "\r\n");

	(void)close(fd);
	if (n < 0)
		return err_set(e, (int)-n, "--secret-header: read the file of %.*s", name,
			       spec);
	(void)snprintf(s->host, sizeof(s->host), "%.*s", (int)(colon - spec), spec);
	(void)snprintf(s->name, sizeof(s->name), "%.*s", (int)(equals - colon - 1),
		       colon + 1);
	if (length == 0 || (size_t)n > length + 2)
		return err_say(e, EINVAL,
			       "--secret-header: the file of %.*s must have one line",
			       name, spec);
	s->value[length] = '\0';
	for (const char *at = s->value; *at; at++)
		if (*at < ' ' || *at > '~')
			return err_say(
				e, EINVAL,
				"--secret-header: the file of %.*s has a byte that no header may have",
				name, spec);
	return 0;
}

static int read_words(struct proxy *p, char **argv, struct err *e)
{
	int r = 0;

	while (r == 0 && *argv && strcmp(*argv, "--") != 0)
		r = place_read(*argv++, true, &p->rule[p->rules++], e);
	for (argv += *argv != NULL; r == 0 && *argv; argv++)
		r = read_secret(*argv, &p->secret[p->secrets++], e);
	return r;
}

static void on_child(int signal)
{
	(void)signal;
}

static int prepare(struct proxy *p, struct egress_log **log, int log_fd, struct err *e)
{
	const struct sigaction wake = { .sa_handler = on_child };
	sigset_t none;

	(void)sigemptyset(&none);
	(void)sigaddset(&none, SIGCHLD);
	(void)signal(SIGPIPE, SIG_IGN);
	*log = mmap(NULL, sizeof(**log), PROT_READ | PROT_WRITE, MAP_SHARED, log_fd, 0);
	p->shared = mmap(NULL, sizeof(*p->shared), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (*log == MAP_FAILED || p->shared == MAP_FAILED ||
	    sigaction(SIGCHLD, &wake, NULL) < 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		return err_set(e, errno, "egress: prepare");
	(void)close(log_fd);
	return curl_global_init(CURL_GLOBAL_DEFAULT)
		       ? err_say(e, ENOMEM, "egress: libcurl")
		       : 0;
}

/* what became of a connection; its process could have written anything */
static void note(struct egress_log *log, const struct egress_row *from)
{
	struct egress_row row = *from, *to = log->row;
	uint32_t i = 0;

	row.host[sizeof(row.host) - 1] = '\0';
	if (!row.times)
		row.end = EGRESS_OPEN;
	while (i < log->rows && (strcmp(to[i].host, row.host) != 0 ||
				 to[i].port != row.port || to[i].end != row.end))
		i++;
	if (i == EGRESS_ROWS) {
		log->more++;
		return;
	}
	if (i == log->rows)
		to[i] = (struct egress_row){ .port = row.port, .end = row.end };
	memcpy(to[i].host, row.host, sizeof(row.host));
	to[i].sent += row.sent;
	to[i].received += row.received;
	to[i].times++;
	log->rows = i == log->rows ? i + 1 : log->rows;
}

static unsigned int reap(const struct proxy *p, struct egress_log *log)
{
	unsigned int left = 0;

	for (size_t i = 0; i < EGRESS_AT_ONCE; i++) {
		if (child[i] && waitpid(child[i], NULL, WNOHANG) != 0) {
			note(log, &p->shared->row[i]);
			child[i] = 0;
		}
		left += child[i] != 0;
	}
	return left;
}

static _Noreturn void be_child(struct proxy *p, size_t slot, int client, pid_t parent)
{
	const struct rlimit none = { 0 }, memory = { MEMORY_BYTES, MEMORY_BYTES };
	struct connection c = {
		.proxy = p, .row = &p->shared->row[slot], .client = client, .server = -1
	};

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    setrlimit(RLIMIT_NPROC, &none) < 0 || setrlimit(RLIMIT_AS, &memory) < 0)
		_exit(1);
	(void)close(p->listener);
	serve(&c);
	_exit(0);
}

static void take(struct proxy *p)
{
	pid_t parent = getpid();
	size_t slot = 0;
	int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);

	if (client < 0)
		return;
	while (child[slot])
		slot++;
	p->shared->row[slot] = (struct egress_row){ 0 };
	child[slot] = fork();
	if (child[slot] == 0)
		be_child(p, slot, client, parent);
	if (child[slot] < 0)
		child[slot] = 0;
	(void)close(client);
}

static void run(struct proxy *p, struct egress_log *log)
{
	struct pollfd fds[] = { { p->control, POLLIN, 0 }, { p->listener, POLLIN, 0 } };
	uint64_t until = 0;
	sigset_t open;

	(void)sigemptyset(&open);
	for (;;) {
		unsigned int busy = reap(p, log);
		uint64_t now = clock_now_ms();
		struct timespec left = { .tv_nsec = 100000000 };

		if (until && (busy == 0 || now >= until))
			break;
		fds[0].fd = until ? -1 : p->control;
		fds[1].fd = until || busy == EGRESS_AT_ONCE ? -1 : p->listener;
		if (ppoll(fds, 2, until ? &left : NULL, &open) <= 0)
			continue;
		if (!until && fds[0].revents)
			until = clock_now_ms() + END_MS;
		else if (fds[1].revents)
			take(p);
	}
	log->whole = 1;
}

int main(int argc, char **argv)
{
	struct egress_log *log = NULL;
	struct proxy p = { .rule = rules, .secret = secrets };
	struct err e = { 0 };
	int log_fd, r;

	if (argc < 3 || sscanf(argv[1], "%d,%d,%d,%" SCNu64, &p.control, &log_fd,
			       &p.listener, &p.limit_bytes) != 4)
		return 125;
	r = read_words(&p, argv + 2, &e);
	if (r == 0)
		r = prepare(&p, &log, log_fd, &e);
	if (r == 0)
		r = confine(&log->landlock_abi, &e);
	e.errnum = r < 0 ? -r : 0;
	if (send(p.control, &e, sizeof(e), MSG_NOSIGNAL) < 0 || r < 0)
		return 125;
	run(&p, log);
	return 0;
}
