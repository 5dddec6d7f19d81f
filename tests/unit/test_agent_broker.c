/* SPDX-License-Identifier: MIT */
/*
 * test_agent_broker.c - the process that starts stepjail for a confined agent
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/confine/confine.h"
#include "agent/session/broker.h"
#include "init/io.h"
#include "tests/unit/suites.h"

static struct stop stop;
static struct broker broker;
static struct launch_args args;

/* a shell in stepjail's place: it says who its parent is, and what it was given */
static void open_broker(const char *script)
{
	struct err e = { 0 };

	args = (struct launch_args){ .count = 0 };
	launch_add(&args, "sh");
	launch_add(&args, "-c");
	launch_add(&args, "%s", script);
	(void)sigprocmask(SIG_BLOCK, NULL, &stop.before);
	ck_assert_msg(broker_open(&broker, "/bin/sh", &args, &stop, &e) == 0, "%s",
		      e.text);
}

/* Check's own handler would end the test, from a child that was not executed yet */
static void plain_signals(void)
{
	(void)signal(SIGTERM, SIG_DFL);
}

/* it runs to its end: its wait status, and what it wrote */
static int run(char *text, size_t size)
{
	struct child c = { 0 };
	struct err e = { 0 };
	int stream, diag;
	int r = broker_start(&broker, &stream, &diag, &c, &e);

	MUST((r < 0) == (stream < 0));
	if (stream >= 0)
		(void)close(stream);
	if (r < 0) {
		(void)snprintf(text, size, "%s", e.text);
		(void)close(diag);
		return r;
	}
	/* at the end of the pipe: the broker holds none of it */
	MUST(fcntl(diag, F_SETFL, 0) == 0);

	ssize_t n = io_read_all(diag, text, size - 1);

	MUST(n >= 0);
	text[n] = '\0';
	(void)close(diag);
	return launch_end(&c, 5000);
}

START_TEST(broker_starts_children_of_the_caller)
{
	char text[200], want[200];

	(void)setenv("OPENAI_API_KEY", "in-the-environment", 1);
	open_broker("echo $PPID; env | grep -c KEY; for fd in 3 4 5 6 7 8 9; do "
		    "test -e /proc/$$/fd/$fd && echo fd $fd; done; exit 7");
	for (int i = 0; i < 2; i++) {
		int status = run(text, sizeof(text));

		(void)snprintf(want, sizeof(want), "%d\n0\n", (int)getpid());
		ck_assert_str_eq(text, want);
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	}
	broker_close(&broker);
	launch_args_free(&args);
}
END_TEST

static void confined_start(void *arg)
{
	struct confine_policy p = { .needs = CONFINE_CHILDREN };
	struct confine_facts f;
	struct err e = { 0 };
	char text[200];

	(void)arg;
	open_broker("grep -E 'NoNewPrivs|Seccomp:' /proc/self/status; kill -9 $$");
	MUST(confine_self(&p, &f, &e) == 0);
	int status = run(text, sizeof(text));

	MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	/* what it starts is not confined: a jail could not be made otherwise */
	MUST(strstr(text, "NoNewPrivs:\t0\n") && strstr(text, "Seccomp:\t0\n"));
	broker_close(&broker);
}

static void confined_end(void *arg)
{
	struct confine_policy p = { .needs = CONFINE_CHILDREN };
	struct confine_facts f;
	struct child c = { 0 };
	struct err e = { 0 };
	int stream, diag;

	(void)arg;
	open_broker("trap '' TERM; exec sleep 100");
	MUST(confine_self(&p, &f, &e) == 0);
	MUST(broker_start(&broker, &stream, &diag, &c, &e) == 0);
	int status = launch_end(&c, 0);

	MUST(WIFSIGNALED(status));
	broker_close(&broker);
}

/* the stream to a stepjail is the broker's to make: the agent can make none */
static void confined_stream(void *arg)
{
	struct confine_policy p = { .needs = CONFINE_CHILDREN };
	struct confine_facts f;
	struct child c = { 0 };
	struct err e = { 0 };
	int stream = -1, diag = -1;
	char text[20] = "";

	(void)arg;
	open_broker("read line; echo got $line >&0; echo beside");
	MUST(confine_self(&p, &f, &e) == 0);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, (int[2]){ 0 }) < 0);
	MUST(broker_start(&broker, &stream, &diag, &c, &e) == 0);
	MUST((fcntl(stream, F_GETFL) & O_NONBLOCK) != 0);
	MUST((fcntl(diag, F_GETFL) & O_NONBLOCK) != 0);
	MUST(send(stream, "a line\n", 7, 0) == 7);
	/* to their ends: the broker keeps none of them open */
	MUST(fcntl(diag, F_SETFL, 0) == 0);
	MUST(io_read_all(diag, text, sizeof(text)) == 7);
	MUST(strcmp(text, "beside\n") == 0);
	MUST(fcntl(stream, F_SETFL, 0) == 0);
	MUST(io_read_all(stream, text, sizeof(text)) == 11);
	MUST(strncmp(text, "got a line\n", 11) == 0);
	MUST(launch_end(&c, 5000) == 0);
	broker_close(&broker);
}

