/* SPDX-License-Identifier: MIT */
/*
 * peek.h - what a stranger's transcript says of its jails, read by a process that can do
 * nothing
 *
 * The broker's command line must be known before this process confines itself. So a
 * child reads the file first: it confines itself so that it can open nothing, checks all
 * of it, and hands back arguments such as "--memory=512M" and "--file=SHA256:/a/path".
 * They are taken by the parser of the agent's own command line, whose table here has no
 * option that gives up a wall and none that names a program.
 */
#pragma once

#include "agent/base/json.h"
#include "agent/session/jail_opts.h"

#define PEEK_BYTES ((size_t)2 << 20) /* of all arguments together */
#define PEEK_DIGEST ((size_t)64)     /* hex digits, then a colon, begin each file */

/* strings are the child's, and stay until this process ends */
struct peek {
	/* rootfs (NULL: there is no first line), step_ms, pass; files: of a path, or of a
	 * name alone, that came by a pipe */
	struct jail_options jail;
	struct opt_list tests;
	const char *skills; /* the folder of functions, its digest before it; or NULL */
	bool stateless;
	bool out;  /* the jail had a folder /work/out */
	bool repl; /* it was made by repl */
};

/**
 * peek_run() - Have a child read a transcript, and take what it says of the jails
 * @fd:		Of the transcript; its offset moves
 * @path:	As the user gave it
 * @p:		Overwritten
 *
 * Return: 0, -EBADMSG (it was changed; or the child has died), -EINTR, or -errno
 */
int peek_run(int fd, const char *path, struct stop *stop, struct peek *p, struct err *e);

/* ---- peek.c and tests only */

/** peek_words() - Add the arguments of a transcript's first line, a NUL behind each */
void peek_words(const cJSON *start, struct text *words);

/**
 * peek_take() - Take arguments, which a hostile child may have written
 * @words:	@length bytes, of which the last is a NUL
 *
 * Return: 0, or -errno: one of them is none that a transcript may give
 */
int peek_take(struct peek *p, const char *words, size_t length, struct err *e);
