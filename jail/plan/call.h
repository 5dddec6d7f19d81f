/* SPDX-License-Identifier: MIT */
/*
 * call.h - a system call in words: name, architecture, and the rows that speak of it
 */
#pragma once

#include <linux/audit.h>
#include <linux/seccomp.h>

#include "init/filter.h"

/* the architecture of this machine */
#if defined(__x86_64__)
#define CALL_NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define CALL_NATIVE AUDIT_ARCH_AARCH64
#endif

/** call_name() - The call's name, or NULL for a number that has none */
const char *call_name(const struct seccomp_data *data);

/**
 * call_arch() - The architecture of the call's entry to the kernel: x86_64, x32, i386,
 * ...
 */
const char *call_arch(const struct seccomp_data *data);

/**
 * call_telling() - The argument that tells what a call does, for calls such as ioctl(2)
 * that do many things
 *
 * Return: its index, or -1
 */
int call_telling(const char *name);

/** call_number() - The number of a call of this architecture, -1 for a name it lacks */
int call_number(const char *name);

/**
 * call_refused() - The next row of refused_rows or, if @locked, of locked_rows that
 * speaks of a call
 * @data:	Number, architecture and arguments; no row speaks of another architecture
 * @after:	The row found before, NULL at first
 *
 * Return: a row, or NULL when there is no further one
 */
const struct refused_row *call_refused(const struct seccomp_data *data, bool locked,
				       const struct refused_row *after);

/** call_foreign() - Did the call come through the entry of another architecture? */
bool call_foreign(const struct seccomp_data *data);
