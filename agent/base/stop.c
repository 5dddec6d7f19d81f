/* SPDX-License-Identifier: MIT */
/*
 * stop.c - the user's wish to stop: see stop.h
 */
#include <limits.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

#include "agent/base/escape.h"
#include "agent/base/stop.h"
#include "agent/base/units.h"

#define LAST_WORDS_MS 1000

static const int watched[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };

int stop_open(struct stop *s, struct err *e)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		(void)sigaddset(&set, watched[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &s->before);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN); /* an error of write(2), as a full disk is */
	s->signal = 0;
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return err_set(e, errno, "signalfd");
	return 0;
}

void stop_tick(struct stop *s, void (*tick)(void *arg), void *arg)
{
	const struct itimerval second = { .it_interval.tv_sec = 1, .it_value.tv_sec = 1 };

	s->tick = tick;
	s->tick_arg = arg;
	(void)setitimer(ITIMER_REAL, &second, NULL);
}

bool stop_came(struct stop *s)
{
	struct signalfd_siginfo info;

	while (s->signal == 0 && read(s->fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo != SIGALRM)
			s->signal = (int)info.ssi_signo;
		else if (s->tick)
			s->tick(s->tick_arg);
	}
	return s->signal != 0;
}

int stop_wait(struct stop *s, int fd, short events, uint64_t until_ms)
{
	struct pollfd p[] = {
		{ .fd = fd, .events = events },
		{ .fd = s->fd, .events = POLLIN },
	};

	while (!stop_came(s)) {
		if (poll(p, 2, units_poll_ms(until_ms)) < 0 && errno != EINTR)
			return -errno;
		if (p[0].revents)
			return 0;
		if (units_left_ms(until_ms) == 0)
			return -ETIMEDOUT;
	}
	return -EINTR;
}

int stop_sleep(struct stop *s, uint64_t ms)
{
	return stop_wait(s, -1, 0, units_now_ms() + ms) == -EINTR ? -EINTR : 0;
}

int stop_write(struct stop *s, int fd, const void *bytes, size_t length)
{
	const char *at = bytes;
	/* the last words after a signal are still written, but nobody waits for their
	 * reader */
	bool last_words = s->signal != 0;

	while (length) {
		struct pollfd p[] = {
			{ .fd = fd, .events = POLLOUT },
			{ .fd = s->fd, .events = POLLIN },
		};
		/* a pipe that polls writable takes PIPE_BUF bytes without blocking */
		size_t piece = length < PIPE_BUF ? length : PIPE_BUF;

		int ready = poll(p, last_words ? 1 : 2, last_words ? LAST_WORDS_MS : -1);

		if (ready < 0 && errno != EINTR)
			return -errno;
		if (last_words ? ready == 0 : stop_came(s))
			return -EINTR;
		if (p[0].revents == 0)
			continue;

		ssize_t n = write(fd, at, piece);

		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n > 0) {
			at += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

int stop_print(struct stop *s, const struct text *out, struct err *e)
{
	int r = text_check(out, "the text for stdout", e);

	if (r < 0)
		return r;
	s->printed = true;
	r = stop_write(s, STDOUT_FILENO, out->bytes, out->length);
	if (r == -EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return r < 0 ? err_set(e, -r, "cannot write to stdout") : 0;
}

void stop_say(struct stop *s, const char *words)
{
	cleanup_text struct text line = { 0 };

	text_puts(&line, "stepjail-agent: ");
	escape_line(&line, words, strlen(words));
	text_puts(&line, "\n");
	(void)stop_write(s, STDERR_FILENO, text_string(&line), line.length);
}
