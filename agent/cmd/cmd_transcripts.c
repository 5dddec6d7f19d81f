/* SPDX-License-Identifier: MIT */
/*
 * cmd_transcripts.c - stepjail-agent verify, and transcripts list, show, verify,
 * violations, prune: what runs have left
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/cmd/commands.h"
#include "agent/record/account.h"
#include "agent/record/record.h"
#include "agent/record/transcripts.h"
#include "agent/session/report.h"
#include "init/io.h"

#define DAY_MS ((uint64_t)86400000)

/* ---- list */

struct list_options {
	bool json;
};

static const struct opt list_opts[] = {
	{ "json", NULL, NULL, "Print one JSON object.",
	  OPT_ROW(PLAIN, FLAG, struct list_options, json) },
	{ .name = NULL },
};

static void show_file(const cJSON *o, uint64_t bytes, struct show *show)
{
	cleanup_text struct text line = { 0 };

	text_printf(&line, "%s  %s  %s  %s  ", json_text(o, "time"), json_text(o, "name"),
		    json_text(o, "command"), json_text(o, "outcome"));
	text_count(&line, (uint64_t)cJSON_GetNumberValue(json_get(o, "steps")), "step");
	text_printf(&line, "  %s  %s", units_say_size(bytes).text, json_text(o, "task"));
	show_line(show, "%s", text_string(&line));
}

/* ---- a folder of transcripts, one after the other */

struct walk {
	struct show show;
	cJSON *root, *list;         /* list: for its object, and of objects; or NULL */
	struct transcripts_file at; /* the one that is read */
	bool violations;            /* are shown, and nothing else */
	int worst;                  /* enum read_transcript_end */
};

/* one that is gone by now is left out; the exit status, or -errno */
static int walk(struct walk *w, const char *folder,
		int (*take)(struct walk *w, int fd, struct err *e), struct stop *stop,
		struct err *e)
{
	struct confine_policy policy = { .needs = CONFINE_READ };
	struct confine_facts facts;
	cleanup_transcripts struct transcripts t = TRANSCRIPTS_NONE;
	int r = transcripts_find(&t, folder, e);

	show_open(&w->show, STDOUT_FILENO, SHOW_NEVER, stop);
	json_add(w->root, "folder", &t.path);
	if (r == 0)
		r = confine_add_path(&policy, text_string(&t.path), 0, e);
	if (r == 0)
		r = confine_self(&policy, &facts, e);
	for (size_t i = 0; r == 0 && i < t.count; i++) {
		cleanup_fd int fd = transcripts_open(&t, t.files[i].name);

		w->at = t.files[i];
		if (stop_came(stop))
			r = err_say(e, EINTR, "stopped by a signal");
		else if (fd >= 0)
			r = take(w, fd, e);
		if (r == 0)
			r = show_check(&w->show, e);
	}
	return r < 0 ? r : w->worst;
}

static int add_file(struct walk *w, int fd, struct err *e)
{
	char time[32] = "";
	struct tm utc;
	cJSON *o = cJSON_CreateObject();
	int r;

	if (gmtime_r(&w->at.written.tv_sec, &utc))
		(void)strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &utc);
	json_add(o, "name", w->at.name);
	json_add(o, "time", time);
	r = account_read(fd, o, e);
	json_add(o, "bytes", w->at.bytes);
	if (r == 0 && !w->list)
		show_file(o, w->at.bytes, &w->show);
	if (r < 0 || !cJSON_AddItemToArray(w->list, o))
		cJSON_Delete(o);
	return r;
}

static int list_run(const void *options, const char *operand, struct stop *stop,
		    struct err *e)
{
	const struct list_options *o = options;
	cleanup_text struct text out = { 0 };
	cleanup_json cJSON *root = o->json ? cJSON_CreateObject() : NULL;
	struct walk w = { .root = root,
			  .list = cJSON_AddArrayToObject(root, "transcripts") };
	int r = walk(&w, operand, add_file, stop, e);

	if (r == 0 && root)
		r = record_print(root, &out, e);
	text_puts(&out, o->json ? "\n" : "");
	return r < 0 ? r : stop_print(stop, &out, e);
}

const struct command command_transcripts_list = {
	.name = "transcripts list",
	.operand = "[DIR]",
	.summary = "List the transcripts that runs have left, the last one first.",
	.about =
		"The files in DIR; without it, in $XDG_STATE_HOME/stepjail/transcripts or ~/.local/state/stepjail/transcripts: when each was last written, its name, command, outcome, steps, size with all that its steps showed, and the beginning of the task. The outcome unfinished means that the run was killed or is still going on; changed means that a line was altered, which stepjail-agent verify names.",
	OPT_PARTS({ list_opts, 0 }),
	.opts_bytes = sizeof(struct list_options),
	.run = list_run,
};

