/* SPDX-License-Identifier: MIT */
/*
 * commands.h - the subcommands, one file each
 */
#pragma once

#include "agent/cli/options.h"

extern const struct command command_solve;
extern const struct command command_chat;
extern const struct command command_repl;
extern const struct command command_verify;
extern const struct command command_replay;
extern const struct command command_transcripts;
extern const struct command command_check;

/**
 * transcripts_become() - Execute the program that has verify, transcripts and --man
 * @argv:	main()'s
 *
 * Before signals are blocked. Return: -errno, where it is not there
 */
int transcripts_become(int argc, char *const *argv, struct err *e);
