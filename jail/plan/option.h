/* SPDX-License-Identifier: MIT */
/*
 * option.h - the one table of options: parser, policy files, explain, --help, man page
 *
 * A policy file has a long option per line, without the dashes: its name, blanks, and the
 * value up to the end of the line. Empty lines and lines that begin with '#' are skipped.
 * There is no quoting and no escape.
 */
#pragma once

#include <stdio.h>

#include "jail/plan/plan.h"

/**
 * option_parse() - Fill a plan from files of defaults, a policy file and a command line
 * @p:		Filled; a struct from plan_init() or uninitialised
 * @argv:	Behind the command's name, NULL at the end. Options end at "--" or at the
 *		first word without a dash, where the program starts
 * @e:		Names the option, and the file and line where it came from one
 *
 * Files of defaults are /etc/stepjail/defaults and $XDG_CONFIG_HOME/stepjail/defaults, or
 * ~/.config/stepjail/defaults, in the form of a policy file; there need be none. Each of
 * defaults, policy and command line replaces what comes before it in this list: the
 * option's value, or, of an option that may be given more than once, the entry for the
 * same variable, place or device. In one file, or on the command line, an option that is
 * not repeatable may be given once.
 *
 * Return: 0 (the plan is valid), 1 (--help was asked for), or -errno
 */
int option_parse(struct plan *p, char *const *argv, struct err *e);

/**
 * option_print_policy() - Print a plan in the policy file's form
 * @out:	Gets every option's value, defaults too; the program and --policy are not
 *		part of the form
 *
 * The parser refuses values that this form cannot carry, so the output always reads back.
 */
void option_print_policy(const struct plan *p, FILE *out);

/**
 * option_print_help() - Print the table for a person at a terminal, in 80 columns
 * @serve:	With the options of stepjail serve
 */
void option_print_help(FILE *out, bool serve);

/**
 * option_help() - What a subcommand prints for --help
 * @usage:	Behind "usage: stepjail "
 * @exits:	Its exit statuses, in lines
 *
 * Return: 0, the exit status
 */
int option_help(const char *usage, bool serve, const char *exits);
