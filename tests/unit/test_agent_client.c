/* SPDX-License-Identifier: MIT */
/*
 * test_agent_client.c - the model client: what it takes from the main process, and what
 * who takes that one over finds there
 *
 * The server is a child process, which sends back what it was sent, headers and all, so
 * that the key is in its answer. No text in this program is the key: it is made of its
 * reverse, and looked for by it.
 */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/key/client_wire.h"
#include "init/io.h"
#include "tests/unit/suites.h"
#include "tests/unit/test_agent_client.h"

#define YEK "fedcba9876543210-terces-yrev-ks"
#define YEK_BYTES (sizeof(YEK) - 1)
/* all that the main process ever has */
#define MAIN                                                                             \
	(CONFINE_CHILDREN | CONFINE_READ | CONFINE_CREATE | CONFINE_EDIT |               \
	 CONFINE_COLLECT | CONFINE_KEEP)

#define SHADOW (1UL << 30) /* larger is a sanitizer's own, and no program's memory */

static struct stop stop;
static char variable[] = "OPENAI_API_KEY=" YEK; /* give_key() turns it */
static char url[64];
static pid_t server;

static bool is_key(const char *at)
{
	size_t i = 0;

	while (i < YEK_BYTES && at[i] == YEK[YEK_BYTES - 1 - i])
		i++;
	return i == YEK_BYTES;
}

/* the variable gets the key, where it is; it lies nowhere else */
static void give_key(void)
{
	char *at = strchr(variable, '=') + 1;

	for (size_t i = 0; i < YEK_BYTES; i++)
		at[i] = YEK[YEK_BYTES - 1 - i];
	ck_assert_int_eq(putenv(variable), 0);
}

/* ---- the server */

static void serve(int listener)
{
	static char asked[1 << 16];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		size_t length = 0;
		ssize_t n;

		memset(asked, 0, sizeof(asked));
		while (!strstr(asked, "\r\n\r\nthe body") &&
		       (n = read(fd, asked + length, sizeof(asked) - 1 - length)) > 0)
			length += (size_t)n;
		(void)dprintf(fd,
			      "HTTP/1.1 401 Go\r\nRetry-After: 7\r\nConnection: "
			      "close\r\nContent-Length: %zu\r\n\r\n",
			      length);
		/* the key is cut in two on its way */
		for (size_t at = 0; at < length; at += 40)
			(void)!write(fd, asked + at, length - at < 40 ? length - at : 40);
		(void)close(fd);
	}
}

static void start_server(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	struct err e;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(stop_open(&stop, &e), 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, length), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/v1", ntohs(at.sin_port));
	server = fork();
	ck_assert_int_ge(server, 0);
	if (server == 0)
		serve(fd);
	(void)close(fd);
}

static void end_server(void)
{
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	(void)close(stop.fd);
}

/* ---- asking it */

static int open_client(struct client **c, struct err *e)
{
	const struct client_plan plan = {
		.place = { .url = url, .key_prefix = "Authorization: Bearer " },
		.key_variable = "OPENAI_API_KEY",
	};

	return client_open(c, &plan, &stop, e);
}

static int no_stream(void *arg, const char *bytes, size_t length, struct err *e)
{
	(void)arg;
	(void)bytes;
	(void)length;
	return err_say(e, EINVAL, "no stream was expected");
}

int post_words(struct client *c, struct client_answer *a, struct err *e)
{
	cleanup_text struct text body = { 0 };
	const struct client_request request = { .body = &body,
						.total_ms = 60000,
						.silence_ms = 60000,
						.answer_max = 1 << 20,
						.take = no_stream };

	text_puts(&body, "the body");
	return client_post(c, &request, a, e);
}

