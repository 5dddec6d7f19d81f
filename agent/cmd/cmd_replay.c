/* SPDX-License-Identifier: MIT */
/*
 * cmd_replay.c - stepjail-agent replay: run a transcript's code again, and say what
 * differs
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/base/memory.h"
#include "agent/cmd/commands.h"
#include "agent/record/read_transcript.h"
#include "agent/record/transcripts.h"
#include "agent/replay/replay.h"
#include "init/io.h"

struct replay_options {
	uint64_t color;
	bool require_confinement;
	struct jail_options jail;
	const char *skills;
};

#define ROW(group, kind, field) OPT_ROW(group, kind, struct replay_options, field)

static const struct opt opts[] = {
	{ "file", "PATH", NULL,
	  "Take this file for the recorded one of the same name. May be given again.",
	  ROW(TASK, LIST, jail.files) },
	{ "skills", "DIR", NULL,
	  "The folder of functions that the recorded task had (solve --skills).",
	  ROW(TASK, TEXT, skills) },
	{ "rootfs", "NAME", NULL, "Another root tree than the recorded one.",
	  ROW(TASK, TEXT, jail.rootfs) },
	{ "allow-missing", "PART", NULL,
	  "Run without a wall that this host lacks (cgroup); see stepjail(1). It is never taken from the transcript.",
	  ROW(JAIL, PASS, jail.pass) },
	{ "policy", "FILE", NULL,
	  "Options for every jail, in a policy file. It is never taken from the transcript.",
	  ROW(JAIL, PASS, jail.pass) },
	{ "stepjail", "PATH", NULL,
	  "Where stepjail is; else beside this program, else in PATH.",
	  ROW(JAIL, TEXT, jail.stepjail) },
	CONFINE_OPT(struct replay_options),
	{ "color", NULL, "auto", "Colour; auto is on a terminal without NO_COLOR.",
	  ROW(RESULTS, CHOICE, color), .choices = { "auto", "always", "never" } },
	{ .name = NULL },
};
OPT_ROWS_FIT(opts);

static void end(struct replay **where)
{
	replay_free(*where);
	free(*where);
}

/* nothing of it runs before all of it was read, by a process that can do nothing; then
 * this one is confined, and checks each line again */
static int read_twice(struct replay *r, const char *path, int fd,
		      struct read_transcript *reading, struct err *e)
{
	int s = peek_run(fd, path, r->stop, &r->start, e);

	if (s == 0)
		s = r->start.format ? replay_start(r, e)
				    : confined_go(&r->confined, r->stop, e);
	if (s == 0)
		s = read_transcript_run(fd, replay_take, r, reading, e);
	if (s == 0 && reading->end == READ_TRANSCRIPT_CHANGED)
		return err_say(e, EBADMSG,
			       "%s was changed while it was read: line %" PRIu64
			       " does not fit: %s",
			       path, reading->chain.lines + 1, reading->why.text);
	return s;
}

static int say_end(const struct replay *r, const struct read_transcript *reading,
		   const char *path, struct err *e)
{
	cleanup_text struct text line = { 0 };

	if (reading->end == READ_TRANSCRIPT_CUT) {
		read_transcript_words(reading, path, &line);
		show_note(r->show, text_string(&line));
	}
	if (r->pending)
		show_note(r->show, "the last step's end is not recorded: not run again");
	text_clear(&line);
	text_count(&line, r->steps, "step");
	text_puts(&line, " run again: ");
	if (r->differ)
		text_count(&line, r->differ, "difference");
	else
		text_puts(&line, "nothing differs");
	show_line(r->show, text_string(&line));
	if (show_check(r->show, e) < 0)
		return -e->errnum;
	return r->differ ? 1 : (int)reading->end;
}

static int replay_run(const void *options, const char *operand, struct stop *stop,
		      struct err *e)
{
	__attribute__((cleanup(end))) struct replay *r = memory_zeroed(1, sizeof(*r));
	const struct replay_options *o = options;
	struct read_transcript reading = { 0 };
	struct show show;

	r->confined = CONFINED_NOT;
	r->confined.policy.required = o->require_confinement;
	r->asked = &o->jail;
	r->skills = o->skills;
	r->stop = stop;
	r->show = &show;
	r->out = OUT_NONE;
	show_open(&show, STDOUT_FILENO, (enum show_color)o->color, stop);

	cleanup_fd int fd = transcripts_open_named(operand, e);
	int s = fd < 0 ? fd : read_twice(r, operand, fd, &reading, e);

	return s < 0 ? s : say_end(r, &reading, operand, e);
}

const struct command command_replay = {
	.name = "replay",
	.operand = "FILE",
	.summary = "Run a transcript's code again, in fresh jails, and say what differs.",
	.about =
		"FILE is a transcript of solve or repl. It is checked first, as by verify; no model is asked. Its steps are run in the same order, with the same options: in one session, or in new ones where one was lost or reset; rollbacks and branches are done again.\n\n"
		"Compared are each step's verdict, state, exit status, signal and violation, and every byte of what it printed; and the root tree. Times, memory and ids are not. What the code itself prints of times, pids, addresses or a set's order differs by nature.\n\n"
		"A recorded file (--file, :put) is used only if it still has the digest that it had; --file gives another. A folder of functions (solve --skills) is given by --skills; that it is not what it was is a difference. A step that somebody interrupted, or that the time of the whole task ended, is not run again.",
	.opts = opts,
	.opts_bytes = sizeof(struct replay_options),
	.run = replay_run,
};
