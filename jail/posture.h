/* SPDX-License-Identifier: MIT */
/*
 * posture.h - the walls around the waiting program, as the kernel tells them
 */
#ifndef STEPJAIL_JAIL_POSTURE_H
#define STEPJAIL_JAIL_POSTURE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "init/err.h"

#define POSTURE_ROWS 9
#define POSTURE_TEXT_MAX 64

struct posture {
	bool known;                                /* false before the gate */
	char text[POSTURE_ROWS][POSTURE_TEXT_MAX]; /* as in posture_row_names */
};

/**
 * posture_read() - Read back what holds for the program while it waits at the gate
 * @program:	Its pid in the caller's PID namespace
 * @p:		Filled
 *
 * See proc(5), /proc/PID/status.
 *
 * Return: 0, -EPERM when a wall is not as every plan has it, or -errno when it cannot be
 * read: the program must then not run
 */
int posture_read(pid_t program, struct posture *p, struct err *e);

/** posture_print() - Write it as a JSON object, or null where it is not known */
void posture_print(const struct posture *p, FILE *out);

#endif
