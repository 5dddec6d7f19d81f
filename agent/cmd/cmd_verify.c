/* SPDX-License-Identifier: MIT */
/*
 * cmd_verify.c - stepjail-agent verify: does a transcript still say what it said
 */
#include <errno.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/cmd/commands.h"
#include "agent/confine/confine.h"
#include "agent/record/read_transcript.h"
#include "agent/record/transcripts.h"
#include "init/io.h"

struct verify_options {
	const char *digest;
};

#define ROW(group, kind, field) OPT_ROW(group, kind, struct verify_options, field)

static const struct opt opts[] = {
	{ "digest", "SHA256", NULL,
	  "The digest of the last line, which was printed when the run ended. Without it, a file whose lines were all made anew reads as whole.",
	  ROW(PLAIN, TEXT, digest) },
	{ .name = NULL },
};
OPT_ROWS_FIT(opts);

static int check_digest(const char *digest, struct err *e)
{
	if (digest && (strlen(digest) != DIGEST_HEX - 1 ||
		       strspn(digest, "0123456789abcdef") != DIGEST_HEX - 1))
		return err_say(
			e, EINVAL,
			"--digest: '%.80s' is not 64 hexadecimal digits in lower case",
			digest);
	return 0;
}

static int verify_run(const void *options, const char *operand, struct stop *stop,
		      struct err *e)
{
	const struct verify_options *o = options;
	cleanup_text struct text words = { 0 };
	cleanup_text struct text line = { 0 };
	struct confine_facts facts;
	struct read_transcript reading = { .steps = 0 };
	int r = check_digest(o->digest, e);
	cleanup_fd int fd = r < 0 ? r : transcripts_open_named(operand, e);

	if (fd < 0)
		return fd;
	/* a transcript may be a stranger's */
	r = confine_self(&(struct confine_policy){ 0 }, &facts, e);
	if (r == 0)
		r = read_transcript_run(fd, NULL, NULL, &reading, e);
	if (r < 0)
		return r;

	bool other = reading.end == READ_TRANSCRIPT_WHOLE && o->digest &&
		     strcmp(o->digest, reading.chain.digest) != 0;

	read_transcript_words(&reading, operand, &words);
	if (other)
		text_puts(
			&words,
			", which is not the digest that was given: this is another run, or all lines were made anew");
	escape_line(&line, text_string(&words), words.length);
	text_puts(&line, "\n");
	r = stop_print(stop, &line, e);
	if (r < 0)
		return r;
	return other ? READ_TRANSCRIPT_CHANGED : (int)reading.end;
}

const struct exit_row verify_exits[] = {
	{ "0", "Whole: no line was changed, and the end line is there." },
	{ "1", "Changed: a line was altered, added, moved or removed." },
	{ "2",
	  "Unfinished: no line was changed, but the end line is missing. The run was killed or is still going on, or lines were cut off at the end." },
	{ NULL, NULL },
};

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
	.opts = opts,
	.opts_bytes = sizeof(struct verify_options),
	.run = verify_run,
};