/* is the key in what @fd, of a process's mem, has at the places that @maps names? */
static bool holds_key(int mem, int maps)
{
	static char list[1 << 18], bytes[1 << 16];
	ssize_t n = io_read_text(maps, list, sizeof(list));
	bool found = false;

	MUST(n > 0);
	for (char *line = list; line && *line && !found; line = strchr(line, '\n')) {
		unsigned long from, to;
		char rights[5];

		line += *line == '\n';
		if (sscanf(line, "%lx-%lx %4s", &from, &to, rights) != 3 ||
		    rights[0] != 'r' || to - from > SHADOW)
			continue;
		for (unsigned long at = from; at < to && !found;
		     at += sizeof(bytes) - YEK_BYTES) {
			size_t length = to - at < sizeof(bytes) ? to - at : sizeof(bytes);

			n = pread(mem, bytes, length, (off_t)at);
			for (ssize_t i = 0; i + (ssize_t)YEK_BYTES <= n && !found; i++)
				found = is_key(bytes + i);
		}
	}
	return found;
}

static int open_of(pid_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* what code that has taken the main process over sees: nothing of the key, before and
 * after an answer that quotes it, and no way to the network but this one */
static void take_over(void *arg)
{
	struct confine_policy p = { .needs = MAIN };
	struct client_answer a;
	struct confine_facts f;
	struct client *c = NULL;
	struct err e = { 0 };
	int mem = open_of(getpid(), "mem"), maps = open_of(getpid(), "maps");

	(void)arg;
	MUST(holds_key(mem, maps)); /* the variable: it can be found */
	MUST(open_client(&c, &e) == 0);
	MUST(c->hello.has_key && !getenv("OPENAI_API_KEY"));

	int theirs = open_of(c->pid, "mem"), of = open_of(c->pid, "maps");

	MUST((theirs >= 0) == (geteuid() == 0)); /* not dumpable */
	MUST(confine_self(&p, &f, &e) == 0);
	MUST(lseek(maps, 0, SEEK_SET) == 0 && !holds_key(mem, maps));
	MUST(post_words(c, &a, &e) == 0);
	MUST(a.status == 401 && a.retry_after_ms == 7000 && !a.streamed);
	MUST(strstr(a.body.bytes, "POST /v1 HTTP") == a.body.bytes);
	MUST(strstr(a.body.bytes, "Authorization: Bearer *******************************"
				  "\r\n") != NULL);
	MUST(strstr(a.body.bytes, "\r\n\r\nthe body") != NULL);
	MUST(lseek(maps, 0, SEEK_SET) == 0 && !holds_key(mem, maps));
	if (theirs >= 0)
		MUST(holds_key(theirs, of));
	MUST(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM);
	text_free(&a.body);
	client_close(c);
}

START_TEST(main_process_has_no_key)
{
	give_key();
	unit_child(take_over, NULL);
}
END_TEST

/* ---- a main process that was taken over says what it likes: the client ends */

static const struct client_header orders[][2] = {
	{ { .kind = 0 } },
	{ { .kind = CLIENT_END } },
	{ { .kind = CLIENT_STREAM, .length = 1 } },
	{ { .kind = CLIENT_POST, .length = CLIENT_BODY_MAX + 1 } },
	{ { .kind = CLIENT_POST, .length = UINT32_MAX } },
	{ { .kind = CLIENT_ENOUGH, .length = 1 } },
	{ { .kind = CLIENT_ENOUGH, .ms = UINT64_MAX } },
	{ { .kind = CLIENT_POST }, { .kind = CLIENT_POST } },
	{ { .kind = CLIENT_POST }, { .kind = CLIENT_BODY } },
};

START_TEST(client_takes_nothing_else)
{
	struct client *c = NULL;
	struct err e = { 0 };
	char bytes[4096];
	struct pollfd p = { .events = POLLIN };

	give_key();
	ck_assert_msg(open_client(&c, &e) == 0, "%s", e.text);
	p.fd = c->pidfd;
	/* the server waits for a body that never comes, so the request is not over */
	for (size_t i = 0; i < 2 && (i == 0 || orders[_i][i].kind); i++)
		ck_assert_int_eq(
			io_write_all(c->socket, &orders[_i][i], sizeof(orders[_i][i])),
			0);
	ck_assert_int_eq(poll(&p, 1, 60000), 1);
	/* what it has said before, if anything, is no bytes of the key */
	ssize_t n = recv(c->socket, bytes, sizeof(bytes), MSG_DONTWAIT);

	for (ssize_t i = 0; i + (ssize_t)YEK_BYTES <= n; i++)
		ck_assert(!is_key(bytes + i));
	client_close(c);
}
END_TEST

START_TEST(enough_is_nothing_between_requests)
{
	const struct client_header enough = { .kind = CLIENT_ENOUGH, .ms = 0 };
	struct client *c = NULL;
	struct client_answer a;
	struct err e = { 0 };

	give_key();
	ck_assert_msg(open_client(&c, &e) == 0, "%s", e.text);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(io_write_all(c->socket, &enough, sizeof(enough)), 0);
		ck_assert_msg(post_words(c, &a, &e) == 0, "%s", e.text);
		ck_assert_int_eq(a.status, 401);
		text_free(&a.body);
	}
	client_close(c);
}
END_TEST

