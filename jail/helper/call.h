/* SPDX-License-Identifier: MIT */
/*
 * call.h - a program more in a jail that runs: what is said to its helper
 *
 * The helper (helper.c) is started beside the jail's program by `run --hold`, behind the
 * same walls, and makes processes that have them, too. So nobody enters a jail, and
 * nothing has to put its walls up a second time. A call is a connection to its socket:
 *	helper: a byte, so that no fd of the caller's waits in one that was stopped
 *	caller: struct call_head with CALL_FDS beside it, then its words, each with its
 *		NUL; then a byte for each signal that the program is to get
 *	helper: another byte when there is a process; then its end, a uint32_t as of
 *		waitpid(2)
 * The end of a connection ends the program. What the helper says may be the word of a
 * jail's program that has taken it over.
 */
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include "init/err.h"

#define CALL_BYTES_MAX (1u << 20)
#define CALL_WORDS_MAX 8192u
#define CALL_MS 30000 /* until its program runs; then the call has failed */
#define CALLS_MAX 64  /* programs that a helper has running; further calls wait */
/* stdin, stdout, stderr, and the end of a pipe: the program has started when that is
 * closed; a byte before is the errno of why it has not */
#define CALL_FDS 4

/* its words are the working directory, then arguments, then the environment */
struct call_head {
	uint32_t args, env, bytes;
};

/**
 * helper_make() - Make what --hold takes for a helper
 * @folder:	Where its socket is to be
 * @name:	Of the socket there
 * @file:	Gets the program's file, close-on-exec, the caller's
 * @listener:	Gets the socket, likewise
 *
 * Return: 0, or -errno, where both may be open, too
 */
int helper_make(int folder, const char *name, int *file, int *listener, struct err *e);

/** helper_address() - Of a helper's socket, however long the path of its folder is */
struct sockaddr_un helper_address(int folder, const char *name);

/**
 * call_begin() - Start a program by a jail's helper
 * @folder:	Holds the helper's socket
 * @name:	Of the socket there
 * @words:	As struct call_head has them
 * @count:	Of all words; the first is the directory, @args follow
 * @stdio:	Become the program's
 *
 * Return: the connection, the caller's, once the program runs; or -errno: -ECONNREFUSED
 * (there is no helper), -ETIMEDOUT, -E2BIG, or why the program cannot be executed
 */
int call_begin(int folder, const char *name, char *const *words, size_t count,
	       size_t args, const int stdio[3], struct err *e);

/**
 * call_watch() - Be the program's stand-in for whoever waits for a process
 *
 * Passes signals on, and ends with the program: with its status, 128+N for signal N, or
 * 137 where its jail has ended. Closes all other fds, and gives up every call but to read
 * and write first.
 */
_Noreturn void call_watch(int connection);
