/* SPDX-License-Identifier: MIT */
/*
 * checks.c - have a check look at something, and say what came of it: see checks.h
 */

#include "agent/base/file.h"
#include "agent/base/memory.h"
#include "agent/base/path.h"
#include "agent/base/source.h"
#include "agent/judge/checks.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "init/io.h"

SOURCE(check_source, SOURCE_FILE("agent/judge/check.py"));

const struct checks_row checks_rows[CHECKS_KINDS] = {
	[CHECKS_PROMPT] = { "prompt", "--check-prompt",
			    "what was to be sent to the model", NULL },
	[CHECKS_REPLY] = { "reply", "--check-reply", "Your reply",
			   "Nothing of it was run, and it was not taken for an answer." },
	[CHECKS_ANSWER] = { "answer", "--check-answer", "Your answer",
			    "It was not taken. Go on, and give another one." },
};

#define ROW(kind, field) OPT_ROW(JUDGING, kind, struct checks_options, field)
#define WITH .with = { "check-answer", "check-reply", "check-prompt" }

const struct opt checks_opts[] = {
	{ "check-answer", "CMD", NULL, ROW(TEXT, command[CHECKS_ANSWER]),
	  "Run this command in a jail of its own, with the answer on stdin. The answer counts if it exits with status 0; else the model is told what it printed, and goes on." },
	{ "check-reply", "CMD", NULL, ROW(TEXT, command[CHECKS_REPLY]),
	  "The same for each reply of the model, before any of it is run." },
	{ "check-prompt", "CMD", NULL, ROW(TEXT, command[CHECKS_PROMPT]),
	  "The same for what is sent to the model, before it is sent; with another status than 0 the task ends, and it is not sent." },
	{ "check-file", "PATH", NULL, ROW(LIST, files),
	  "Show this file in the checks' /work/check; the model's code cannot read it. May be given again.",
	  WITH },
	{ "check-time", "TIME", "30s", ROW(TIME, time_ms),
	  "End a check after this much time, which counts in --wall-time; it has refused then.",
	  .min = 100, .max = HOUR_MS, WITH },
	{ .name = NULL },
};

void checks_ending(const struct verdict_facts *f, struct text *out)
{
	if (f->verdict == VERDICT_EXITED) {
		text_printf(out, "it ended with exit status %d", f->code);
	} else if (f->verdict == VERDICT_EXCEPTION) {
		text_puts(out, "it raised an exception");
	} else {
		text_puts(out, "the check itself failed: ");
		verdict_cause(f, out);
	}
}

static int add_file(struct checks *v, const char *path, struct err *e)
{
	const char *name = path_last(path);
	cleanup_text struct text place = { 0 };
	struct jail_binds *b = &v->binds;

	for (size_t i = 0; i < b->put_count; i++)
		if (strcmp(path_last(b->puts[i].path), name) == 0)
			return err_say(
				e, EEXIST,
				"--check-file: two files are called %s; the checks' " CHECKS_FOLDER
				" holds one",
				name);
	text_printf(&place, "check/%s", name);
	b->puts[b->put_count].path = memory_string(text_string(&place));
	b->puts[b->put_count++].fd = file_open(path, "--check-file: ", e);
	return b->puts[b->put_count - 1].fd < 0 ? -e->errnum : 0;
}

int checks_plan(struct checks *v, const struct checks_options *o, struct err *e)
{
	v->o = o;
	for (size_t i = 0; i < o->files.count; i++)
		if (add_file(v, o->files.items[i], e) < 0)
			return -e->errnum;
	for (size_t i = 0; i < CHECKS_KINDS; i++)
		if (o->command[i])
			v->task->plan.most_ms = o->time_ms;
	return 0;
}

/* one check, in a fresh jail, to its end; 0 or -errno */
static int run(struct checks *v, enum checks_kind kind, const struct text *input,
	       struct err *e)
{
	const char *command = v->o->command[kind];
	cleanup_text struct text why = { 0 };
	struct judge *j = &v->judge;
	int r = session_renew(&j->session, e);

	if (r == 0)
		r = session_put_bytes(&j->session, input, "checked", e);
	if (r == 0)
		r = judge_run(j, check_source, "check(", command, strlen(command),
			      &j->step, e);
	if (r == 0 && j->step.budget)
		return err_say(e, ETIMEDOUT, "the time of the task is over");
	if (j->step.facts.verdict == VERDICT_WALL_TIMEOUT)
		j->step.facts.limit[0] = '\0'; /* it is --check-time's */
	clip_last_line(&j->step.result, &why);
	if (r == 0 && why.length)
		r = err_say(e, ENOTRECOVERABLE, "it cannot be started: %s",
			    text_string(&why));
	return r < 0 && r != -EINTR ? err_within(e, "%s: ", checks_rows[kind].option) : r;
}

int checks_start(struct checks *v, struct err *e)
{
	const struct text nothing = { 0 };
	int r = v->task->plan.most_ms
			? judge_open(&v->judge, v->task, &v->binds, v->o->time_ms, e)
			: 0;

	for (enum checks_kind k = 0; r == 0 && k < CHECKS_KINDS; k++)
		r = v->o->command[k] ? run(v, k, &nothing, e) : 0;
	return r == -ETIMEDOUT ? 0 : r; /* the loop says so */
}

