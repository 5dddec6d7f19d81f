/* SPDX-License-Identifier: MIT */
/*
 * template.h - a warm interpreter that jails are cloned from, as the launcher holds it
 *
 * A template is a jail of its own, started once by launch_jail() with a plan that says
 * so: its program is an interpreter that has imported what it was told to, and waits. It
 * runs nothing that a program wrote, so it has no filter and no Landlock, and keeps, in
 * its own user namespace, what writes the id maps of its clones. launch_warm() has it
 * make a clone in place of the launcher's own; everything before and after is the same.
 * What it has of a jail's walls is read back at its gate as a jail's is (posture.h), and
 * one that lacks any of it is not used.
 *
 * It trusts the root tree: who wrote that can make a template lie to nobody but its own
 * clones, and use the ids of the reserved range. See warm.h for its own part.
 *
 * Its clones end with it, and share its layout of memory and its hash seed. So it is
 * replaced from time to time: template_is_old().
 */
#pragma once

#include "jail/watch/startup.h"

struct template
{
	struct startup up; /* its jail, up to the opened gate */
	struct plan plan;  /* the jails', but for the program, and marked */
	struct parts parts;
	int channel; /* to the interpreter, see warm.h */
	int events;  /* epoll(7) of all that template_serve() takes */
	bool ready;
	unsigned int clones; /* so far */
	unsigned int asked;  /* those that it has not answered */
	uint64_t start_ms;   /* CLOCK_MONOTONIC */
	/* called by template_serve(), once for each clone that it was asked for, in their
	 * order; @e: NULL, or why there is none */
	void (*made)(struct template * t, const struct err *e);
};

/**
 * template_start() - Start a template; it is ready when template_serve() says so
 * @t:		Filled; not to be moved; the caller ends its jail and calls
 *		template_close(), whatever this returns
 * @parts:	Of the jails that are to be cloned, from launch_find()
 * @argv:	The interpreter and its words, NULL at the end; kept
 * @out:	Becomes its stdout and stderr; the caller's
 *
 * As root it gets ids and a cgroup leaf like any jail's. All signals must be blocked.
 *
 * Return: 0, or -errno
 */
int template_start(struct template *t, const struct parts *parts, char *const *argv,
		   int out, struct err *e);

/**
 * template_serve() - Take what it says, without waiting
 *
 * Return: 1 (it is ready), 0 (not yet), or -errno: it has ended or is of no use, @e says
 * why, and all that is left to do is to end it
 */
int template_serve(struct template *t, struct err *e);

/**
 * template_ask() - Ask it to make a clone, without waiting; made() tells of the answer
 * @j:		As launch_jail() wants it
 * @parts:	Of the jails
 *
 * Return: 0, -EPIPE (it has ended), or -errno: it is then not asked
 */
int template_ask(struct template *t, struct jail *j, struct parts *parts, struct err *e);

/**
 * template_meet() - Who is the clone? By the kernel's word, after made()
 * @j:		Gets pid and pidfd. The clone waits; launch_go() lets it go on
 *
 * To be called again when j->control is readable.
 *
 * Return: 1, 0 (it has not said yet that it is there), or -errno
 */
int template_meet(const struct template *t, struct jail *j, struct err *e);

/** template_is_old() - Has it made so many clones, or is it that old? Or NO_LIMIT */
bool template_is_old(const struct template *t, uint64_t clones, uint64_t age_ms);

/** template_close() - Close its fds, but not its jail's */
void template_close(struct template *t);

/**
 * template_plan_send() - Tell a template its clones' plan; in template_plan.c
 * @channel:	The sealed memfd of a struct warm_plan lies in it until the template comes
 * @parts:	Of the jails that are to be cloned
 *
 * Return: 0, or -errno
 */
int template_plan_send(int channel, const struct parts *parts, struct err *e);
