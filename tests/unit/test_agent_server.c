/* SPDX-License-Identifier: MIT */
/*
 * test_agent_server.c - a server that hangs up: at every byte of an answer, headers too
 *
 * The server is a child process. Of each two connections it cuts the first at a byte, one
 * further each time, and answers the second in full: the client must ask again exactly
 * where the end was missing, and never take half an answer for a whole one.
 */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/model/model.h"
#include "init/io.h"
#include "tests/unit/suites.h"
#include "tests/unit/test_agent_samples.h"

/* one answer a connection: or the next request may still go to one that is being
 * closed */
#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"

static const struct {
	const char *model;
	size_t sample; /* of samples[] */
	const char *framing;
} scenes[] = {
	{ "openai", 1, "close" },     { "openai", 0, "length" },
	{ "openai", 0, "chunked" },   { "anthropic", 8, "close" },
	{ "anthropic", 7, "length" }, { "anthropic", 7, "chunked" },
};

/* the answer's bytes; where they may end and be whole */
static size_t make_answer(size_t scene, struct text *t)
{
	const char *stream = samples[scenes[scene].sample].bytes;
	const char *framing = scenes[scene].framing;
	const char *word =
		scenes[scene].model[0] == 'o' ? "finish_reason" : "stop_reason";

	text_puts(t, HEAD);
	if (strcmp(framing, "close") == 0)
		text_puts(t, "\r\n");
	else if (strcmp(framing, "length") == 0)
		text_printf(t, "Content-Length: %zu\r\n\r\n", strlen(stream));
	else
		text_puts(t, "Transfer-Encoding: chunked\r\n\r\n");
	if (strcmp(framing, "chunked") != 0) {
		text_puts(t, stream);
	} else {
		for (size_t at = 0, n; stream[at]; at += n) {
			n = strnlen(stream + at, 50);
			text_printf(t, "%zx\r\n", n);
			text_add(t, stream + at, n);
			text_puts(t, "\r\n");
		}
		text_puts(t, "0\r\n\r\n");
	}

	/* chunks may cut the word: look for it in the stream, and count what is around */
	const char *end = strstr(strstr(stream, word), "\n\n") + 2;
	size_t whole = (size_t)(end - stream);
	const char *body = strstr(t->bytes, "\r\n\r\n") + 4;

	if (strcmp(framing, "chunked") != 0)
		return (size_t)(body - t->bytes) + whole;
	for (size_t seen = 0; seen < whole; body++) {
		char *start;
		size_t n = strtoul(body, &start, 16);

		start += 2;
		if (seen + n >= whole)
			return (size_t)(start - t->bytes) + whole - seen;
		seen += n;
		body = start + n + 1;
	}
	return 0;
}

static void read_request(int fd)
{
	char bytes[65536];
	size_t length = 0;

	for (;;) {
		ssize_t n = read(fd, bytes + length, sizeof(bytes) - 1 - length);
		const char *size, *body;

		if (n <= 0)
			return;
		length += (size_t)n;
		bytes[length] = '\0';
		size = strcasestr(bytes, "Content-Length: ");
		body = strstr(bytes, "\r\n\r\n");
		if (size && body &&
		    length >= (size_t)(body + 4 - bytes) + strtoul(size + 16, NULL, 10))
			return;
	}
}

static void serve(int listener, const struct text *answer)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t connection = 0;; connection++) {
		int fd = accept(listener, NULL, NULL);
		size_t cut = connection % 2 ? answer->length : connection / 2;

		if (fd < 0)
			_exit(1);
		read_request(fd);
		(void)io_write_all(fd, answer->bytes, cut);
		(void)close(fd);
		/* where the whole was enough, the second connection never comes */
		if (connection % 2 == 0 && cut >= answer->length)
			_exit(0);
	}
}

static int listen_here(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, length), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static void note(void *arg, const char *line)
{
	(void)snprintf(arg, ERR_TEXT_MAX, "%s", line);
}

/* ask once for each byte where the server hangs up */
static void ask_at_every_byte(struct model *m, const struct sample *s, size_t whole,
			      const char *said)
{
	struct reply reply = { 0 };
	struct chat chat = { 0 };
	struct err e = { 0 };

	chat_add(&chat, ROLE_USER, "task", 4);
	for (size_t cut = 0; cut < whole; cut++) {
		uint64_t retries = m->usage.retries;
		int r = model_ask(m, &chat, units_now_ms() + 60000, &reply, &e);

		ck_assert_msg(r == 0, "cut at %zu: %s", cut, e.text);
		ck_assert_msg(m->usage.retries == retries + 1, "cut at %zu: taken", cut);
		ck_assert_msg(strstr(said, "trying again") != NULL, "%s", said);
		ck_assert_str_eq(text_string(&reply.text), s->text);
		ck_assert_uint_eq(reply.call_count, s->calls);
		ck_assert_int_eq(reply.finish, s->finish);
	}
	/* behind its end one byte more or less is nothing */
	ck_assert_int_eq(model_ask(m, &chat, units_now_ms() + 60000, &reply, &e), 0);
	ck_assert_uint_eq(m->usage.retries, whole);
	ck_assert_str_eq(text_string(&reply.text), s->text);
	reply_free(&reply);
	chat_free(&chat);
}

START_TEST(half_an_answer_is_none)
{
	const struct sample *s = &samples[scenes[_i].sample];
	cleanup_text struct text answer = { 0 };
	char said[ERR_TEXT_MAX] = "";
	char url[64];
	uint16_t port;
	size_t whole = make_answer((size_t)_i, &answer);
	int listener = listen_here(&port);
	pid_t pid = fork();
	struct stop stop;
	struct model m;
	struct err e = { 0 };
	struct model_plan plan = { .base_url = url,
				   .model_name = "m",
				   .retries = 1,
				   .retry_wait_ms = 1,
				   .request_ms = 10000,
				   .stop = &stop,
				   .note = note,
				   .arg = said };

	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		serve(listener, &answer);
	(void)close(listener);
	ck_assert_uint_gt(whole, 100);
	ck_assert_uint_lt(whole, answer.length);
	(void)unsetenv("http_proxy");
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/v1", port);
	ck_assert_int_eq(stop_open(&stop, &e), 0);
	ck_assert_msg(model_open(&m, scenes[_i].model, &plan, &e) == 0, "%s", e.text);
	ask_at_every_byte(&m, s, whole, said);
	model_close(&m);
	(void)close(stop.fd);
	(void)kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
}
END_TEST

Suite *agent_server_suite(void)
{
	Suite *s = suite_create("agent server");
	TCase *c = tcase_create("server");

	tcase_set_timeout(c, 300);
	tcase_add_loop_test(c, half_an_answer_is_none, 0,
			    (int)(sizeof(scenes) / sizeof(scenes[0])));
	suite_add_tcase(s, c);
	return s;
}
