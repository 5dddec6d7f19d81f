/* SPDX-License-Identifier: MIT */
/*
 * secret.h - memory for what must not get out of this process, and variables that hold
 * such
 *
 * The memory is left out of core dumps, gives a child zeroes, and is not swapped out
 * where a limit allows that. It lives as long as its process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "init/err.h"

#define SECRET_NONCE_HEX 33 /* with the NUL */

/* what /proc/self/smaps tells of such memory */
struct secret_facts {
	bool dumped; /* may be in a core dump */
	bool forked; /* a child gets its bytes */
	bool locked; /* never in swap */
};

/**
 * secret_new() - Zeroed pages of their own
 *
 * Follows madvise(2), MADV_DONTDUMP and MADV_WIPEONFORK (Linux 4.14), and mlock(2), which
 * RLIMIT_MEMLOCK may refuse: secret_look() tells.
 *
 * Return: the memory, or NULL with @e filled
 */
void *secret_new(size_t bytes, struct err *e);

/* that hold API keys; the first is for whatever provider is asked. NULL is the end */
extern const char *const secret_variables[];

/**
 * secret_forget_variables() - Overwrite and unset every variable that may hold a key
 *
 * The bytes are overwritten where they are, on the initial stack: /proc/PID/environ does
 * not show them any longer either.
 */
void secret_forget_variables(void);

/** secret_nonce() - A word that nobody can guess: fresh random bytes, in hex; 0, or
 * -errno of getrandom(2) */
int secret_nonce(char hex[SECRET_NONCE_HEX], struct err *e);

/**
 * secret_look() - Read back how the kernel treats it, the worst of its pages
 *
 * Return: 0, or -errno of reading /proc/self/smaps
 */
int secret_look(const void *secret, size_t bytes, struct secret_facts *facts,
		struct err *e);
