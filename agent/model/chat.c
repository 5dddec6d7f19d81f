/* SPDX-License-Identifier: MIT */
/*
 * chat.c - the conversation with a model so far: see chat.h
 */

#include "agent/base/memory.h"
#include "agent/base/utf8.h"
#include "agent/model/chat.h"
#include "agent/model/tool.h"

#define MOST_TOKENS 1e18   /* a server that tells nonsense: no number overflows */
#define BYTES_PER_TOKEN 3  /* as long as no server has told; English has about four */
#define AROUND_BYTES 40    /* of JSON around a message, or a call */
#define PICTURE_BYTES 4800 /* what text of as many tokens has, at most */

const char *const chat_roles[] = {
	[ROLE_SYSTEM] = "system",
	[ROLE_USER] = "user",
	[ROLE_ASSISTANT] = "assistant",
};

static const char beside[] =
	"It was run together with the first call, as one step: see the result of that.";

void chat_add(struct chat *c, enum role role, const char *text, size_t length)
{
	/* U+FFFD has three bytes: whatever they are, there is room for them */
	struct text mended = { .max = 3 * length };

	if (c->count == c->room) {
		c->room = c->room ? c->room * 2 : 16;
		c->list = memory_grow(c->list, c->room * sizeof(*c->list));
	}
	utf8_mend(&mended, text, length);
	text_add(&mended, "", 0);
	c->list[c->count++] = (struct message){ .role = role, .text = mended.bytes };
}

static void add_call(struct message *m, const struct call *from)
{
	struct call *c = &m->calls[m->call_count++];

	*c = *from;
	/* of CALL_ARGUMENTS_MAX at most: escaped and mended, a text has room for them */
	c->arguments = (struct text){ 0 };
	tool_arguments(from, &c->arguments);
	if (!c->name[0])
		call_name(c, "unnamed");
}

void chat_add_reply(struct chat *c, const struct reply *reply)
{
	chat_add(c, ROLE_ASSISTANT, text_string(&reply->text), reply->text.length);
	if (!reply->call_count)
		return;

	struct message *m = &c->list[c->count - 1];

	m->calls = memory_zeroed(reply->call_count, sizeof(*m->calls));
	for (size_t i = 0; i < reply->call_count; i++)
		add_call(m, &reply->calls[i]);
}

void chat_show(struct chat *c, const struct text *png)
{
	cleanup_text struct text base64 = { 0 };

	text_base64(&base64, png->bytes, png->length);
	c->shown = c->shown ? c->shown : cJSON_CreateArray();
	(void)cJSON_AddItemToArray(c->shown, cJSON_CreateString(text_string(&base64)));
}

static void forget_pictures(struct chat *c)
{
	int room = CHAT_PICTURES_MAX;

	for (size_t i = c->count; i-- > 0;) {
		cJSON *list = c->list[i].pictures;

		while (cJSON_GetArraySize(list) > room)
			cJSON_DeleteItemFromArray(list, 0);
		room -= cJSON_GetArraySize(list);
	}
}

void chat_add_observation(struct chat *c, const char *text, size_t length)
{
	size_t asked = c->count - 1;
	size_t calls = c->count ? c->list[asked].call_count : 0;

	chat_add(c, ROLE_USER, text, length);
	c->list[c->count - 1].observation = true;
	c->list[c->count - 1].pictures = c->shown;
	c->shown = NULL;
	forget_pictures(c);
	for (size_t i = 0; i < calls; i++) {
		if (i > 0)
			chat_add(c, ROLE_USER, beside, strlen(beside));
		/* the last message becomes the result of this call */
		c->list[c->count - 1].call_id = memory_string(c->list[asked].calls[i].id);
	}
}

void chat_settle(struct chat *c, const char *words)
{
	if (c->count && c->list[c->count - 1].call_count)
		chat_add_observation(c, words, strlen(words));
}

static uint64_t picture_bytes(const struct message *m)
{
	return (uint64_t)cJSON_GetArraySize(m->pictures) * PICTURE_BYTES;
}

uint64_t chat_bytes(const struct chat *c)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct message *m = &c->list[i];

		bytes += AROUND_BYTES + strlen(m->text) + picture_bytes(m);
		for (size_t k = 0; k < m->call_count; k++)
			bytes += AROUND_BYTES + m->calls[k].arguments.length;
	}
	return bytes;
}

void chat_cut(struct chat *c, size_t count)
{
	while (c->count > count) {
		struct message *m = &c->list[--c->count];

		for (size_t k = 0; k < m->call_count; k++)
			text_free(&m->calls[k].arguments);
		cJSON_Delete(m->pictures);
		free(m->calls);
		free(m->call_id);
		free(m->text);
	}
}

void chat_free(struct chat *c)
{
	chat_cut(c, 0);
	free(c->list);
	cJSON_Delete(c->shown);
	*c = (struct chat){ 0 };
}

uint64_t compact_tokens(uint64_t bytes, const struct gauge *g)
{
	double each = g->bytes && g->tokens ? (double)g->tokens / (double)g->bytes
					    : 1.0 / BYTES_PER_TOKEN;

	double tokens = (double)bytes * each;

	return tokens < MOST_TOKENS ? (uint64_t)tokens + 1 : (uint64_t)MOST_TOKENS;
}

static void cut_down(struct message *m, struct compacted *done)
{
	size_t length = strlen(m->text);
	size_t first = strcspn(m->text, "\n");
	struct text rest = { 0 };

	text_add(&rest, m->text, first);
	text_printf(
		&rest,
		"\n(The rest of this observation, %zu bytes, is left out to save room.)\n",
		length - first);

	bool shorter = !rest.failed && rest.length < length;

	m->observation = false;
	done->observations += shorter || m->pictures;
	done->bytes += picture_bytes(m) + (shorter ? length - rest.length : 0);
	cJSON_Delete(m->pictures);
	m->pictures = NULL;
	if (!shorter) {
		text_free(&rest);
		return;
	}
	free(m->text);
	m->text = rest.bytes;
}

struct compacted compact_chat(struct chat *c, uint64_t target, const struct gauge *g)
{
	struct compacted done = { 0 };
	uint64_t bytes = chat_bytes(c);
	size_t last = c->count;

	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].observation)
			last = i;
	for (size_t i = 0; i < last; i++) {
		if (compact_tokens(bytes - done.bytes, g) <= target)
			break;
		if (c->list[i].observation)
			cut_down(&c->list[i], &done);
	}
	done.tokens = compact_tokens(bytes - done.bytes, g);
	return done;
}
