/* SPDX-License-Identifier: MIT */
/*
 * key.h - the API key: read once, shown never, wiped at the end
 *
 * It is read and kept by the model client alone (client.h), in pages of its own, which
 * are left out of core dumps and which no child process gets. Copies are made by
 * libcurl, in the buffer of the request that it sends, and by TLS, where it is
 * encrypted: both in that process, which leaves no dump and which no other of this user
 * can look into.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "init/err.h"

#define KEY_MAX 4096
#define KEY_PREFIX_MAX 64
#define KEY_SHORTEST 8 /* a shorter one is a stand-in for local servers ("none") */
/* So many of a key's first bytes are covered without the rest, too: whoever has them can
 * try all that may follow. Of a short key it is all but the last byte: "local-ke" might be
 * a word */
#define KEY_PART(length) ((length) - ((length) < 20 ? 1 : (length) / 4))

/* in memory of secret_new() */
struct key {
	size_t length;                         /* 0 for no key */
	char bytes[KEY_MAX];                   /* ends in a NUL */
	char header[KEY_PREFIX_MAX + KEY_MAX]; /* the line that it is sent in */
};

/**
 * key_load() - From a file, else from STEPJAIL_API_KEY, else from the provider's variable
 * @file:	--key-file, or NULL
 * @variable:	Such as OPENAI_API_KEY, or NULL
 *
 * All variables that hold keys, those of other providers too, are forgotten: see
 * secret_forget_variables().
 *
 * Return: 0 (no key is no error), or -errno; the line names the source, never the key
 */
int key_load(struct key *k, const char *file, const char *variable, struct err *e);

/** key_header() - Write the header line that it is sent in, "" without a key */
const char *key_header(struct key *k, const char *prefix);

/**
 * key_redact() - Overwrite every occurrence of the key, or of KEY_PART() of it and more,
 * with asterisks
 * @last:	Nothing follows, or it was cut off: a beginning of the key at the end is
 *		overwritten, too
 *
 * Return: how many bytes at the end are a beginning of the key, but not all of it, and
 * wait for what follows; 0 with @last
 */
size_t key_redact(const struct key *k, char *bytes, size_t length, bool last);
