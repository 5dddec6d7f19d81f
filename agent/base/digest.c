/* SPDX-License-Identifier: MIT */
/*
 * digest.c - SHA-256: see digest.h
 */
#include <nettle/base16.h>
#include <unistd.h>

#include "agent/base/digest.h"

void digest_hex(struct sha256_ctx *sum, char hex[DIGEST_HEX])
{
	uint8_t digest[SHA256_DIGEST_SIZE];

	sha256_digest(sum, sizeof(digest), digest);
	base16_encode_update(hex, sizeof(digest), digest);
	hex[DIGEST_HEX - 1] = '\0';
}

void digest_bytes(const void *bytes, size_t length, char hex[DIGEST_HEX])
{
	struct sha256_ctx sum;

	sha256_init(&sum);
	sha256_update(&sum, length, bytes);
	digest_hex(&sum, hex);
}

int digest_fd(int fd, struct stop *stop, char hex[DIGEST_HEX], uint64_t *bytes)
{
	struct sha256_ctx sum;
	char piece[65536];
	ssize_t n = 1;

	*bytes = 0;
	sha256_init(&sum);
	while (n > 0) {
		if (stop && stop_came(stop))
			return -EINTR;
		n = pread(fd, piece, sizeof(piece), (off_t)*bytes);
		if (n < 0)
			return -errno;
		sha256_update(&sum, (size_t)n, (const uint8_t *)piece);
		*bytes += (uint64_t)n;
	}
	digest_hex(&sum, hex);
	return 0;
}
