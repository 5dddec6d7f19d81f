/* SPDX-License-Identifier: MIT */
/*
 * cmd_transcripts.c - stepjail-agent transcripts, verify, --man: a program of its own,
 * for no part of it needs C, or a right that a shell has not
 */
#include <limits.h>
#include <unistd.h>

#include "agent/base/secret.h"
#include "agent/cmd/commands.h"

#define PROGRAM "stepjail-transcripts"

const struct command command_verify = {
	.name = "verify",
	.operand = "FILE",
	.summary =
		"Check that nothing of a transcript was changed, and that it is whole.",
	.about =
		"See stepjail-agent verify --help. This is a command of stepjail-transcripts.",
};

const struct command command_transcripts = {
	.name = "transcripts",
	.operand = "list|show|verify|violations|prune",
	.summary = "List, show, check and remove the transcripts that runs have left.",
	.about =
		"list is of a folder, the last one first. show tells what happened in a run, step by step. verify checks each of a folder. violations lists the system calls that steps made and were refused. prune removes old ones. Each has a --help of its own: stepjail-agent transcripts list --help. They are commands of stepjail-transcripts.",
};

int transcripts_become(int argc, char *const *argv, struct err *e)
{
	char path[PATH_MAX] = { 0 };
	char *words[argc + 2];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM));
	char *slash = n > 0 ? strrchr(path, '/') : NULL;

	if (!slash)
		return err_set(e, errno, PROGRAM ": /proc/self/exe");
	memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
	words[0] = path;
	words[1] = "--agent";
	memcpy(words + 2, argv + 1, (size_t)argc * sizeof(*argv)); /* with its NULL */
	secret_forget_variables();
	(void)execv(path, words);
	return err_set(e, errno, "%s", path);
}
