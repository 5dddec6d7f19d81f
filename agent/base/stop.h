/* SPDX-License-Identifier: MIT */
/*
 * stop.h - the user's wish to stop, as something one can poll
 *
 * SIGINT, SIGTERM and SIGHUP are blocked and read from a signalfd, so that every wait in
 * this program (for a jail, a model, a slow reader of stdout) ends at once when one
 * comes, and nothing has to be safe inside a signal handler.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "agent/base/text.h"

struct stop {
	bool printed;    /* stop_print() was called: stdout has what it is to have */
	int fd;          /* signalfd, not blocking */
	int signal;      /* the one that came, 0 for none yet */
	sigset_t before; /* the mask to give back to a child */
	/* called by whatever waits, each second; or NULL: see stop_tick() */
	void (*tick)(void *arg);
	void *tick_arg;
};

/**
 * stop_open() - Block the signals, make the signalfd, ignore SIGPIPE and SIGXFSZ
 *
 * A signal that was ignored when the program started (nohup) stays ignored.
 *
 * Return: 0 or -errno of signalfd(2)
 */
int stop_open(struct stop *s, struct err *e);

/** stop_tick() - Have @tick called each second from now on, by stop_came() */
void stop_tick(struct stop *s, void (*tick)(void *arg), void *arg);

/** stop_came() - True once a signal has come; never blocks */
bool stop_came(struct stop *s);

/**
 * stop_wait() - Wait for an fd, as poll(2) has its @events, but no longer than until a
 * signal comes
 * @fd:		-1 for none
 * @until_ms:	On units_now_ms()'s clock; UINT64_MAX for no end
 *
 * Return: 0, -EINTR where a signal came, -ETIMEDOUT, or -errno of poll(2)
 */
int stop_wait(struct stop *s, int fd, short events, uint64_t until_ms);

/**
 * stop_sleep() - Sleep, but no longer than until a signal comes
 *
 * Return: 0, or -EINTR where one came
 */
int stop_sleep(struct stop *s, uint64_t ms);

/**
 * stop_write() - Write every byte to an fd that may be slow, and stop where asked to
 *
 * Return: 0, -EINTR where a signal came, or -errno of write(2)
 */
int stop_write(struct stop *s, int fd, const void *bytes, size_t length);

/**
 * stop_print() - Write a text to stdout
 *
 * Return: 0, or -errno with a line that says so: -EINTR where a signal came, -E2BIG
 */
int stop_print(struct stop *s, const struct text *out, struct err *e);

/** stop_say() - Write a line of the program's to stderr, its words escaped */
void stop_say(struct stop *s, const char *words);