/* ---- verify, violations, of a folder */

static const struct exit_row verify_exits[] = {
	{ "0", "Whole: no line was changed, and the end line is there." },
	{ "1", "Changed: a line was altered, added, moved or removed." },
	{ "2",
	  "Unfinished: no line was changed, but the end line is missing. The run was killed or is still going on, or lines were cut off at the end." },
	{ NULL, NULL },
};

static int take_violations(void *arg, const char *event, const cJSON *line, struct err *e)
{
	bool killed = strcmp(json_text(line, "verdict"), "violation") == 0;
	cleanup_text struct text words = { 0 };
	struct walk *w = arg;
	uint32_t step = 0;

	(void)e;
	(void)json_u32(line, "step", &step);
	text_printf(&words, "%s  step %u  ", w->at.name, step);
	if (strcmp(event, "step") == 0 &&
	    report_refused(json_get(line, "violations"), killed, &words))
		show_line(&w->show, "%s", text_string(&words));
	return 0;
}

static int check_one(struct walk *w, int fd, struct err *e)
{
	struct read_transcript reading = { .steps = 0 };
	cleanup_text struct text words = { 0 };
	int r = read_transcript_run(fd, w->violations ? take_violations : NULL, w,
				    &reading, e);

	if (reading.end == READ_TRANSCRIPT_CHANGED || (!w->violations && !w->worst))
		w->worst = (int)reading.end;
	read_transcript_words(&reading, w->at.name, &words);
	if (r == 0 && !w->violations)
		show_line(&w->show, "%s", text_string(&words));
	return r;
}

static int verify_all_run(const void *options, const char *operand, struct stop *stop,
			  struct err *e)
{
	(void)options;
	return walk(&(struct walk){ .violations = false }, operand, check_one, stop, e);
}

static int violations_run(const void *options, const char *operand, struct stop *stop,
			  struct err *e)
{
	(void)options;
	return walk(&(struct walk){ .violations = true }, operand, check_one, stop, e);
}

const struct command command_transcripts_verify = {
	.name = "transcripts verify",
	.operand = "[DIR]",
	.summary = "Check each transcript of a folder, as verify does.",
	.about =
		"DIR is a folder of transcripts; without it, that of transcripts list. Each has a line. The exit status is that of the worst: changed, then unfinished.",
	.exits = verify_exits,
	.run = verify_all_run,
};

static const struct exit_row violations_exits[] = {
	{ "0", "All was read." },
	{ "1", "A transcript was changed." },
	{ NULL, NULL },
};

const struct command command_transcripts_violations = {
	.name = "transcripts violations",
	.operand = "[DIR]",
	.summary = "List the system calls that steps made and were refused.",
	.about =
		"DIR is a folder of transcripts; without it, that of transcripts list. A line has the transcript, the step, the calls, and how often each was made. Of a transcript that was changed, lines behind the first that does not fit are not read.",
	.exits = violations_exits,
	.run = violations_run,
};

/* ---- show, verify */

/* one transcript, which may be a stranger's, by a process that can open nothing else;
 * @digest: to compare with, or NULL; the exit status, or -errno */
static int read_one(const char *operand, bool shown, const char *digest,
		    struct stop *stop, struct err *e)
{
	struct confine_facts facts;
	cleanup_text struct text words = { 0 };
	struct read_transcript reading = { .steps = 0 };
	struct show show;
	cleanup_fd int fd = transcripts_open_named(operand, e);
	int r = fd < 0 ? fd : confine_self(&(struct confine_policy){ 0 }, &facts, e);

	show_open(&show, STDOUT_FILENO, shown ? SHOW_AUTO : SHOW_NEVER, stop);
	if (r == 0)
		r = shown ? account_show(fd, &show, &reading, e)
			  : read_transcript_run(fd, NULL, NULL, &reading, e);
	if (r < 0)
		return r;
	read_transcript_words(&reading, operand, &words);

	bool other = reading.end == READ_TRANSCRIPT_WHOLE && digest &&
		     strcasecmp(digest, reading.chain.digest) != 0;

	if (other)
		text_puts(
			&words,
			", which is not the digest that was given: this is another run, or all lines were made anew");
	show_place(&show, "%s", text_string(&words));
	r = show_check(&show, e);
	return r < 0 ? r : other ? READ_TRANSCRIPT_CHANGED : (int)reading.end;
}

struct verify_options {
	const char *digest;
};

static const struct opt verify_opts[] = {
	{ "digest", "SHA256", NULL,
	  "The digest of the last line, which was printed when the run ended. Without it, a file whose lines were all made anew reads as whole.",
	  OPT_ROW(PLAIN, TEXT, struct verify_options, digest) },
	{ .name = NULL },
};

