/* SPDX-License-Identifier: MIT */
/*
 * place.h - HOST:PORT, as --allow-host names it and as a program asks for it
 *
 * One grammar for both, so that what is compared cannot be read in two ways. HOST is one
 * of these, in lower case afterwards:
 *
 *	a name		labels of letters, digits, '-' and '_', 63 bytes each; 253
 *			together. No dot at its end. Its last label is no number:
 *			resolvers take "127.1" and "0x7f.1" for addresses
 *	an address	four decimal numbers; or IPv6 in brackets, as RFC 5952 writes it
 *			afterwards, without a zone
 *	a wildcard	of a rule alone: "*." and a name of two labels or more
 */
#pragma once

#include <stdbool.h>

#include "init/err.h"

#define PLACE_HOST_MAX 256

/* bytes of a header's name, RFC 9110 5.6.2 */
#define PLACE_TOKEN                                                                      \
	"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct place {
	char host[PLACE_HOST_MAX]; /* without brackets */
	uint16_t port;
	bool literal; /* the host is an address */
};

/**
 * place_read() - Read HOST:PORT
 * @length:	Of the text
 * @port:	Where the text has none; or 0: it must have one
 * @rule:	A wildcard may stand for the host
 * @place:	Filled
 *
 * Return: 0, or -EINVAL: @e says what is wrong with it
 */
int place_read(const char *text, size_t length, uint16_t port, bool rule,
	       struct place *place, struct err *e);

/**
 * place_next() - Read the next rule of a list with commas between
 * @list:	Moves on; at the end of the string there is none left
 *
 * Return: as place_read()
 */
int place_next(const char **list, struct place *place, struct err *e);

/** place_allows() - Is @asked what the rule names? Both are from place_read() */
bool place_allows(const struct place *rule, const struct place *asked);
