/* SPDX-License-Identifier: MIT */
/*
 * stock.h - the templates of a serve: one in use, the next one, and those still needed
 *
 * A template is replaced when it has made so many clones or is so old, and when it ends. The
 * next one starts meanwhile, and a template that has been replaced is ended with its last
 * session. While there is none that is ready, sessions are launched cold, unless that cannot
 * be: where code is locked, and the tree has a dynamic loader.
 */
#ifndef STEPJAIL_JAIL_STOCK_H
#define STEPJAIL_JAIL_STOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "init/err.h"
#include "jail/hub.h"
#include "jail/launch.h"

struct stocked;

struct stock {
	struct hub *hub;
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
 * stock_open() - Start the first template, if the plan of @parts wants one
 * @argv:	The interpreter's words, NULL at the end; kept
 */
void stock_open(struct stock *s, struct hub *hub, struct parts *parts, char *const *argv);

/**
 * stock_launch() - Launch a jail: out of a template, or cold, and @j->warm tells
 * @from:	Gets whom to give to stock_release(), also on failure; NULL for nobody
 *
 * Return: as launch_jail()
 */
int stock_launch(struct stock *s, struct jail *j, struct stocked **from, struct err *e);

/**
 * stock_is_ready() - Would a launch now be out of a template that is not too old, or is
 * none awaited? For who can wait; starts the next one where that is due
 */
bool stock_is_ready(struct stock *s);

/** stock_is_stale() - Has the template ended, or was it replaced and is too old? */
bool stock_is_stale(const struct stocked *from);

/** stock_release() - A jail out of it has ended; NULL is nobody */
void stock_release(struct stock *s, struct stocked *from);

/** stock_awaits() - Must a template that starts be awaited before a jail is launched? */
bool stock_awaits(const struct stock *s);

/** stock_close() - End all templates; no session is left */
void stock_close(struct stock *s);

#endif
