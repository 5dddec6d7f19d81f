/* SPDX-License-Identifier: MIT */
/*
 * signal_judge.h - whom a step may signal: calls that signal_guard.c tells serve of
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <linux/seccomp.h>

/* what a session knows of its processes. A step may signal none but its own: not init,
 * nor states that wait, nor other steps */
struct signal_judge {
	/* may the caller signal this process or thread, or group? 0, -EPERM, or -ESRCH:
	 * it is not there */
	int (*reaches)(void *owner, pid_t pid, bool group);
	bool (*is_own)(void *owner, pid_t pid); /* the caller's, or its thread's? */
	void *owner;
};

/**
 * signal_judge_call() - May such a call go on?
 *
 * Decided by its arguments alone, which lie in registers: nothing that another thread
 * could change meanwhile. Numbers are those of the jail's PID namespace; there is no
 * other in it.
 *
 * Return: 0, -EPERM, or -ESRCH: whom it would signal is not there
 */
int signal_judge_call(const struct signal_judge *j, const struct seccomp_data *call);
