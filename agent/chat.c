/* SPDX-License-Identifier: MIT */
/*
 * chat.c - the conversation with a model so far: see chat.h
 */
#include <errno.h>
#include <stdlib.h>

#include "agent/chat.h"
#include "agent/text.h"
#include "agent/utf8.h"

static const char *const role_names[] = {
	[ROLE_SYSTEM] = "system",
	[ROLE_USER] = "user",
	[ROLE_ASSISTANT] = "assistant",
};

const char *chat_role_name(enum role role)
{
	return role_names[role];
}

int chat_add(struct chat *c, enum role role, const char *text, size_t length,
	     struct err *e)
{
	struct text mended = { 0 };

	if (c->count == c->room) {
		size_t room = c->room ? c->room * 2 : 16;
		struct message *list = realloc(c->list, room * sizeof(*list));

		if (!list)
			return err_set(e, ENOMEM, "the conversation");
		c->list = list;
		c->room = room;
	}
	utf8_mend(&mended, text, length);
	text_add(&mended, "", 0);

	int r = text_check(&mended, "a message of the conversation", e);

	if (r < 0) {
		text_free(&mended);
		return r;
	}
	c->list[c->count++] = (struct message){ role, mended.bytes };
	return 0;
}

const char *chat_last(const struct chat *c)
{
	return c->count ? c->list[c->count - 1].text : "";
}

void chat_free(struct chat *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->list[i].text);
	free(c->list);
	*c = (struct chat){ 0 };
}
