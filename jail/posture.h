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
	bool known; /* false before the gate, and where /proc gave nothing */
	char text[POSTURE_ROWS][POSTURE_TEXT_MAX]; /* as in posture_row_names */
};

/**
 * posture_read() - Read back what holds for the program while it waits at the gate
 * @init:	stepjail-init's pid in the caller's PID namespace; the program is its
 * child
 * @p:		known is false where /proc cannot tell, which is no error
 *
 * See proc(5), /proc/PID/status.
 *
 * Return: 0, or -EPERM when a wall is not as every plan has it: the program must not run
 */
int posture_read(pid_t init, struct posture *p, struct err *e);

/** posture_print() - Write it as a JSON object, or null where it is not known */
void posture_print(const struct posture *p, FILE *out);

#endif
