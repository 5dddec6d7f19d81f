/* SPDX-License-Identifier: MIT */
/*
 * caller.h - a child of a test that makes refused calls; the test is its launcher
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "jail/plan/plan.h"
#include "jail/watch/violation.h"

extern struct plan caller_plan;        /* whose filter it gets */
extern struct violations caller_heard; /* of it */
extern pid_t caller_pid;

/** caller_start() - Make a process under the plan's filter, whose end says what @act
 * says */
void caller_start(bool (*act)(void));

/** caller_refused() - In there: is this call refused with EPERM? */
bool caller_refused(long nr, uint64_t arg0, uint64_t arg1);

/**
 * caller_waits() - Wait until something waits at the listener, or nobody can any more
 *
 * Return: whether something does
 */
bool caller_waits(void);

/**
 * caller_serve_all() - Serve until the caller has ended, with a clock that goes on by a
 * second each time
 *
 * Return: whether there was a violation
 */
bool caller_serve_all(void);

/** caller_ends_with() - Reap it, and fail the test if it did not exit with @want */
void caller_ends_with(int want);
