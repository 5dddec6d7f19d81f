/* SPDX-License-Identifier: MIT */
/*
 * digest.h - SHA-256, in lower-case hex: of bytes, and of a file
 *
 * It is nettle's: Debian keeps it, GnuTLS and with it apt rest on it, and its context is
 * a plain struct, which asks for no memory and cannot fail in the middle of a record.
 */
#pragma once

#include <nettle/sha2.h>

#include "agent/base/stop.h"

#define DIGEST_HEX (2 * SHA256_DIGEST_SIZE + 1) /* the digits and a NUL */

/** digest_hex() - End a digest and write it; the context begins anew */
void digest_hex(struct sha256_ctx *sum, char hex[DIGEST_HEX]);

/** digest_bytes() - Of bytes */
void digest_bytes(const void *bytes, size_t length, char hex[DIGEST_HEX]);

/**
 * digest_fd() - Of all of a file, wherever its fd stands
 * @stop:	Looked at between blocks, for a file may be large or without an end; NULL
 *		where nobody may stop it
 * @bytes:	Gets the file's size
 *
 * Return: 0, -EINTR where a signal came, or -errno of pread(2)
 */
int digest_fd(int fd, struct stop *stop, char hex[DIGEST_HEX], uint64_t *bytes);
