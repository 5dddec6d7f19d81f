/* SPDX-License-Identifier: MIT */
/*
 * tmpfs_usage.h - is a tmpfs of the jail full at its end?
 *
 * The kernel counts no refused writes. It tells whether a tmpfs has no block or no inode
 * left when the program ends. A program that filled a tmpfs and then removed its files,
 * or wrote to a file without a name, leaves no trace.
 */
#pragma once

#include <sys/types.h>

enum tmpfs_usage_bit { TMPFS_USAGE_WORK = 1 << 0, TMPFS_USAGE_TMP = 1 << 1 };

struct tmpfs_usage {
	int work, tmp; /* O_PATH fds, good after the jail's namespace is gone; -1: none */
};

#define TMPFS_USAGE_NONE                                                                 \
	(struct tmpfs_usage)                                                             \
	{                                                                                \
		.work = -1, .tmp = -1                                                    \
	}

/** tmpfs_usage_open() - Keep hold of /work and /tmp of a jail, before its program runs */
struct tmpfs_usage tmpfs_usage_open(pid_t init);

/**
 * tmpfs_usage_full() - Which of them have no block or no inode left; /tmp stands for
 * /dev/shm too
 *
 * Return: enum tmpfs_usage_bit bits, -1 where it is not known
 */
int tmpfs_usage_full(const struct tmpfs_usage *r);

/** tmpfs_usage_close() - Let go of them */
void tmpfs_usage_close(struct tmpfs_usage *r);
