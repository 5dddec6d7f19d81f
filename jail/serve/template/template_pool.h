/* SPDX-License-Identifier: MIT */
/*
 * template_pool.h - the templates of a serve: one in use, the next one, and those still needed
 *
 * A template is replaced when it has made so many clones or is so old, and when it ends. The
 * next one starts meanwhile, and a template that has been replaced is ended with its last
 * session. While there is none that is ready, sessions are launched cold, unless that cannot
 * be: where code is locked, and the tree has a dynamic loader.
 */
#ifndef STEPJAIL_JAIL_SERVE_TEMPLATE_TEMPLATE_POOL_H
#define STEPJAIL_JAIL_SERVE_TEMPLATE_TEMPLATE_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "init/err.h"
#include "jail/base/event_loop.h"
#include "jail/launch/launch.h"

struct stocked;

struct template_pool {
	struct event_loop *hub;
	struct parts *parts;
	char *const *argv;      /* the interpreter as a template; NULL: always cold */
	struct stocked *now;    /* ready, or NULL */
	struct stocked *next;   /* that starts, or NULL */
	uint64_t again_ms;      /* not before that is another one tried */
	bool loads;             /* an executed interpreter could not load its libraries */
	bool always;            /* without a template, no jail is launched */
	char why[ERR_TEXT_MAX]; /* there was none, the last time */
};

/**
 * template_pool_open() - Start the first template, if the plan of @parts wants one
 * @argv:	The interpreter's words, NULL at the end; kept
 */
void template_pool_open(struct template_pool *s, struct event_loop *hub,
			struct parts *parts, char *const *argv);

/**
 * template_pool_launch() - Launch a jail: out of a template, or cold, and @j->warm tells
 * @from:	Gets whom to give to template_pool_release(), also on failure; NULL for nobody
 *
 * Return: as launch_jail()
 */
int template_pool_launch(struct template_pool *s, struct jail *j, struct stocked **from,
			 struct err *e);

/**
 * template_pool_is_ready() - Would a launch now be out of a template that is not too old, or is
 * none awaited? For who can wait; starts the next one where that is due
 */
bool template_pool_is_ready(struct template_pool *s);

/** template_pool_is_stale() - Has the template ended, or was it replaced and is too old? */
bool template_pool_is_stale(const struct stocked *from);

/** template_pool_release() - A jail out of it has ended; NULL is nobody */
void template_pool_release(struct template_pool *s, struct stocked *from);

/** template_pool_awaits() - Must a template that starts be awaited before a jail is launched? */
bool template_pool_awaits(const struct template_pool *s);

/** template_pool_close() - End all templates; no session is left */
void template_pool_close(struct template_pool *s);

#endif
