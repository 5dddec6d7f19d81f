/* SPDX-License-Identifier: MIT */
/*
 * exec.h - the last stage: what becomes init, and what becomes the program
 */
#pragma once

#include "jail/walls/stage.h"

/**
 * exec_init() - Execute stepjail-init, with its fds at the numbers of init/init.h
 *
 * All other fds have close-on-exec already.
 *
 * Return: -errno; it does not return where it succeeds
 */
int exec_init(struct child *c, struct err *e);

/**
 * exec_program() - Execute the plan's program
 *
 * Looks for it in each folder of the plan's PATH, as execvp(3) does, but starts no shell.
 *
 * Return: -errno; it does not return where it succeeds
 */
int exec_program(struct child *c, struct err *e);
