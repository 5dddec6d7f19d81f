/* SPDX-License-Identifier: MIT */
/*
 * sha256.h - SHA-256 of nettle's, in hex
 *
 * For digests in reports and the list of a root tree; nothing secret is ever hashed.
 */
#pragma once

#include <stddef.h>

#include <nettle/sha2.h>

#define SHA256_HEX 65 /* 64 digits and a NUL */

/**
 * sha256_end() - The digest in lower-case hex; @s is as sha256_init() makes it
 * @hex:	SHA256_HEX bytes
 *
 * Return: @hex
 */
const char *sha256_end(struct sha256_ctx *s, char *hex);

/** sha256_text() - The digest of @length bytes, in one call; as sha256_end() */
const char *sha256_text(const void *bytes, size_t length, char *hex);
