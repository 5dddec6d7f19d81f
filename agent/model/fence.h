/* SPDX-License-Identifier: MIT */
/*
 * fence.h - where a block of code begins and ends, line by line (for extract.c)
 *
 * Markdown's fences as CommonMark has them, as far as models use them, and the opening
 * tag that some models were taught.
 */
#pragma once

#include <stdbool.h>

#include "agent/base/text.h"

#define FENCE_TAG "<execute_python>"

enum block_kind { BLOCK_PYTHON, BLOCK_PLAIN, BLOCK_SHELL, BLOCK_OTHER, BLOCK_KINDS };

struct block {
	enum block_kind kind;
	char mark; /* '`', '~', or '<' for the tag */
	size_t mark_count;
	size_t indent; /* columns before the mark, taken off each line */
};

/** fence_indent() - How many blanks and tabs there are at @from */
size_t fence_indent(struct span s, size_t from);

/** fence_blank() - True where there is nothing but white space */
bool fence_blank(struct span s);

/** fence_begins() - True where it begins with these ASCII letters, in any case */
bool fence_begins(struct span s, const char *with);

/** fence_copy() - Add lines to a text, each ended by LF alone, and without as many blanks
 * at its beginning as its block is indented */
void fence_copy(struct span lines, size_t indent, struct text *to);

/** fence_opens() - True for a line that opens a block; fills @b */
bool fence_opens(struct span line, struct block *b);

/**
 * fence_body() - Find a block's lines, and its end
 * @rest:	What is behind the line that opens it; moved behind its end. Behind a tag
 *		the block may begin in that line itself
 * @opening:	That line
 *
 * Return: false where the block has no end: @body is all the rest then
 */
bool fence_body(struct span *rest, struct span opening, const struct block *b,
		struct span *body);
