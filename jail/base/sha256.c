/* SPDX-License-Identifier: MIT */
/*
 * sha256.c - SHA-256 of nettle's, in hex: see sha256.h
 */
#include <stdio.h>

#include "jail/base/sha256.h"

const char *sha256_end(struct sha256_ctx *s, char *hex)
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(s, sizeof(digest), digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	return hex;
}

const char *sha256_text(const void *bytes, size_t length, char *hex)
{
	struct sha256_ctx s;

	sha256_init(&s);
	sha256_update(&s, length, bytes);
	return sha256_end(&s, hex);
}