/* ---- its end */

START_TEST(client_ends_with_the_main_process)
{
	int ends[2], pid = 0;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);

	pid_t child = fork();

	if (child == 0) {
		struct client *c = NULL;
		struct err e;

		pid = open_client(&c, &e) == 0 ? c->pid : -1;
		(void)!write(ends[1], &pid, sizeof(pid));
		for (;;)
			(void)pause();
	}
	ck_assert_int_eq(read(ends[0], &pid, sizeof(pid)), sizeof(pid));
	ck_assert_int_gt(pid, 0);

	struct pollfd p = { .fd = pidfd_open(pid, 0), .events = POLLIN };

	ck_assert_int_ge(p.fd, 0);
	ck_assert_int_eq(poll(&p, 1, 0), 0);
	(void)kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_eq(poll(&p, 1, 60000), 1);
	(void)close(p.fd);
}
END_TEST

START_TEST(client_ends_with_its_socket)
{
	struct client *c = NULL;
	struct err e = { 0 };

	ck_assert_msg(open_client(&c, &e) == 0, "%s", e.text);

	struct pollfd p = { .fd = c->pidfd, .events = POLLIN };

	io_close_fd(&c->socket);
	ck_assert_int_eq(poll(&p, 1, 60000), 1);
	client_close(c);
}
END_TEST

/* what it has no use for is the caller's error, in one line */
static const struct {
	const char *url, *key_file, *words;
	int r;
} plans[] = {
	{ "http://192.0.2.1/v1", NULL, "clear text", -EPERM },
	{ "ftp://192.0.2.1/v1", NULL, "only http and https", -EINVAL },
	{ "https://192.0.2.1/v1", "/no/such/key", "--key-file: open /no/such/key",
	  -ENOENT },
};

START_TEST(client_says_why_it_does_not_start)
{
	const struct client_plan plan = {
		.place = { .url = plans[_i].url, .key_prefix = "x: " },
		.key_file = plans[_i].key_file,
		.key_variable = "OPENAI_API_KEY",
	};
	struct client *c = NULL;
	struct err e = { 0 };

	give_key();
	ck_assert_int_eq(client_open(&c, &plan, &stop, &e), plans[_i].r);
	ck_assert_msg(strstr(e.text, plans[_i].words) != NULL, "%s", e.text);
	ck_assert_ptr_null(getenv("OPENAI_API_KEY"));
	client_close(c);
	client_close(NULL);
}
END_TEST

Suite *agent_client_suite(void)
{
	Suite *s = suite_create("agent/client");
	TCase *c = tcase_create("all");

	tcase_set_timeout(c, 300);
	tcase_add_checked_fixture(c, start_server, end_server);
	tcase_add_test(c, main_process_has_no_key);
	tcase_add_loop_test(c, client_takes_nothing_else, 0, (int)COUNT(orders));
	tcase_add_test(c, enough_is_nothing_between_requests);
	tcase_add_test(c, client_ends_with_the_main_process);
	tcase_add_test(c, client_ends_with_its_socket);
	tcase_add_loop_test(c, client_says_why_it_does_not_start, 0, (int)COUNT(plans));
	suite_add_tcase(s, c);
	return s;
}
