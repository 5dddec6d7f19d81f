/* SPDX-License-Identifier: MIT */
/*
 * nonce.c - what nobody can guess: see nonce.h
 */
#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "agent/base/nonce.h"

int nonce_make(char hex[NONCE_HEX], struct err *e)
{
	unsigned char bytes[NONCE_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set(e, errno, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}
