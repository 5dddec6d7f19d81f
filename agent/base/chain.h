/* SPDX-License-Identifier: MIT */
/*
 * chain.h - lines that hold on to each other: each has its number, the digest of the line
 * before it, and one of its own
 *
 *	{"line":2,"prev":"DIGEST OF LINE 1", ... ,"sha256":"DIGEST OF THIS LINE"}
 *
 * The digest of a line is that of all bytes before `,"sha256":`, so it covers the number and
 * the digest before it, and anybody can compute it:
 *
 *	sed -n 2p FILE | sed 's/,"sha256":"[0-9a-f]*"}$//' | tr -d '\n' | sha256sum
 *
 * No byte of a line can be changed, no line be taken out, added or moved, but by making
 * all lines behind it anew. Against that helps the last line's digest, kept elsewhere.
 */
#pragma once

#include "agent/base/digest.h"

struct chain {
	uint64_t lines;          /* so far */
	char digest[DIGEST_HEX]; /* of the last one; of none: 64 zeros */
};

/** chain_begin() - No line so far */
void chain_begin(struct chain *c);

/**
 * chain_head() - Add what the next line begins with, up to its own members
 * @c:		Not changed
 */
void chain_head(const struct chain *c, struct text *line);

/**
 * chain_seal() - Make the next line
 * @members:	Of a JSON object, without its braces and without a newline; not empty
 * @line:	Gets the line, its newline too
 */
void chain_seal(struct chain *c, const char *members, struct text *line);

/**
 * chain_check() - Take the next line, if it is the next one
 * @line:	Without its newline
 * @why:	Filled where it does not fit
 *
 * Return: 0, or -EBADMSG: @c stays at the line before
 */
int chain_check(struct chain *c, const char *line, size_t length, struct err *why);
