/* SPDX-License-Identifier: MIT */
/*
 * mask.h - find the key in a text without knowing it
 *
 * The model client overwrites the key in the bytes that a server sends (client.h).
 * Where a server quotes it in pieces, one an event, or behind JSON's escapes, it is
 * whole only in what the main process has read out of those bytes, and that process has
 * no key. It has this: a digest with a salt, which tells that a text is the key, but
 * not what the key is. Length, first byte and sum keep the number of digests down. A
 * key of a provider's has far more unknown characters than these four and all computers
 * could guess; one that a person made up may be guessed, as from any digest.
 */
#pragma once

#include <nettle/sha2.h>

#include "agent/key/key.h"

struct mask {
	uint32_t length; /* of the key; 0: nothing is looked for */
	uint32_t sum;    /* of its bytes */
	uint8_t first;   /* one of them */
	uint8_t salt[16];
	uint8_t digest[SHA256_DIGEST_SIZE]; /* of salt and key */
};

/** mask_make() - Of a key; of none, or one too short to be one, a mask that finds none.
 * 0, or -errno of getrandom(2) */
int mask_make(struct mask *m, const struct key *k, struct err *e);

/** mask_cover() - Overwrite every occurrence of the key with asterisks */
void mask_cover(const struct mask *m, char *bytes, size_t length);

/** mask_held() - How many bytes at the end may be a beginning of the key, but not all of
 * it */
size_t mask_held(const struct mask *m, const char *bytes, size_t length);
