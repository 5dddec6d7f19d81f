/* SPDX-License-Identifier: MIT */
/*
 * signal_guard.h - in a session, a step must not end the states that it may be rolled
 * back to
 *
 * All processes of a session have one uid, so the kernel lets each signal the others, and
 * slow them. The filter has the kernel ask stepjail, and jail/serve/rules/signal_judge.c
 * answers.
 */
#pragma once

#include "jail/plan/call.h"
#include "jail/plan/plan.h"
#include "jail/walls/seccomp/prefix.h"

/**
 * signal_guard_code() - Write the instructions that go before the filter's own
 * @code:	Room for SIGNAL_GUARD_CODE_MAX
 *
 * The kernel asks stepjail about calls that signal a process by its number, or change its
 * priority or CPUs. Calls by which the same could be reached otherwise fail with EPERM: a
 * pidfd does not tell whom it names, and fcntl(2) and timer_create(2) can have the kernel
 * send any signal.
 *
 * Return: how many there are, 0 for a plan that is no session's
 */
size_t signal_guard_code(const struct plan *p, struct sock_filter *code);

#define SIGNAL_GUARD_CODE_MAX 96

/**
 * signal_guard_asks() - Does signal_guard_code() have the kernel ask about this call?
 */
bool signal_guard_asks(const struct plan *p, const struct seccomp_data *call);
