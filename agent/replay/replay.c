/* SPDX-License-Identifier: MIT */
/*
 * replay.c - a transcript's steps run once more: see replay.h
 */

#include "agent/base/file.h"
#include "agent/base/path.h"
#include "agent/base/units.h"
#include "agent/judge/tests.h"
#include "agent/model/extract.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "agent/replay/replay.h"
#include "agent/skills/skills.h"
#include "init/io.h"

/* makes a state, so that those behind it have their numbers */
static const char placeholder[] = "pass\n";

int replay_renew(struct replay *r, struct err *e)
{
	if (r->session->open)
		return 0;
	r->fresh = true;
	return session_renew(r->session, e);
}

/* the caller's file with that path's name, or NULL */
static const char *asked_file(struct replay *r, const char *recorded)
{
	const struct opt_list *files = &r->asked->files;
	size_t i = 0;

	while (i < files->count &&
	       strcmp(path_last(files->items[i]), path_last(recorded)) != 0)
		i++;
	if (i == files->count)
		return NULL;
	r->used[i] = true;
	return files->items[i];
}

int replay_unused(const struct replay *r, struct err *e)
{
	for (size_t i = 0; i < r->asked->files.count; i++)
		if (!r->used[i])
			return err_say(
				e, EINVAL,
				"--file: %s: the transcript has no file that is called %s",
				r->asked->files.items[i],
				path_last(r->asked->files.items[i]));
	return 0;
}

/* opened only where it is a file by its attributes: a transcript names what it likes */
static int digest_recorded(const struct replay *r, const char *path, char hex[DIGEST_HEX],
			   struct err *e)
{
	struct stat st = { 0 };
	uint64_t bytes;
	cleanup_fd int fd = *path == '/' ? file_look_at(path, "", &st, e)
					 : err_say(e, ENOENT, "%s came by a pipe", path);

	if (fd < 0)
		return fd;
	/* to digest it is to read all that is in it, which may be all of the host */
	if (S_ISDIR(st.st_mode))
		return err_say(
			e, EISDIR,
			"%s is a folder, and a transcript may not choose one; give it by --file",
			path);
	return inputs_fd(fd, path, r->stop, hex, &bytes, e);
}

const char *replay_file(struct replay *r, const char *recorded, const char *was,
			struct err *e)
{
	const char *path = asked_file(r, recorded);
	char hex[DIGEST_HEX];
	uint64_t bytes;
	int s = path ? inputs_digest(path, r->stop, hex, &bytes, e)
		     : digest_recorded(r, recorded, hex, e);

	if (s < 0 && s != -EINTR)
		(void)err_within(e, "a file of the transcript (give it by --file): ");
	if (s < 0)
		return NULL;
	if (strncmp(hex, was, strlen(hex)) == 0)
		return path ? path : recorded;
	if (path)
		replay_differs(r, "file %s: it has changed: its sha256 was %.64s, is %s",
			       path, was, hex);
	else
		(void)err_say(
			e, ESTALE,
			"%s has changed: its sha256 was %.64s, is %s; give the file to use by --file",
			recorded, was, hex);
	return path;
}

static int take_files(struct replay *r, struct err *e)
{
	struct peek *p = &r->start;
	bool streams[OPT_LIST_MAX] = { false };

	for (size_t i = 0; i < p->jail.files.count; i++) {
		const char *item = p->jail.files.items[i];

		p->jail.files.items[i] = replay_file(r, item + PEEK_DIGEST + 1, item, e);
		if (!p->jail.files.items[i])
			return -e->errnum;
		streams[i] = item[PEEK_DIGEST + 1] != '/';
	}
	p->jail.file_limit_bytes = UINT64_MAX;
	if (jail_binds_make(&p->jail, streams, r->stop, &r->binds, e) < 0)
		return -e->errnum;
	for (size_t i = 0; i < p->tests.count; i++) {
		const char *item = p->tests.items[i];
		const char *path = replay_file(r, item + PEEK_DIGEST + 1, item, e);

		if (!path || jail_binds_more(&r->binds, path, TESTS_FOLDER,
					     path_last(path), e) < 0)
			return -e->errnum;
	}
	return p->out ? out_mark(&r->out, &r->binds, e) : 0;
}

static void say_options(struct replay *r)
{
	const struct jail_options *jail = &r->start.jail;
	cleanup_text struct text line = { 0 };

	text_printf(&line, "jail: --rootfs %s", jail->rootfs);
	for (size_t i = 0; i + 1 < jail->pass.count; i += 2)
		text_printf(&line, " --%s %s", jail->pass.items[i],
			    jail->pass.items[i + 1]);
	show_note(&r->show, "%s", text_string(&line));
}

/* a folder is the caller's to choose, like those of --file */
static int take_skills(struct replay *r, struct err *e)
{
	const char *recorded = r->start.skills;
	char hex[DIGEST_HEX];

	if (!recorded)
		return 0;
	if (!r->skills)
		return err_say(
			e, EISDIR,
			"the task had the functions in the folder %s, and a transcript may not choose one; give it by --skills",
			recorded + PEEK_DIGEST + 1);
	if (skills_bind(r->skills, &r->binds, r->stop, hex, e) < 0)
		return -e->errnum;
	if (strncmp(hex, recorded, PEEK_DIGEST) != 0)
		replay_differs(
			r,
			"skills %s: the functions have changed: their sha256 was %.64s, is %s",
			r->skills, recorded, hex);
	return 0;
}

