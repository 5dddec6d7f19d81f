/* SPDX-License-Identifier: MIT */
/*
 * replay.c - a transcript's steps run once more: see replay.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/base/escape.h"
#include "agent/base/json.h"
#include "agent/base/path.h"
#include "agent/judge/tests.h"
#include "agent/model/extract.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "agent/replay/replay.h"
#include "agent/skills/skills.h"
#include "init/io.h"

/* makes a state, so that those behind it have their numbers */
static const char placeholder[] = "pass\n";

void replay_differs(struct replay *r, const char *words)
{
	r->differ++;
	show_line(r->show, words);
}

/* the caller's file with that path's name, or NULL */
static const char *asked_file(const struct replay *r, const char *recorded)
{
	for (size_t i = 0; i < r->asked->files.count; i++)
		if (strcmp(path_last(r->asked->files.items[i]), path_last(recorded)) == 0)
			return r->asked->files.items[i];
	return NULL;
}

/* opened only where it is a file by its attributes: a transcript names what it likes */
static int digest_recorded(const struct replay *r, const char *path, char hex[DIGEST_HEX],
			   struct err *e)
{
	struct stat st;
	uint64_t bytes;

	if (*path != '/')
		return err_say(e, ENOENT, "%s came by a pipe", path);
	if (stat(path, &st) < 0)
		return err_set(e, errno, "%s", path);
	/* to digest it is to read all that is in it, which may be all of the host */
	if (S_ISDIR(st.st_mode))
		return err_say(
			e, EISDIR,
			"%s is a folder, which a transcript cannot choose; give it with --file",
			path);
	if (!S_ISREG(st.st_mode))
		return err_say(e, EINVAL, "%s is not a regular file", path);
	return inputs_digest(path, r->stop, hex, &bytes, e);
}

const char *replay_file(struct replay *r, const char *recorded, const char *was,
			struct err *e)
{
	const char *path = asked_file(r, recorded);
	cleanup_text struct text line = { 0 };
	char hex[DIGEST_HEX];
	uint64_t bytes;
	int s = path ? inputs_digest(path, r->stop, hex, &bytes, e)
		     : digest_recorded(r, recorded, hex, e);

	if (s < 0) {
		if (s == -EINTR)
			return NULL;
		(void)err_within(e, "a file of the transcript (give it with --file): ");
		return NULL;
	}
	if (strncmp(hex, was, strlen(hex)) == 0)
		return path ? path : recorded;
	if (!path) {
		(void)err_say(
			e, ESTALE,
			"%s is not the file that it was: its digest was %.64s, is %s; give the one to take with --file",
			recorded, was, hex);
		return NULL;
	}
	text_printf(&line, "file %s: another one, its sha256 was %.64s, is %s", path, was,
		    hex);
	replay_differs(r, text_string(&line));
	return path;
}

static int take_files(struct replay *r, struct err *e)
{
	const struct peek *p = &r->start;
	bool streams[OPT_LIST_MAX] = { false };
	int s;

	r->jail = p->jail;
	for (size_t i = 0; i < p->jail.files.count; i++) {
		const char *item = p->jail.files.items[i];
		const char *path = replay_file(r, item + PEEK_DIGEST + 1, item, e);

		if (!path)
			return -e->errnum;
		streams[i] = item[PEEK_DIGEST + 1] != '/';
		r->jail.files.items[i] = path;
	}
	r->jail.file_limit_bytes = UINT64_MAX;
	s = jail_binds_make(&r->jail, streams, r->stop, &r->binds, e);
	for (size_t i = 0; s == 0 && i < p->tests.count; i++) {
		const char *item = p->tests.items[i];
		const char *path = replay_file(r, item + PEEK_DIGEST + 1, item, e);

		s = path ? jail_binds_more(&r->binds, path, TESTS_FOLDER, path_last(path),
					   e)
			 : -e->errnum;
	}
	if (s == 0 && p->out)
		s = out_mark(&r->out, e);
	jail_binds_add(&r->binds, &r->out.marker);
	return s;
}

static void say_options(struct replay *r)
{
	cleanup_text struct text line = { 0 };

	text_printf(&line, "jail: --rootfs %s", r->jail.rootfs);
	for (size_t i = 0; i + 1 < r->jail.pass.count; i += 2) {
		const char *name = r->jail.pass.items[i];

		text_printf(&line, " --%s", name);
		if (strcmp(name, "deterministic") != 0) /* takes no value */
			text_printf(&line, " %s", r->jail.pass.items[i + 1]);
	}
	show_note(r->show, text_string(&line));
}

