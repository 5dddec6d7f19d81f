/* SPDX-License-Identifier: MIT */
/*
 * states.c - which states a session has: see states.h
 */

#include "jail/serve/rules/states.h"

struct state *states_find(const struct states *t, uint32_t number)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (t->state[i]->number == number && !t->state[i]->ending)
			return t->state[i];
	return NULL;
}

struct branch *states_branch(struct states *t, uint32_t name)
{
	for (unsigned int i = 0; i < t->branches; i++)
		if (t->branch[i].name == name)
			return &t->branch[i];
	return NULL;
}

int states_add(struct states *t, struct state *s)
{
	if (t->count == STATES_MAX)
		return -E2BIG;
	t->state[t->count++] = s;
	return 0;
}

int states_fork(struct states *t, uint32_t name, uint32_t head)
{
	if (t->branches == BRANCHES_MAX)
		return -E2BIG;
	t->branch[t->branches++] = (struct branch){
		.name = name,
		.head = head,
		.source = { .fd = -1 },
	};
	return 0;
}

void states_drop(struct states *t, struct branch *b)
{
	*b = t->branch[--t->branches];
}

void states_end(struct states *t, struct state *s)
{
	s->ending = true;
	for (unsigned int i = 0; i < t->count; i++)
		if (t->state[i]->parent == s->number && t->state[i] != s)
			t->state[i]->parent = s->parent;
}

void states_lose(struct states *t, struct state *s)
{
	/* A branch that loses its state is at the state before it. A client must roll it
	 * back to there before the next step. */
	for (unsigned int i = 0; i < t->branches; i++) {
		if (t->branch[i].head != s->number)
			continue;
		t->branch[i].lost = true;
		t->branch[i].head = s->parent;
	}
	states_end(t, s);
}

void states_remove(struct states *t, const struct state *s)
{
	for (unsigned int i = 0; i < t->count; i++) {
		if (t->state[i] != s)
			continue;
		t->count--;
		for (; i < t->count; i++)
			t->state[i] = t->state[i + 1];
		return;
	}
}

static bool is_head(const struct states *t, const struct state *s)
{
	for (unsigned int i = 0; i < t->branches; i++)
		if (t->branch[i].head == s->number)
			return true;
	return false;
}

/* Does this state come from that one? A parent's number is always smaller, so the loop
 * ends. */
static bool comes_from(const struct states *t, uint32_t number, uint32_t from)
{
	while (number > from) {
		const struct state *s = states_find(t, number);

		if (!s || s->parent >= number)
			return false;
		number = s->parent;
	}
	return number == from;
}

static bool is_reached(const struct states *t, const struct state *s)
{
	bool reached = s->number == 0;

	for (unsigned int b = 0; !reached && b < t->branches; b++)
		reached = comes_from(t, t->branch[b].head, s->number);
	return reached;
}

struct state *states_unreachable(const struct states *t)
{
	for (unsigned int i = 0; i < t->count; i++)
		if (!t->state[i]->ending && !is_reached(t, t->state[i]))
			return t->state[i];
	return NULL;
}

bool states_is_snapshot(const struct states *t, const struct state *s)
{
	return s->number != 0 && !s->ending && !is_head(t, s);
}

struct state *states_beyond(const struct states *t, uint64_t keep)
{
	struct state *oldest = NULL;
	uint64_t count = 0;

	for (unsigned int i = 0; i < t->count; i++) {
		if (!states_is_snapshot(t, t->state[i]))
			continue;
		count++;
		if (!oldest)
			oldest = t->state[i];
	}
	return count > keep ? oldest : NULL;
}

uint64_t states_bytes(const struct states *t)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < t->count; i++)
		if (states_is_snapshot(t, t->state[i]))
			sum += t->state[i]->bytes;
	return sum;
}