static int record(struct checks *v, enum checks_kind kind, const struct text *input,
		  bool passed, const struct text *said, struct err *e)
{
	cJSON *o = cJSON_CreateObject();
	char hex[DIGEST_HEX];

	digest_bytes(text_string(input), input->length, hex);
	json_add(o, "check", checks_rows[kind].name);
	json_add(o, "passed", passed);
	json_add(o, "input_bytes", input->length);
	json_add(o, "input_sha256", hex);
	json_add(o, "printed", said);
	json_add(o, "run", record_step(0, NULL, &v->judge.step, NULL));
	return task_record(v->task, "checked", o, e);
}

/* 1; 0 with @ending, and in @said what was printed; or -errno */
static int ask(struct checks *v, enum checks_kind kind, const struct text *input,
	       struct text *ending, struct text *said, struct err *e)
{
	const struct step *step = &v->judge.step;
	const struct verdict_facts *f = &step->facts;
	int r = text_check(input, "what is to be checked", e);

	v->asked[kind]++;
	if (r == 0)
		r = run(v, kind, input, e);
	if (r < 0)
		return r;

	bool passed = f->verdict == VERDICT_COMPLETED ||
		      (f->verdict == VERDICT_EXITED && f->code == 0);

	clip_titled("The check printed", &step->out, &step->err, said);
	clip_titled("Error", &step->trace, NULL, said);
	if (record(v, kind, input, passed, said, e) < 0)
		return -e->errnum;
	if (passed)
		return 1;
	v->refused[kind]++;
	checks_ending(f, ending);
	show_note(&v->task->show, "%s refused: %s", checks_rows[kind].option,
		  text_string(ending));
	return 0;
}

int checks_ask(struct checks *v, enum checks_kind kind, const struct text *input,
	       struct text *words, struct err *e)
{
	cleanup_text struct text ending = { 0 };
	cleanup_text struct text said = { 0 };
	int r = v->o->command[kind] ? ask(v, kind, input, &ending, &said, e) : 1;

	if (r != 0)
		return r;
	text_printf(words, "%s did not pass a check: %s. %s%s%.*s",
		    checks_rows[kind].refused, text_string(&ending),
		    checks_rows[kind].then, said.length ? "\n" : "",
		    said.length ? (int)said.length - 1 : 0, text_string(&said));
	return text_check(&said, "what a check printed", e);
}

int checks_reply(struct checks *v, const struct reply *reply, const struct text *code,
		 struct text *words, struct err *e)
{
	cleanup_text struct text input = { 0 };

	text_add(&input, reply->text.bytes, reply->text.length);
	/* else it stands in the text */
	if (reply->call_count && code->length) {
		text_puts(&input, input.length ? "\n" : "");
		text_add(&input, code->bytes, code->length);
	}
	return checks_ask(v, CHECKS_REPLY, &input, words, e);
}

int checks_prompt(struct checks *v, const struct chat *chat, struct err *e)
{
	const struct step *step = &v->judge.step;
	cleanup_text struct text input = { 0 };
	cleanup_text struct text ending = { 0 };
	cleanup_text struct text said = { 0 };
	cleanup_text struct text last = { 0 };

	if (!v->o->command[CHECKS_PROMPT])
		return 1;
	for (; v->sent < chat->count; v->sent++) {
		const struct message *m = &chat->list[v->sent];

		if (m->role == ROLE_ASSISTANT)
			continue; /* it came from there */
		text_puts(&input, input.length ? "\n" : "");
		text_puts(&input, m->text);
	}

	int r = ask(v, CHECKS_PROMPT, &input, &ending, &said, e);

	if (r != 0)
		return r;
	/* one line alone: the reason is one */
	clip_last_line(step->trace.total ? &step->trace
		       : step->err.total ? &step->err
					 : &step->out,
		       &last);
	escape_quote(&ending, text_string(&last));
	(void)err_say(e, EPERM, "--check-prompt refused %s: %s",
		      checks_rows[CHECKS_PROMPT].refused, text_string(&ending));
	return 0;
}

cJSON *checks_record(const struct checks *v, struct err *e)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *files = cJSON_AddArrayToObject(o, "files");

	for (size_t i = 0; i < CHECKS_KINDS; i++)
		if (v->o->command[i])
			json_add(o, checks_rows[i].name, v->o->command[i]);
	for (size_t i = 0; i < v->o->files.count; i++) {
		const char *path = v->o->files.items[i];

		if (inputs_file(json_append(files), path, path_last(path), -1,
				v->task->stop, e) == 0)
			continue;
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

void checks_tell(const struct checks *v, cJSON *o)
{
	cJSON *all = v->task->plan.most_ms ? cJSON_AddObjectToObject(o, "checks") : NULL;

	for (size_t i = 0; i < CHECKS_KINDS; i++) {
		cJSON *one;

		if (!v->o->command[i])
			continue;
		one = cJSON_AddObjectToObject(all, checks_rows[i].name);
		json_add(one, "asked", v->asked[i]);
		json_add(one, "refused", v->refused[i]);
	}
}

void checks_free(struct checks *v)
{
	session_close(&v->judge.session);
	for (size_t i = 0; i < v->binds.put_count; i++) {
		io_close_fd(&v->binds.puts[i].fd);
		free((char *)(uintptr_t)v->binds.puts[i].path);
	}
}