/* a folder is the caller's to choose, like those of --file */
static int take_skills(struct replay *r, struct err *e)
{
	const char *recorded = r->start.skills;
	cleanup_text struct text line = { 0 };
	cleanup_fd int fd = -1;
	char hex[DIGEST_HEX];
	uint64_t bytes;

	if (!recorded)
		return 0;
	if (!r->skills)
		return err_say(
			e, EISDIR,
			"the task had the functions in %s, which is a folder, which a transcript cannot choose; give it with --skills",
			recorded + PEEK_DIGEST + 1);
	fd = skills_bind(r->skills, &r->binds, r->stop, hex, &bytes, e);
	if (fd < 0 || strncmp(hex, recorded, PEEK_DIGEST) == 0)
		return fd < 0 ? fd : 0;
	text_printf(
		&line,
		"skills %s: not the functions that they were: their sha256 was %.64s, is %s",
		r->skills, recorded, hex);
	replay_differs(r, text_string(&line));
	return 0;
}

int replay_start(struct replay *r, struct err *e)
{
	int s = take_files(r, e);

	if (s == 0)
		s = take_skills(r, e);
	if (s < 0)
		return s;
	for (size_t i = 0; i < r->asked->pass.count; i++) {
		if (r->jail.pass.count == OPT_LIST_MAX)
			return err_say(e, E2BIG, "too many options");
		r->jail.pass.items[r->jail.pass.count++] = r->asked->pass.items[i];
	}
	if (r->asked->rootfs)
		r->jail.rootfs = r->asked->rootfs;
	say_options(r);
	r->jail.stepjail = r->asked->stepjail;
	r->plan.stateless = r->start.stateless;
	r->plan.deadline_ms = UINT64_MAX;
	r->fresh = true;
	/* from here on nothing is opened but files of a :put */
	r->confined.policy.read_host = true;
	r->confined.policy.needs = CONFINE_READ;
	s = jail_plan(&r->jail, &r->binds, r->start.repl ? SESSION_REPL_OUTPUT : NULL,
		      &r->plan, e);
	if (s == 0)
		s = confined_serve(&r->confined, &r->plan, &r->jail, &r->binds,
				   r->stop, e);
	if (s == 0)
		s = confined_go(&r->confined, r->stop, e);
	if (s < 0)
		return s;
	s = session_open(&r->session, &r->plan, r->stop, e);
	if (s == 0)
		show_said(r->show, &r->session.serve.diag);
	return s;
}

/* the same plan, the same tree? Said once for each session */
static void compare_session(struct replay *r)
{
	static const struct {
		const char *name;
		const char *words;
		bool counts;
	} rows[] = {
		{ "root_sha256", "the root tree is another one", true },
		{ "plan_sha256", "the jail's plan is another one (stepjail explain)",
		  false },
	};
	cJSON *now = record_session(&r->session);

	for (size_t i = 0; now && i < sizeof(rows) / sizeof(rows[0]); i++) {
		cleanup_text struct text line = { 0 };
		const char *was = json_text(r->recorded, rows[i].name);
		const char *is = json_text(now, rows[i].name);

		if (strcmp(was, is) == 0)
			continue;
		text_printf(&line, "%s: its sha256 was %.64s, is %s", rows[i].words,
			    *was ? was : "not known", *is ? is : "not known");
		if (rows[i].counts)
			replay_differs(r, text_string(&line));
		else
			show_note(r->show, text_string(&line));
	}
	cJSON_Delete(now);
	cJSON_Delete(r->recorded);
	r->recorded = NULL;
}

static int take_session(struct replay *r, const cJSON *line, struct err *e)
{
	int s = 0;

	cJSON_Delete(r->recorded);
	r->recorded = cJSON_Duplicate(line, true);
	if (r->plan.stateless)
		return 0; /* its jail comes with the step */
	if (!r->fresh)
		s = session_renew(&r->session, e);
	r->fresh = false;
	if (s == 0)
		compare_session(r);
	return s;
}

