/* SPDX-License-Identifier: MIT */
/*
 * mask.h - find the key in a text without knowing it
 *
 * The model client overwrites the key in the bytes that a server sends (client.h).
 * Where a server quotes it in pieces, one an event, or behind JSON's escapes, it is
 * whole only in what the main process has read out of those bytes, and that process has
 * no key. It has this: a digest with a salt of the key's first KEY_PART() bytes, which
 * tells that a text begins so, but not how. Lengths, first byte and sum keep the number
 * of digests down. A key of a provider's has far more unknown characters than these and
 * all computers could guess; one that a person made up may be guessed, as from any
 * digest.
 */
#pragma once

#include <nettle/sha2.h>

#include "agent/base/json.h"
#include "agent/key/key.h"

struct mask {
	uint32_t length; /* of the key; 0: nothing is looked for */
	uint32_t part;   /* its bytes that are looked for: the first KEY_PART() */
	uint32_t sum;    /* of these */
	uint8_t first;   /* one of them */
	uint8_t salt[16];
	uint8_t digest[SHA256_DIGEST_SIZE]; /* of salt and these */
};

/** mask_make() - Of a key; of none, or one too short to be one, a mask that finds none.
 * 0, or -errno of getrandom(2) */
int mask_make(struct mask *m, const struct key *k, struct err *e);

/**
 * mask_cover() - Overwrite every occurrence of the key, or of its first part, with
 * asterisks
 * @m:		NULL finds none
 * @held:	What begins in so many bytes at the end is left for later: mask_held()
 *
 * Behind the first part, whatever may be the rest is overwritten: what is no blank.
 *
 * Return: whether there was one
 */
bool mask_cover(const struct mask *m, char *bytes, size_t length, size_t held);

/** mask_held() - How many bytes at the end may be a beginning of the key, but not all of
 * it */
size_t mask_held(const struct mask *m, const char *bytes, size_t length);

/** mask_json() - The same as mask_cover() in every string and name of a value; an escape
 * in it hides nothing, for it has been read */
bool mask_json(const struct mask *m, cJSON *value);
