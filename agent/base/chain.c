/* SPDX-License-Identifier: MIT */
/*
 * chain.c - lines that hold on to each other: see chain.h
 */
#include <stdio.h>
#include <stdlib.h>

#include "agent/base/chain.h"

#define SEAL ",\"sha256\":\""
#define SEAL_END "\"}"
#define DIGITS ((size_t)DIGEST_HEX - 1)
/* the bytes of a line behind those that its digest is of */
#define SEAL_BYTES (sizeof(SEAL) - 1 + DIGITS + sizeof(SEAL_END) - 1)

void chain_begin(struct chain *c)
{
	c->lines = 0;
	memset(c->digest, '0', DIGITS);
	c->digest[DIGITS] = '\0';
}

void chain_head(const struct chain *c, struct text *line)
{
	text_printf(line, "{\"line\":%" PRIu64 ",\"prev\":\"%s\",", c->lines + 1,
		    c->digest);
}

void chain_seal(struct chain *c, const char *members, struct text *line)
{
	text_clear(line);
	chain_head(c, line);
	text_puts(line, members);
	digest_bytes(text_string(line), line->length, c->digest);
	c->lines++;
	text_printf(line, SEAL "%s" SEAL_END "\n", c->digest);
}

/* of a line that was sealed: why it is not the next one */
static int say_place(const struct chain *c, const char *line, struct err *why)
{
	static const char begin[] = "{\"line\":";
	uint64_t number = 0;

	/* it ends in no digit, so this stays within it */
	if (strncmp(line, begin, sizeof(begin) - 1) == 0)
		number = strtoull(line + sizeof(begin) - 1, NULL, 10);
	if (number && number != c->lines + 1)
		return err_say(why, EBADMSG,
			       "it says that it is line %" PRIu64
			       ": lines before it were removed, added or moved",
			       number);
	return err_say(why, EBADMSG,
		       "the line before it is not the one behind which it was written");
}

int chain_check(struct chain *c, const char *line, size_t length, struct err *why)
{
	cleanup_text struct text head = { 0 };
	size_t body = length > SEAL_BYTES ? length - SEAL_BYTES : 0;
	char digest[DIGEST_HEX], seal[SEAL_BYTES + 1];

	if (!body || memcmp(line + body, SEAL, sizeof(SEAL) - 1) != 0)
		return err_say(why, EBADMSG, "it does not end with its SHA-256");
	digest_bytes(line, body, digest);
	(void)snprintf(seal, sizeof(seal), SEAL "%s" SEAL_END, digest);
	if (memcmp(line + body, seal, SEAL_BYTES) != 0)
		return err_say(why, EBADMSG, "it was altered: SHA-256 mismatch");
	chain_head(c, &head);
	if (length < head.length || memcmp(line, text_string(&head), head.length) != 0)
		return say_place(c, line, why);
	memcpy(c->digest, digest, sizeof(digest));
	c->lines++;
	return 0;
}