static int take_code(struct replay *r, const cJSON *line, struct err *e)
{
	const char *code = json_text(line, "code");
	uint32_t cpu_ms = 0;

	if (!*code || strlen(code) > EXTRACT_CODE_MAX)
		return err_say(e, EBADMSG, "the transcript has a step without its code");
	text_clear(&r->code);
	text_puts(&r->code, code);
	/* what was left for it of the task's own limit */
	r->session.cpu_ms = json_u32(line, "cpu_limit_ms", &cpu_ms) ? cpu_ms : 0;
	r->pending = true;
	return text_check(&r->code, "a step's code", e);
}

/* where the next step starts from: as recorded, if it can be had */
static int go_to(struct replay *r, const cJSON *line, struct err *e)
{
	struct err why;
	uint32_t state;

	if (r->plan.stateless || !json_u32(line, "head", &state) ||
	    state == r->session.state)
		return 0;

	int s = session_change(&r->session, SESSION_ROLLBACK, r->session.branch, state,
			       &why);

	if (s == 0)
		r->session.state = state;
	if (s == -EINTR)
		return err_say(e, EINTR, "%s", why.text);
	if (s < 0 && !r->session.open) {
		r->fresh = true;
		return session_renew(&r->session, e);
	}
	return 0;
}

static const char *why_not_again(const cJSON *line)
{
	if (cJSON_IsTrue(json_get(line, "budget_ended")))
		return "the time of the whole task ended it";
	return strcmp(json_text(line, "verdict"), "cancelled") == 0
		       ? "somebody stopped it"
		       : NULL;
}

/* 0 or -errno; adds the difference, where there is one */
static int compare_step(struct replay *r, const cJSON *line, uint32_t step, struct err *e)
{
	cleanup_text struct text says = { 0 };
	cleanup_text struct text head = { 0 };
	cJSON *now = record_step(step, NULL, &r->step, NULL);
	bool good = replay_compare(line, now, &says);

	cJSON_Delete(now);
	r->steps++;
	text_printf(&head, "step %" PRIu32 ": %s", step, good ? "the same" : "differs");
	if (good) {
		show_note(r->show, text_string(&head));
	} else {
		replay_differs(r, text_string(&head));
		show_text(r->show, &says);
	}
	return text_check(&says, "what differs", e);
}

static int take_step(struct replay *r, const cJSON *line, struct err *e)
{
	const char *skip = why_not_again(line);
	uint32_t step = 0;

	if (!json_get(line, "verdict"))
		return 0; /* a reply that could not be run */
	if (!r->pending || !json_u32(line, "step", &step))
		return err_say(e, EBADMSG, "the transcript has a step without its code");
	r->pending = false;

	int s = session_step(&r->session, skip ? placeholder : text_string(&r->code),
			     skip ? strlen(placeholder) : r->code.length, &r->step, e);

	if (s < 0)
		return s;
	r->fresh = r->step.facts.state == STATE_LOST;
	if (r->recorded)
		compare_session(r);
	if (skip) {
		char words[100];

		(void)snprintf(words, sizeof(words),
			       "step %" PRIu32 ": not run again: %s", step, skip);
		show_note(r->show, words);
	} else {
		s = compare_step(r, line, step, e);
	}
	return s == 0 ? go_to(r, line, e) : s;
}

/* that jail is none of the model's; its files have their digests in the line */
static int pass_tests(struct replay *r, const cJSON *line, struct err *e)
{
	(void)line;
	(void)e;
	show_note(r->show, "an answer was judged by tests: that is not run again");
	return 0;
}

int replay_take(void *arg, const char *event, const cJSON *line, struct err *e)
{
	static const struct {
		const char *event;
		int (*take)(struct replay *r, const cJSON *line, struct err *e);
	} rows[] = {
		{ "session", take_session }, { "code", take_code },
		{ "step", take_step },       { "command", replay_command },
		{ "tests", pass_tests },
	};
	struct replay *r = arg;
	int s = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].event, event) == 0)
			s = rows[i].take(r, line, e);
	return s < 0 ? s : show_check(r->show, e);
}

void replay_free(struct replay *r)
{
	session_close(&r->session);
	broker_close(&r->confined.broker);
	jail_binds_free(&r->binds);
	out_close(&r->out);
	text_free(&r->code);
	cJSON_Delete(r->recorded);
	r->recorded = NULL;
}