static int verify_run(const void *options, const char *operand, struct stop *stop,
		      struct err *e)
{
	const struct verify_options *o = options;

	return read_one(operand, false, o->digest, stop, e);
}

static int show_run(const void *options, const char *operand, struct stop *stop,
		    struct err *e)
{
	(void)options;
	return read_one(operand, true, NULL, stop, e);
}

const struct command command_transcripts_show = {
	.name = "transcripts show",
	.operand = "FILE",
	.summary = "Show what happened in a run, step by step.",
	.about =
		"FILE is a transcript: its path, or its name in the list. Shown are the task, the beginning of each step's code and output, verdicts, and the answer. What a model or a jail said is marked and escaped, as it was during the run. The last line and the exit status say whether the transcript is whole, as those of verify do. Lines behind a changed one are not shown.",
	.exits = verify_exits,
	.run = show_run,
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
	OPT_PARTS({ verify_opts, 0 }),
	.opts_bytes = sizeof(struct verify_options),
	.run = verify_run,
};

/* ---- prune */

struct prune_options {
	uint64_t older_ms, keep, max_bytes; /* 0: not given */
	bool dry;
};

#define ROW(group, kind, field) OPT_ROW(group, kind, struct prune_options, field)

static const struct opt prune_opts[] = {
	{ "older-than", "TIME", NULL,
	  "Remove those that were last written this long ago or longer, such as 30d.",
	  ROW(PLAIN, TIME, older_ms), .min = 1, .max = 36500 * DAY_MS },
	{ "keep", "NUMBER", NULL,
	  "Remove all but the newest ones, so many as NUMBER says.",
	  ROW(PLAIN, COUNT, keep), .min = 1, .max = 1000000000 },
	{ "max-bytes", "SIZE", NULL,
	  "Remove the oldest, until the others have at most this many bytes together.",
	  ROW(PLAIN, SIZE, max_bytes), .min = 1, .max = (uint64_t)1 << 50 },
	{ "dry-run", NULL, NULL, "Say what would be removed, and remove nothing.",
	  ROW(PLAIN, FLAG, dry) },
	{ .name = NULL },
};

/* the one at place @i, which with those before it has @seen bytes */
static bool is_named(const struct prune_options *o, const struct transcripts_file *f,
		     size_t i, uint64_t seen)
{
	time_t age_s = time(NULL) - f->written.tv_sec;

	return (o->older_ms && age_s > 0 && (uint64_t)age_s >= o->older_ms / 1000) ||
	       (o->keep && i >= o->keep) || (o->max_bytes && seen > o->max_bytes);
}

static int prune_run(const void *options, const char *operand, struct stop *stop,
		     struct err *e)
{
	struct prune_options o = *(const struct prune_options *)options;
	cleanup_transcripts struct transcripts t = TRANSCRIPTS_NONE;
	uint64_t seen = 0, count = 0, bytes = 0;
	struct show show;
	int r = transcripts_find(&t, NULL, e);

	(void)operand;
	show_open(&show, STDOUT_FILENO, SHOW_NEVER, stop);
	if (!o.older_ms && !o.keep && !o.max_bytes) {
		o.keep = TRANSCRIPTS_MAX;
		o.max_bytes = TRANSCRIPTS_BYTES_MAX;
	}
	for (size_t i = 0; r >= 0 && i < t.count && !stop_came(stop); i++) {
		const struct transcripts_file *f = &t.files[i];

		seen += f->bytes;
		if (!is_named(&o, f, i, seen))
			continue;
		r = o.dry ? 1 : transcripts_remove(&t, f->name, e);
		count += r > 0;
		bytes += r > 0 ? f->bytes : 0;
		if (r >= 0)
			show_line(&show, "%s: %s",
				  r == 0  ? "left, for a run is writing it"
				  : o.dry ? "would be removed"
					  : "removed",
				  f->name);
	}
	show_line(&show, "%s: %" PRIu64 " of %zu transcripts, %s",
		  o.dry ? "would be removed" : "removed", count, t.count,
		  units_say_size(bytes).text);
	return r < 0 ? r : show_check(&show, e);
}

const struct command command_transcripts_prune = {
	.name = "transcripts prune",
	.summary = "Remove old transcripts, with all that their steps showed.",
	.about =
		"This works on files NAME.jsonl in $XDG_STATE_HOME/stepjail/transcripts, or ~/.local/state/stepjail/transcripts, and on their folders NAME.jsonl.shown. A transcript is removed if any of the options says so. Without an option, all but the newest 1000 are removed, and of these the oldest until 1 GiB is left. A transcript that a run is writing is kept. No link is followed.",
	OPT_PARTS({ prune_opts, 0 }),
	.opts_bytes = sizeof(struct prune_options),
	.run = prune_run,
};
