/* SPDX-License-Identifier: MIT */
/*
 * compact.c - old observations cut down: see compact.h
 */
#include <stdlib.h>
#include <string.h>

#include "agent/model/compact.h"

#define MOST_TOKENS 1e18  /* a server that tells nonsense: no number overflows */
#define BYTES_PER_TOKEN 3 /* as long as no server has told; English has about four */

uint64_t compact_tokens(uint64_t bytes, const struct gauge *g)
{
	double each = g->bytes && g->tokens ? (double)g->tokens / (double)g->bytes
					    : 1.0 / BYTES_PER_TOKEN;

	double tokens = (double)bytes * each;

	return tokens < MOST_TOKENS ? (uint64_t)tokens + 1 : (uint64_t)MOST_TOKENS;
}

static int cut_down(struct message *m, struct compacted *done, struct err *e)
{
	struct text rest = { 0 };
	size_t length = strlen(m->text);
	size_t first = strcspn(m->text, "\n");

	text_add(&rest, m->text, first);
	text_printf(
		&rest,
		"\n(The rest of this observation, %zu bytes, is left out to save room.)\n",
		length - first);

	int r = text_check(&rest, "the conversation", e);

	m->observation = false;
	if (r < 0 || rest.length >= length) { /* short as it is */
		text_free(&rest);
		return r;
	}
	free(m->text);
	m->text = rest.bytes;
	done->observations++;
	done->bytes += length - rest.length;
	return 0;
}

int compact_chat(struct chat *c, uint64_t target, const struct gauge *g,
		 struct compacted *done, struct err *e)
{
	uint64_t bytes = chat_bytes(c);
	size_t last = c->count;

	*done = (struct compacted){ 0 };
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].observation)
			last = i;
	for (size_t i = 0; i < last; i++) {
		if (compact_tokens(bytes - done->bytes, g) <= target)
			break;
		if (!c->list[i].observation)
			continue;

		int r = cut_down(&c->list[i], done, e);

		if (r < 0)
			return r;
	}
	done->tokens = compact_tokens(bytes - done->bytes, g);
	return 0;
}
