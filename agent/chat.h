/* SPDX-License-Identifier: MIT */
/*
 * chat.h - the conversation with a model so far
 */
#ifndef STEPJAIL_AGENT_CHAT_H
#define STEPJAIL_AGENT_CHAT_H

#include <stddef.h>

#include "init/err.h"

enum role { ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT };

struct message {
	enum role role;
	char *text; /* UTF-8 without NUL: mended on the way in */
};

struct chat {
	struct message *list;
	size_t count, room;
};

/**
 * chat_add() - Add a message
 * @text:	Any bytes; what is no UTF-8 becomes U+FFFD
 *
 * Return: 0 or -ENOMEM
 */
int chat_add(struct chat *c, enum role role, const char *text, size_t length,
	     struct err *e);

/** chat_last() - Text of the last message, "" where there is none */
const char *chat_last(const struct chat *c);

/** chat_free() - Free all messages */
void chat_free(struct chat *c);

/** chat_role_name() - As the chat completions interface spells it */
const char *chat_role_name(enum role role);

#endif
