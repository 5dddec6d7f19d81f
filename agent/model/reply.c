/* SPDX-License-Identifier: MIT */
/*
 * reply.c - what a model answered: see reply.h
 */
#include <stdio.h>

#include "agent/model/reply.h"

static const char plain[] = TEXT_WORD "-";

void reply_begin(struct reply *r)
{
	text_clear(&r->text);
	text_clear(&r->reasoning);
	for (size_t i = 0; i < r->call_count; i++)
		text_free(&r->calls[i].arguments);
	r->text.max = REPLY_TEXT_MAX;
	r->reasoning.max = REPLY_TEXT_MAX;
	r->call_count = 0;
	r->calls_dropped = false;
	r->nul = false;
	r->finish = FINISH_OTHER;
}

static struct call *find(struct reply *r, long index)
{
	if (index < 0) /* no number: the last one goes on */
		return r->call_count ? &r->calls[r->call_count - 1] : NULL;
	for (size_t i = r->call_count; i-- > 0;)
		if (r->calls[i].index == index)
			return &r->calls[i];
	return NULL;
}

struct call *reply_call(struct reply *r, long index, const char *id)
{
	struct call *c = find(r, index);
	bool other = id && *id && c && strncmp(c->id, id, CALL_ID_MAX) != 0;

	if (c && (!other || !c->id[0])) {
		if (other)
			(void)snprintf(c->id, sizeof(c->id), "%s", id);
		return c;
	}
	if (r->call_count == REPLY_CALLS_MAX) {
		r->calls_dropped = true;
		return NULL;
	}
	c = &r->calls[r->call_count++];
	*c = (struct call){ .index = index, .arguments.max = CALL_ARGUMENTS_MAX };
	(void)snprintf(c->id, sizeof(c->id), "%s", id ? id : "");
	return c;
}

void call_name(struct call *c, const char *name)
{
	(void)snprintf(c->name, sizeof(c->name), "%s", name);
	for (char *at = c->name; *at; at++)
		if (!strchr(plain, *at))
			*at = '_';
}

static bool is_good_id(const struct reply *r, size_t number)
{
	const char *id = r->calls[number].id;
	size_t length = strlen(id);

	if (!length || length == CALL_ID_MAX || strspn(id, plain) != length)
		return false;
	for (size_t i = 0; i < number; i++)
		if (strcmp(r->calls[i].id, id) == 0)
			return false;
	return true;
}

void reply_end(struct reply *r, unsigned int *serial)
{
	for (size_t i = 0; i < r->call_count; i++)
		while (!is_good_id(r, i))
			(void)snprintf(r->calls[i].id, sizeof(r->calls[i].id),
				       "stepjail_%u", ++*serial);
}

void reply_free(struct reply *r)
{
	reply_begin(r);
	text_free(&r->text);
	text_free(&r->reasoning);
}
