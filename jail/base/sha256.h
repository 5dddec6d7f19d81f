/* SPDX-License-Identifier: MIT */
/*
 * sha256.h - SHA-256, as in FIPS 180-4
 *
 * For digests in reports and the list of a root tree; nothing secret is ever hashed. No
 * library is linked into the launcher.
 */
#ifndef STEPJAIL_JAIL_BASE_SHA256_H
#define STEPJAIL_JAIL_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX 65 /* 64 digits and a NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;          /* so far */
	unsigned char block[64]; /* the last bytes % 64 of them */
};

void sha256_begin(struct sha256 *s);

void sha256_add(struct sha256 *s, const void *bytes, size_t length);

/**
 * sha256_end() - The digest in lower-case hex; @s is of no further use
 * @hex:	SHA256_HEX bytes
 *
 * Return: @hex
 */
const char *sha256_end(struct sha256 *s, char *hex);

/** sha256_text() - All three in one */
const char *sha256_text(const void *bytes, size_t length, char *hex);

#endif
