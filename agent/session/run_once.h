/* SPDX-License-Identifier: MIT */
/*
 * run_once.h - a command line of the broker's, run once in a jail of its own: `stepjail
 * run`
 *
 * Its stdin gets what it is to look at. What it prints comes when it has ended, the head
 * and tail of it; what stepjail reports of its end is read, and believed only where the
 * exit status of stepjail says the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/clip.h"
#include "agent/base/stop.h"
#include "agent/session/broker.h"
#include "agent/session/verdict.h"

struct run_once_plan {
	const struct broker *broker;
	int line; /* as broker_add() said */
	struct stop *stop;
	uint64_t limit_ms;    /* what stepjail was told; it is ended some time later */
	uint64_t deadline_ms; /* the task's, on units_now_ms()'s clock */
};

/* large: keep it off the stack */
struct run_once {
	struct verdict_facts facts;
	bool good;            /* it ended by itself, with exit status 0 */
	struct clip out, err; /* what it printed; of @err, stepjail's own lines too */
	uint64_t wall_ms;
};

/**
 * run_once() - Run it to its end
 * @o:		Overwritten
 *
 * Return: 0, however it ended; -ENOTRECOVERABLE where it did not begin, with stepjail's
 * words; -ETIMEDOUT (the task's deadline), -EINTR (a signal), or -errno
 */
int run_once(const struct run_once_plan *p, const void *input, size_t length,
	     struct run_once *o, struct err *e);
