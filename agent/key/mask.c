/* SPDX-License-Identifier: MIT */
/*
 * mask.c - find the key in a text without knowing it: see mask.h
 */
#include <string.h>
#include <sys/random.h>

#include "agent/key/mask.h"

static void digest(const struct mask *m, const char *bytes,
		   uint8_t out[SHA256_DIGEST_SIZE])
{
	struct sha256_ctx sum;

	sha256_init(&sum);
	sha256_update(&sum, sizeof(m->salt), m->salt);
	sha256_update(&sum, m->length, (const uint8_t *)bytes);
	sha256_digest(&sum, SHA256_DIGEST_SIZE, out);
}

int mask_make(struct mask *m, const struct key *k, struct err *e)
{
	*m = (struct mask){ 0 };
	if (k->length < KEY_SHORTEST)
		return 0;
	if (getrandom(m->salt, sizeof(m->salt), 0) != sizeof(m->salt))
		return err_set(e, errno, "getrandom");
	m->length = (uint32_t)k->length;
	m->first = (uint8_t)k->bytes[0];
	for (size_t i = 0; i < k->length; i++)
		m->sum += (uint8_t)k->bytes[i];
	digest(m, k->bytes, m->digest);
	return 0;
}

static bool is_key(const struct mask *m, const char *bytes, uint32_t sum)
{
	uint8_t got[SHA256_DIGEST_SIZE];

	if ((uint8_t)bytes[0] != m->first || sum != m->sum)
		return false;
	digest(m, bytes, got);
	return memcmp(got, m->digest, sizeof(got)) == 0;
}

void mask_cover(const struct mask *m, char *bytes, size_t length)
{
	uint32_t sum = 0; /* of the bytes from @at to the window's end */

	if (!m->length || length < m->length)
		return;
	for (size_t at = 0, end = 0; at + m->length <= length; at++) {
		while (end < at + m->length)
			sum += (uint8_t)bytes[end++];

		bool found = is_key(m, bytes + at, sum);

		sum -= (uint8_t)bytes[at];
		if (found) {
			memset(bytes + at, '*', m->length);
			at += m->length - 1;
			sum = 0;
		}
	}
}

size_t mask_held(const struct mask *m, const char *bytes, size_t length)
{
	size_t held = 0, longest = 0;

	/* no key holds a space or what is not ASCII: see key.c */
	while (held < length && held + 1 < m->length && bytes[length - held - 1] > ' ' &&
	       bytes[length - held - 1] <= '~')
		if ((uint8_t)bytes[length - ++held] == m->first)
			longest = held;
	return longest;
}
