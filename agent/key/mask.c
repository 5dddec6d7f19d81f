/* SPDX-License-Identifier: MIT */
/*
 * mask.c - find the key in a text without knowing it: see mask.h
 */
#include <sys/random.h>

#include "agent/key/mask.h"

static void digest(const struct mask *m, const char *bytes,
		   uint8_t out[SHA256_DIGEST_SIZE])
{
	struct sha256_ctx sum;

	sha256_init(&sum);
	sha256_update(&sum, sizeof(m->salt), m->salt);
	sha256_update(&sum, m->part, (const uint8_t *)bytes);
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
	m->part = KEY_PART(m->length);
	m->first = (uint8_t)k->bytes[0];
	for (size_t i = 0; i < m->part; i++)
		m->sum += (uint8_t)k->bytes[i];
	digest(m, k->bytes, m->digest);
	return 0;
}

static bool is_part(const struct mask *m, const char *bytes, uint32_t sum)
{
	uint8_t got[SHA256_DIGEST_SIZE];

	if ((uint8_t)bytes[0] != m->first || sum != m->sum)
		return false;
	digest(m, bytes, got);
	return memcmp(got, m->digest, sizeof(got)) == 0;
}

/* no key holds a space or what is not ASCII: see key.c */
static bool may_be_keys(char c)
{
	return c > ' ' && c <= '~';
}

bool mask_cover(const struct mask *m, char *bytes, size_t length, size_t held)
{
	size_t end = 0, until = 0; /* of the window, and of what is to be overwritten */
	uint32_t sum = 0;          /* of the bytes from @at to the window's end */

	if (!m || !m->length)
		return false;
	/* a byte is overwritten when no window needs it any more: one key may begin in
	 * what is taken for the rest of another */
	for (size_t at = 0; at + held < length || at < until; at++) {
		size_t n = m->part;

		while (end < at + n && end < length)
			sum += (uint8_t)bytes[end++];
		if (at + held < length && at + n <= length &&
		    is_part(m, bytes + at, sum)) {
			while (n < m->length && at + n < length &&
			       may_be_keys(bytes[at + n]))
				n++;
			until = at + n;
		}
		sum -= (uint8_t)bytes[at];
		if (at < until)
			bytes[at] = '*';
	}
	return until;
}

size_t mask_held(const struct mask *m, const char *bytes, size_t length)
{
	size_t held = 0, longest = 0;

	while (held < length && held + 1 < m->length &&
	       may_be_keys(bytes[length - held - 1]))
		if ((uint8_t)bytes[length - ++held] == m->first)
			longest = held;
	return longest;
}

bool mask_json(const struct mask *m, cJSON *value)
{
	bool found = false;

	for (; value; value = value->next) {
		char *texts[] = { value->string, value->valuestring };

		for (size_t i = 0; i < COUNT(texts); i++)
			found |= texts[i] && mask_cover(m, texts[i], strlen(texts[i]), 0);
		found |= mask_json(m, value->child);
	}
	return found;
}
