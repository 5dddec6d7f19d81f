/* SPDX-License-Identifier: MIT */
/*
 * template_pool.h - the templates of a serve: one in use, the next one, and those still
 * needed
 *
 * A template is replaced when it has made so many clones or is so old, and when it ends.
 * The next one starts meanwhile, and a template that has been replaced is ended with its
 * last session. While there is none that is ready, sessions are launched cold, unless
 * that cannot be: where code is locked, and the tree has a dynamic loader.
 */
#pragma once

#include "jail/base/event_loop.h"
#include "jail/launch/launch.h"

struct pooled;
struct template;

struct template_pool {
	struct event_loop *loop;
	struct parts *parts;
	char *const *argv;      /* the interpreter as a template; NULL: always cold */
	struct pooled *now;     /* ready, or NULL */
	struct pooled *next;    /* that starts, or NULL */
	uint64_t again_ms;      /* not before that is another one tried */
	unsigned int count;     /* that are there, or are ending */
	bool loads;             /* an executed interpreter could not load its libraries */
	bool always;            /* without a template, no jail is launched */
	char why[ERR_TEXT_MAX]; /* there was none, the last time */
};

/**
 * template_pool_open() - Start the first template, if the plan of @parts wants one
 * @argv:	The interpreter's words, NULL at the end; kept
 */
void template_pool_open(struct template_pool *s, struct event_loop *loop,
			struct parts *parts, char *const *argv);

/* a jail that is wanted; its memory must last until made() was called */
struct order {
	struct jail *jail;
	struct template *from; /* for template_pool_release(), also on failure; or NULL */
	/* the template has answered: template_meet() follows; @e: NULL, or why not */
	void (*made)(struct order *o, const struct err *e);
	struct order *next;
};

/**
 * template_pool_launch() - Launch a jail: out of a template, or cold; the jail's warm
 * tells
 *
 * Return: 0 (as launch_jail()), 1 (a template is asked, and made() is called later), or
 * -errno
 */
int template_pool_launch(struct template_pool *s, struct order *o, struct err *e);

/** template_pool_awaited() - Must one that starts be awaited before a launch? */
bool template_pool_awaited(const struct template_pool *s);

/** template_pool_release() - A jail out of it has ended; NULL is nobody */
void template_pool_release(struct template *from);

/** template_pool_close() - End all templates; no session is left. Until count is 0,
 * turn */
void template_pool_close(struct template_pool *s);