int replay_start(struct replay *r, struct err *e)
{
	struct jail_options *jail = &r->start.jail;

	if (take_files(r, e) < 0)
		return -e->errnum;
	/* those of a :put are known when it is done again */
	if ((!r->start.repl && replay_unused(r, e) < 0) || take_skills(r, e) < 0)
		return -e->errnum;
	for (size_t i = 0; i < r->asked->pass.count; i++) {
		if (jail->pass.count == OPT_LIST_MAX)
			return err_say(e, E2BIG, "too many options");
		jail->pass.items[jail->pass.count++] = r->asked->pass.items[i];
	}
	if (r->asked->rootfs)
		jail->rootfs = r->asked->rootfs;
	say_options(r);
	jail->stepjail = r->asked->stepjail;
	r->plan = (struct session_plan){
		.jail = jail,
		.binds = &r->binds,
		.output_limit = r->start.repl ? SESSION_REPL_OUTPUT : NULL,
		.deadline_ms = UINT64_MAX,
		.stateless = r->start.stateless,
	};
	r->fresh = true;
	/* from here on nothing is opened but files of a :put */
	r->confined.policy.read_host = true;
	r->confined.policy.needs = CONFINE_READ;
	if (confined_serve(&r->confined, &r->plan, r->stop, e) < 0 ||
	    confined_go(&r->confined, r->stop, e) < 0 ||
	    session_open(r->session, &r->plan, r->stop, e) < 0)
		return -e->errnum;
	show_said(&r->show, &r->session->serve.diag);
	return 0;
}

static const char *digest_of(const cJSON *session, const char *name)
{
	const char *digest = json_text(session, name);

	return *digest ? digest : "not known";
}

/* the same tree, the same plan? Said once for each session */
static void compare_session(struct replay *r)
{
	cleanup_json cJSON *now = record_session(r->session);
	const char *was = digest_of(r->recorded, "root_sha256");
	const char *is = digest_of(now, "root_sha256");

	if (strcmp(was, is) != 0)
		replay_differs(r, "the root tree differs: its sha256 was %.64s, is %s",
			       was, is);
	was = digest_of(r->recorded, "plan_sha256");
	is = digest_of(now, "plan_sha256");
	if (strcmp(was, is) != 0)
		show_note(
			&r->show,
			"the jail's plan differs (stepjail explain): its sha256 was %.64s, is %s",
			was, is);
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
		s = session_renew(r->session, e);
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
	r->session->cpu_ms = json_u32(line, "cpu_limit_ms", &cpu_ms) ? cpu_ms : 0;
	r->pending = true;
	return 0;
}

/* where the next step starts from: as recorded, if it can be had */
static int go_to(struct replay *r, const cJSON *line, struct err *e)
{
	uint32_t state;

	if (r->plan.stateless || !json_u32(line, "state_number", &state) ||
	    state == r->session->state)
		return 0;

	int s = session_change(r->session, SESSION_ROLLBACK, r->session->branch, state,
			       e);

	if (s == 0)
		r->session->state = state;
	return s == -EINTR ? s : replay_renew(r, e);
}

static void compare_step(struct replay *r, const cJSON *line, uint32_t step)
{
	cleanup_text struct text says = { 0 };
	cleanup_json cJSON *now = record_step(step, NULL, &r->step, NULL);

	replay_compare(line, now, &says);
	r->steps++;
	if (says.length)
		replay_differs(r, "step %" PRIu32 ": differs", step);
	else
		show_note(&r->show, "step %" PRIu32 ": the same", step);
	show_notes(&r->show, text_string(&says));
}

static int take_step(struct replay *r, const cJSON *line, struct err *e)
{
	const char *skip = json_string(line, "ended_by");
	uint32_t step = 0;

	if (!json_get(line, "verdict"))
		return 0; /* a reply that could not be run */
	if (!r->pending || !json_u32(line, "step", &step))
		return err_say(e, EBADMSG, "the transcript has a step without its code");
	r->pending = false;

	int s = session_step(r->session, skip ? placeholder : text_string(&r->code),
			     skip ? strlen(placeholder) : r->code.length, &r->step, e);

	if (s < 0)
		return s;
	r->fresh = r->step.facts.state == STATE_LOST;
	if (r->recorded)
		compare_session(r);
	r->skipped += skip != NULL;
	if (skip)
		show_note(&r->show, "step %" PRIu32 ": cut off (%.20s), and not compared",
			  step, skip);
	else
		compare_step(r, line, step);
	return go_to(r, line, e);
}

int replay_take(void *arg, const char *event, const cJSON *line, struct err *e)
{
	static const struct {
		const char *event;
		int (*take)(struct replay *r, const cJSON *line, struct err *e);
	} rows[] = {
		{ "session", take_session },
		{ "code", take_code },
		{ "step", take_step },
		{ "command", replay_command },
	};
	struct replay *r = arg;
	int s = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].event, event) == 0)
			s = rows[i].take(r, line, e);
	/* that jail is none of the model's; its files have their digests in the line */
	if (strcmp(event, "tests") == 0)
		show_note(&r->show,
			  "an answer was judged by tests: that is not run again");
	return s < 0 ? s : show_check(&r->show, e);
}

void replay_words(const struct replay *r, struct text *out)
{
	uint64_t cut_off = r->skipped + r->pending;

	text_printf(out, "%s run again: %s", units_say_things(r->steps, "step").text,
		    r->differ  ? units_say_things(r->differ, "difference").text
		    : r->steps ? "nothing differs"
			       : "nothing to compare");
	if (cut_off)
		text_printf(out, ", but %" PRIu64 " cut off and not compared", cut_off);
}

void replay_free(struct replay *r)
{
	session_close(&r->own);
	broker_close(&r->confined.broker);
	jail_binds_free(&r->binds);
	out_close(&r->out);
	text_free(&r->code);
	cJSON_Delete(r->recorded);
}
