/* SPDX-License-Identifier: MIT */
/*
 * closer.h - a process that closes what takes long to close: see packet.c
 */
#pragma once

#include <sys/types.h>

#include "init/err.h"

/**
 * closer_start() - Fork it, where the kernel lets a jail send fds to a channel
 * @id:		To become; 0: the ids stay
 * @landlock_abi:	Or 0
 * @socket:	Gets the fd for closer_use(); -1 where no closer is needed
 *
 * It has no rights, and reads nothing. It ends with its caller's end of the socket.
 *
 * Return: 0, or -errno
 */
int closer_start(uid_t id, int landlock_abi, int *socket, struct err *e);

/** closer_use() - Where closer_give() sends to; -1 for nowhere */
void closer_use(int socket);

/**
 * closer_give() - Have an fd closed there
 * @fd:		Closed here when it is there
 *
 * Return: 0, or -errno: it is still open
 */
int closer_give(int *fd);
