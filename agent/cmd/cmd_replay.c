/* SPDX-License-Identifier: MIT */
/*
 * cmd_replay.c - stepjail-agent replay: run a transcript's code again, and say what
 * differs
 */

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
#define PART(rows, field) OPT_PART(rows, struct replay_options, field)

static const struct opt opts[] = {
	{ "file", "PATH", NULL, ROW(TASK, LIST, jail.files),
	  "Use this file in place of the recorded one of the same name. May be given again.",
	  .only_given = true },
	{ "skills", "DIR", NULL, ROW(TASK, TEXT, skills),
	  "The folder of functions that the recorded task had (solve --skills).",
	  .only_given = true },
	{ "rootfs", "NAME|DIR", NULL, ROW(TASK, TEXT, jail.rootfs),
	  "Use this root tree in place of the recorded one.", .only_given = true },
	{ .name = NULL },
};

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
		s = r->start.jail.rootfs ? replay_start(r, e)
					 : confined_go(&r->confined, r->stop, e);
	if (s == 0)
		s = read_transcript_run(fd, replay_take, r, reading, e);
	if (s == 0 && reading->end == READ_TRANSCRIPT_CHANGED)
		return err_say(e, EBADMSG,
			       "%s was changed while it was read: line %" PRIu64
			       " is wrong: %s",
			       path, reading->chain.lines + 1, reading->why.text);
	return s < 0 ? s : replay_unused(r, e);
}

static int say_end(struct replay *r, const struct read_transcript *reading,
		   const char *path, struct err *e)
{
	cleanup_text struct text line = { 0 };

	if (reading->end == READ_TRANSCRIPT_CUT) {
		read_transcript_words(reading, path, &line);
		show_note(&r->show, "%s", text_string(&line));
	}
	if (r->pending)
		show_note(
			&r->show,
			"the last step was cut off, and is not compared: its end is not recorded");
	text_clear(&line);
	replay_words(r, &line);
	show_line(&r->show, "%s", text_string(&line));
	if (show_check(&r->show, e) < 0)
		return -e->errnum;
	return r->differ ? 1 : (int)reading->end;
}

static int replay_run(const void *options, const char *operand, struct stop *stop,
		      struct err *e)
{
	__attribute__((cleanup(end))) struct replay *r = memory_zeroed(1, sizeof(*r));
	const struct replay_options *o = options;
	struct read_transcript reading = { 0 };

	r->confined = CONFINED_NOT(o->require_confinement);
	r->asked = &o->jail;
	r->session = &r->own;
	r->skills = o->skills;
	r->stop = stop;
	r->out = OUT_NONE;
	show_open(&r->show, STDOUT_FILENO, (enum show_color)o->color, stop);

	cleanup_fd int fd = transcripts_open_named(operand, e);
	int s = fd < 0 ? fd : read_twice(r, operand, fd, &reading, e);

	s = s < 0 ? s : say_end(r, &reading, operand, e);
	/* nobody reads any more, as behind head(1) */
	return r->show.failed == EPIPE ? 125 : s;
}

static const struct exit_row exits[] = {
	{ "0", "Nothing differs." },
	{ "1", "Something differs." },
	{ "2", "Nothing differs, but the transcript's end line is missing." },
	{ NULL, NULL },
};

const struct command command_replay = {
	.name = "replay",
	.operand = "FILE",
	.summary = "Run a transcript's code again, in fresh jails, and say what differs.",
	.about =
		"FILE is a transcript of solve, chat or repl, which is checked first, as verify does it. Then its steps are run again, with the recorded options and in the same order, with the same sessions, rollbacks and branches. No model is asked. --allow-missing and --allow-host, with what belongs to it, are not taken from the transcript.\n\n"
		"Compared are each step's verdict, state, exit status, signal and violation, every byte that it printed, and the root tree. Times, memory and ids are not compared. Output that holds times, pids, addresses or the order of a set differs by nature.\n\n"
		"A recorded file (--file, :put) is used only if it still has its recorded digest; --file gives another one. A folder of functions (solve --skills) must be given by --skills; if it has changed, that is a difference. A step that was cut off, by a signal, by somebody at the prompt, by the time of the whole task or by a failure of stepjail, is not compared, and the last line counts such steps.",
	.exits = exits,
	OPT_PARTS({ opts, 0 }, PART(host_opts, jail),
		  PART(confine_opts, require_confinement), PART(color_opts, color)),
	.opts_bytes = sizeof(struct replay_options),
	.run = replay_run,
};
