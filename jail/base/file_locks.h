/* SPDX-License-Identifier: MIT */
/*
 * file_locks.h - how many file locks the processes of a PID namespace hold
 */
#pragma once

#include <stdint.h>

/**
 * file_locks_exceed() - Do they hold, or wait for, more than this?
 * @list:	The file locks of a procfs of that namespace, from mount_locks(); read
 *		from its start. -1 where none may be held: there are none
 *
 * The kernel lists no lock of flock(2) whose taker has ended while somebody else has the
 * file open: of those there are no more than open files. What it lists everywhere, with
 * no pid or a negative one, is another's and is not counted. See proc_locks(5).
 *
 * Return: 1, 0, or -errno
 */
int file_locks_exceed(int list, uint64_t limit);
