/* SPDX-License-Identifier: MIT */
/*
 * command.h - the subcommands: one file each, one row each in main.c
 */
#pragma once

#include "init/err.h"

/*
 * Each takes the words behind its name, NULL at the end.
 * Return: the exit status, or -errno with @e filled, which main() prints
 */
int command_run(char *const *argv, struct err *e);
int command_serve(char *const *argv, struct err *e);
int command_check(char *const *argv, struct err *e);
int command_explain(char *const *argv, struct err *e);
int command_escape(char *const *argv, struct err *e);