START_TEST(broker_serves_a_confined_agent)
{
	unit_child(confined_start, NULL);
	unit_child(confined_end, NULL);
	unit_child(confined_stream, NULL);
}
END_TEST

START_TEST(broker_says_what_cannot_be_started)
{
	char text[200];
	struct err e = { 0 };

	args = (struct launch_args){ .count = 0 };
	launch_add(&args, "x");
	ck_assert_int_eq(broker_open(&broker, "/no/such", &args, &stop, &e), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(run(text, sizeof(text)), -ENOENT);
		ck_assert_str_eq(text,
				 "cannot start /no/such: No such file or directory");
	}
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), 0); /* the broker alone is left */
	broker_close(&broker);
	launch_args_free(&args);
}
END_TEST

static int broker_fds(void)
{
	char path[64];
	int count = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", broker.pid);

	DIR *dir = opendir(path);

	ck_assert_ptr_nonnull(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

/* It lets go of what it passed on after its answer, so this may come first. What it keeps
 * for good is never let go. */
static bool has_idle_fds(void)
{
	/* of the folder, . and ..; 0 to 2, and its socket */
	const int idle = 2 + 4;

	for (int i = 0; i < 3000 && broker_fds() != idle; i++)
		(void)usleep(10000);
	return broker_fds() == idle;
}

/* whoever took the agent over can say what it likes, and send fds: nothing of that is
 * taken, and what starts is what was fixed */
START_TEST(broker_takes_nothing_else)
{
	static const struct {
		const char *bytes;
		size_t length;
		size_t fds;
	} requests[] = { { "s", 1, 0 }, { "s", 1, 2 },  { "s", 1, 5 },
			 { "x", 1, 1 }, { "ss", 2, 1 }, { "/bin/sh", 7, 1 } };
	int fds[8] = { 2, 2, 2, 2, 2, 2, 2, 2 };
	char text[200];

	open_broker(
		"for fd in 3 4 5 6 7 8 9; do test -e /proc/$$/fd/$fd && exit 9; done; "
		"echo ran; exit 3");
	ck_assert_int_eq(WEXITSTATUS(run(text, sizeof(text))), 3);
	ck_assert(has_idle_fds());
	for (size_t i = 0; i < COUNT(requests); i++) {
		_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(fds))] = { 0 };
		struct iovec iov = { (char *)requests[i].bytes, requests[i].length };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
		int answer[256] = { 0 }, status = -1;

		if (requests[i].fds) {
			m.msg_control = room;
			m.msg_controllen = CMSG_SPACE(requests[i].fds * sizeof(int));

			struct cmsghdr *c = CMSG_FIRSTHDR(&m);

			c->cmsg_level = SOL_SOCKET;
			c->cmsg_type = SCM_RIGHTS;
			c->cmsg_len = CMSG_LEN(requests[i].fds * sizeof(int));
			memcpy(CMSG_DATA(c), fds, requests[i].fds * sizeof(int));
		}
		ck_assert_int_gt(sendmsg(broker.socket, &m, 0), 0);
		/* its process comes first; the fds of the answer are let go */
		ck_assert_int_gt(read(broker.socket, answer, sizeof(answer)), 0);
		ck_assert_int_eq(waitpid(answer[0], &status, 0), answer[0]);
		/* or it could not say so: nobody reads */
		ck_assert(WEXITSTATUS(status) == 3 || WTERMSIG(status) == SIGPIPE);
	}
	ck_assert_int_eq(WEXITSTATUS(run(text, sizeof(text))), 3);
	ck_assert_str_eq(text, "ran\n");
	ck_assert(has_idle_fds());
	broker_close(&broker);
	launch_args_free(&args);
}
END_TEST

START_TEST(broker_that_is_gone_is_an_error)
{
	char text[200];

	open_broker("true");
	(void)kill(broker.pid, SIGKILL);
	ck_assert_int_lt(run(text, sizeof(text)), 0);
	broker_close(&broker);
	ck_assert_int_eq(broker.pid, 0);
	broker_close(&broker);
	launch_args_free(&args);
}
END_TEST

Suite *agent_broker_suite(void)
{
	Suite *s = suite_create("agent/broker");
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, plain_signals, NULL);
	tcase_add_test(c, broker_starts_children_of_the_caller);
	tcase_add_test(c, broker_serves_a_confined_agent);
	tcase_add_test(c, broker_says_what_cannot_be_started);
	tcase_add_test(c, broker_takes_nothing_else);
	tcase_add_test(c, broker_that_is_gone_is_an_error);
	suite_add_tcase(s, c);
	return s;
}
