/* SPDX-License-Identifier: MIT */
/*
 * nonce.h - words that a judge in a jail tells its verdict by, and nobody can guess
 */
#ifndef STEPJAIL_AGENT_NONCE_H
#define STEPJAIL_AGENT_NONCE_H

#include "init/err.h"

#define NONCE_BYTES 16
#define NONCE_HEX (2 * NONCE_BYTES + 1) /* with the NUL */

/** nonce_make() - Fresh random bytes, in hex; 0, or -errno of getrandom(2) */
int nonce_make(char hex[NONCE_HEX], struct err *e);

#endif
