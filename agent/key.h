/* SPDX-License-Identifier: MIT */
/*
 * key.h - the API key: read once, shown never, wiped at the end
 */
#ifndef STEPJAIL_AGENT_KEY_H
#define STEPJAIL_AGENT_KEY_H

#include <stddef.h>

#include "init/err.h"

#define KEY_MAX 4096

struct key {
	size_t length;       /* 0 for no key */
	char bytes[KEY_MAX]; /* ends in a NUL */
};

/**
 * key_load() - From a file, else from STEPJAIL_API_KEY, else from OPENAI_API_KEY
 * @file:	--key-file, or NULL
 *
 * Both variables are overwritten in the process's environment block, so that
 * /proc/PID/environ does not show them any longer either.
 *
 * Return: 0 (no key is no error), or -errno; the line names the source, never the key
 */
int key_load(struct key *k, const char *file, struct err *e);

/** key_forget_environment() - Overwrite every variable that may hold a key */
void key_forget_environment(void);

/** key_redact() - Overwrite every occurrence of the key in a string with asterisks */
void key_redact(const struct key *k, char *bytes, size_t length);

/** key_wipe() - Forget it */
void key_wipe(struct key *k);

#endif
