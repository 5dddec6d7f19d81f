/* SPDX-License-Identifier: MIT */
/*
 * room.h - is a tmpfs of the jail full at its end?
 *
 * The kernel counts no refused writes. What can be known is whether a tmpfs has no block
 * or no inode left when the program ends: a program that removes what it could not
 * finish, or that wrote to a file without a name, leaves no trace of that.
 */
#ifndef STEPJAIL_JAIL_ROOM_H
#define STEPJAIL_JAIL_ROOM_H

#include <sys/types.h>

enum room_bit { ROOM_WORK = 1 << 0, ROOM_TMP = 1 << 1 };

struct room {
	int work, tmp; /* O_PATH fds, which outlive the jail's namespace; -1: not known */
};

#define ROOM_NONE                                                                        \
	(struct room)                                                                    \
	{                                                                                \
		.work = -1, .tmp = -1                                                    \
	}

/** room_open() - Keep hold of /work and /tmp of a jail, before its program runs */
struct room room_open(pid_t init);

/**
 * room_full() - Which of them have no block or no inode left; /tmp stands for /dev/shm too
 *
 * Return: enum room_bit bits, -1 where it is not known
 */
int room_full(const struct room *r);

/** room_close() - Let go of them */
void room_close(struct room *r);

#endif
