/* SPDX-License-Identifier: MIT */
/*
 * cmd_transcripts.c - stepjail-agent verify; and transcripts, which is a program of its
 * own
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agent/base/secret.h"
#include "agent/cmd/commands.h"
#include "agent/confine/confine.h"
#include "agent/record/read_transcript.h"
#include "agent/record/transcripts.h"
#include "agent/show/show.h"
#include "init/io.h"

#define PROGRAM "stepjail-transcripts"

/* ---- transcripts: no part of it needs C, or a right that a shell has not */

const struct command command_transcripts = {
	.name = "transcripts",
	.operand = "list|show|verify|violations|prune",
	.summary = "List, show, check and remove the transcripts that runs have left.",
	.about =
		"list is of a folder, the last one first. show tells what happened in a run, step by step. verify checks each of a folder. violations lists the system calls that steps made and were refused. prune removes old ones. Each has a --help of its own: stepjail-agent transcripts list --help. They are a program of their own, " PROGRAM
		", beside this one.",
};

int transcripts_become(char *const *argv, struct err *e)
{
	char path[PATH_MAX] = { 0 };
	char *words[OPT_LIST_MAX] = { PROGRAM, "--agent" };
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(PROGRAM));
	char *slash = n > 0 ? strrchr(path, '/') : NULL;

	if (!slash)
		return err_set(e, errno, PROGRAM ": /proc/self/exe");
	memcpy(slash + 1, PROGRAM, sizeof(PROGRAM));
	for (size_t i = 0; argv[i]; i++) {
		if (i + 3 == OPT_LIST_MAX)
			return err_say(e, E2BIG, "transcripts: too many arguments");
		words[i + 2] = argv[i];
	}
	secret_forget_variables();
	(void)execv(path, words);
	return err_set(e, errno, "%s", path);
}

/* ---- verify */

static const struct exit_row verify_exits[] = {
	{ "0", "Whole: no line was changed, and the end line is there." },
	{ "1", "Changed: a line was altered, added, moved or removed." },
	{ "2",
	  "Unfinished: no line was changed, but the end line is missing. The run was killed or is still going on, or lines were cut off at the end." },
	{ NULL, NULL },
};

struct verify_options {
	const char *digest;
};

static const struct opt verify_opts[] = {
	{ "digest", "SHA256", NULL,
	  "The digest of the last line, which was printed when the run ended. Without it, a file whose lines were all made anew reads as whole.",
	  OPT_ROW(PLAIN, TEXT, struct verify_options, digest) },
	{ .name = NULL },
};

/* one transcript, which may be a stranger's, by a process that can open nothing else */
static int verify_run(const void *options, const char *operand, struct stop *stop,
		      struct err *e)
{
	const struct verify_options *o = options;
	struct confine_facts facts;
	cleanup_text struct text words = { 0 };
	struct read_transcript reading = { .steps = 0 };
	struct show show;
	cleanup_fd int fd = transcripts_open_named(operand, e);
	int r = fd < 0 ? fd : confine_self(&(struct confine_policy){ 0 }, &facts, e);

	show_open(&show, STDOUT_FILENO, SHOW_NEVER, stop);
	if (r == 0)
		r = read_transcript_run(fd, NULL, NULL, &reading, e);
	if (r < 0)
		return r;
	read_transcript_words(&reading, operand, &words);

	bool other = reading.end == READ_TRANSCRIPT_WHOLE && o->digest &&
		     strcasecmp(o->digest, reading.chain.digest) != 0;

	if (other)
		text_puts(
			&words,
			", which is not the digest that was given: this is another run, or all lines were made anew");
	show_place(&show, "%s", text_string(&words));
	r = show_check(&show, e);
	return r < 0 ? r : other ? READ_TRANSCRIPT_CHANGED : (int)reading.end;
}

const struct command command_verify = {
	.name = "verify",
	.operand = "FILE",
	.summary =
		"Check that nothing of a transcript was changed, and that it is whole.",
	.about =
		"FILE is a transcript of solve or repl: its path, or its name in the list. Each line is a JSON object with its number (line), the digest of the line before (prev) and its own digest (sha256), which is that of all bytes before this member. The first wrong line is named, with the reason.\n\n"
		"A run that was killed leaves a transcript without an end line. The exit status tells that apart from a change; lines that somebody cut off at the end look the same.\n\n"
		"Somebody who can write the file can make all its lines anew. To notice that, keep the digest that is printed at the end of a run in another place, and give it by --digest.",
	.exits = verify_exits,
	OPT_PARTS({ verify_opts, 0 }),
	.opts_bytes = sizeof(struct verify_options),
	.run = verify_run,
};
