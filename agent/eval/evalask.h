/* SPDX-License-Identifier: MIT */
/*
 * evalask.h - ask a model for the solutions of a set of tasks, some at a time
 */
#ifndef STEPJAIL_AGENT_EVALASK_H
#define STEPJAIL_AGENT_EVALASK_H

#include "agent/eval/evalbook.h"
#include "agent/model/model.h"

struct evalask_plan {
	const char *model; /* as --model names it */
	struct model_plan *model_plan;
	uint64_t jobs;   /* how many are asked at a time; of a script always one */
	uint64_t ask_ms; /* longest time for one question, in all */
	struct stop *stop;
	/*
	 * Nothing is opened any more: in each asker, with its model, before it asks, and
	 * with NULL in this process, once all askers are forked. 0 or -errno
	 */
	int (*confine)(void *arg, const struct model *model, struct err *e);
	/* a reply is there; 0, or -errno to stop everything */
	int (*replied)(void *arg, size_t sample, struct err *e);
	void *arg; /* of both */
};

/**
 * evalask() - Ask for each sample of the book that has no reply
 *
 * Each asker is a process of its own with a connection of its own: it hands back the code
 * of a reply, and nothing else of what the server sent comes into this one. What goes
 * wrong with the model ends all; the replies until then are in the book.
 *
 * Return: 0, -EINTR (a signal came), or -errno with the model's words
 */
int evalask(struct evalbook *book, const struct evalask_plan *plan, struct err *e);

#endif
