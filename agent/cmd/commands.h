/* SPDX-License-Identifier: MIT */
/*
 * commands.h - the subcommands, one file each
 */
#pragma once

#include "agent/cli/options.h"

extern const struct command command_solve;
extern const struct command command_repl;
extern const struct command command_verify;
extern const struct command command_replay;
extern const struct command command_transcripts_list;
extern const struct command command_transcripts_show;
extern const struct command command_transcripts_verify;
extern const struct command command_transcripts_violations;
extern const struct command command_transcripts_prune;
extern const struct command command_check;
