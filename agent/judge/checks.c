/* SPDX-License-Identifier: MIT */
/*
 * checks.c - have a check look at something, and say what came of it: see checks.h
 */
#include <errno.h>
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/judge/checks.h"
#include "agent/record/record.h"

#define OWN_LINE "stepjail: " /* begins those of stepjail itself, beside the check's */

const struct checks_row checks_rows[CHECKS_KINDS] = {
	[CHECKS_PROMPT] = { "prompt", "--check-prompt",
			    "what was to be sent to the model", NULL },
	[CHECKS_REPLY] = { "reply", "--check-reply", "Your reply",
			   "Nothing of it was run, and it was not taken for an answer." },
	[CHECKS_ANSWER] = { "answer", "--check-answer", "Your answer",
			    "It was not taken. Go on, and give another one." },
};

void checks_ending(const struct verdict_facts *f, struct text *out)
{

	if (f->verdict == VERDICT_EXITED)
		text_printf(out, "it ended with exit status %d", f->code);
	else if (f->verdict == VERDICT_SIGNALED)
		text_printf(out, "the check itself failed: it was ended by signal %d",
			    f->signal);
	else if (f->verdict == VERDICT_WALL_TIMEOUT)
		text_printf(out, "the check itself failed: it took longer than %s",
			    units_say_time(f->limit_ms).text);
	else if (f->verdict == VERDICT_VIOLATION && f->syscall[0])
		text_printf(out, "the check itself failed: it made a forbidden call (%s)",
			    f->syscall);
	else
		text_printf(out, "it failed itself: %s", verdict_name(f->verdict));
}

/* lines that are the check's and not stepjail's */
static void add_lines(const struct text *from, struct text *out)
{
	struct span rest = { text_string(from), from->length };

	while (rest.length) {
		struct span line = span_line(&rest);

		if (line.length < strlen(OWN_LINE) ||
		    memcmp(line.at, OWN_LINE, strlen(OWN_LINE)) != 0)
			escape_lines(out, ESCAPE_MARK, line.at,
				     (size_t)(rest.at - line.at));
	}
}

/* what was printed, harmless to a terminal and a model */
static void add_printed(const struct clip *c, struct text *out)
{
	cleanup_text struct text head = { 0 };
	cleanup_text struct text tail = { 0 };
	cleanup_text struct text theirs = { 0 };

	(void)clip_take(c, &head, &tail);
	add_lines(&head, &theirs);
	if (tail.length)
		text_puts(&theirs, "[the middle is left out]\n");
	add_lines(&tail, &theirs);
	escape_turns(out, &theirs);
}

static void add_digest(cJSON *o, const char *name, const struct clip *c)
{
	cJSON *one = cJSON_AddObjectToObject(o, name);
	char hex[DIGEST_HEX];

	clip_digest(c, hex);
	(void)cJSON_AddNumberToObject(one, "bytes", (double)c->total);
	(void)cJSON_AddStringToObject(one, "sha256", hex);
}

static int record(struct checks *v, enum checks_kind kind, const struct text *input,
		  bool began, const struct text *said, struct err *e)
{
	const struct run_once *once = &v->task->once;
	cJSON *o = cJSON_CreateObject();
	char hex[DIGEST_HEX];

	digest_bytes(text_string(input), input->length, hex);
	(void)cJSON_AddStringToObject(o, "check", checks_rows[kind].name);
	(void)cJSON_AddStringToObject(o, "verdict", verdict_name(once->facts.verdict));
	record_ending(o, &once->facts);
	(void)cJSON_AddBoolToObject(o, "passed", began && once->good);
	(void)cJSON_AddNumberToObject(o, "input_bytes", (double)input->length);
	(void)cJSON_AddStringToObject(o, "input_sha256", hex);
	add_digest(o, "stdout", &once->out);
	add_digest(o, "stderr", &once->err);
	record_text(o, "printed", said);
	(void)cJSON_AddNumberToObject(o, "wall_ms", (double)once->wall_ms);
	return task_record(v->task, "checked", o, e);
}

/* 1; 0 with @ending and @said; or -errno */
static int ask(struct checks *v, enum checks_kind kind, const struct text *input,
	       struct text *ending, struct text *said, struct err *e)
{
	const struct run_once *once = &v->task->once;
	struct err unheard;
	int r, written;

	v->asked[kind]++;
	r = text_check(input, "what is to be checked", e);
	if (r < 0)
		return r;
	r = task_run(v->task, v->line[kind], v->o->time_ms, input, e);
	if (r == -ETIMEDOUT || r == -EINTR)
		return r;
	add_printed(&once->out, said);
	add_printed(&once->err, said);
	written = record(v, kind, input, r == 0, said, r < 0 ? &unheard : e);
	if (r < 0)
		return err_within(e, "%s: ", checks_rows[kind].option);
	if (written < 0)
		return written;
	if (once->good)
		return 1;
	v->refused[kind]++;
	checks_ending(&once->facts, ending);
	show_say(&v->task->show, "%s refused: %s", checks_rows[kind].option,
		 text_string(ending));
	return 0;
}

int checks_try(struct checks *v, struct err *e)
{
	const struct text nothing = { 0 };
	int r = 0;

	for (enum checks_kind k = CHECKS_REPLY; r == 0 && k <= CHECKS_ANSWER; k++) {
		r = v->line[k] ? task_run(v->task, v->line[k], v->o->time_ms, &nothing, e)
			       : 0;
		if (r < 0 && r != -EINTR && r != -ETIMEDOUT)
			return err_within(e, "%s: ", checks_rows[k].option);
	}
	return r == -ETIMEDOUT ? 0 : r; /* the loop says so */
}

int checks_ask(struct checks *v, enum checks_kind kind, const struct text *input,
	       struct text *words, struct err *e)
{
	cleanup_text struct text ending = { 0 };
	cleanup_text struct text said = { 0 };
	int r = v->line[kind] ? ask(v, kind, input, &ending, &said, e) : 1;

	if (r != 0)
		return r;
	text_printf(words, "%s did not pass a check: %s. %s", checks_rows[kind].refused,
		    text_string(&ending), checks_rows[kind].then);
	if (said.length)
		text_printf(words, " The check printed:\n%.*s", (int)said.length - 1,
			    text_string(&said));
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
	cleanup_text struct text input = { 0 };
	cleanup_text struct text ending = { 0 };
	cleanup_text struct text said = { 0 };
	int r;

	if (!v->line[CHECKS_PROMPT])
		return 1;
	for (; v->sent < chat->count; v->sent++) {
		const struct message *m = &chat->list[v->sent];

		if (m->role == ROLE_ASSISTANT)
			continue; /* it came from there */
		text_puts(&input, input.length ? "\n" : "");
		text_puts(&input, m->text);
	}
	r = ask(v, CHECKS_PROMPT, &input, &ending, &said, e);
	if (r != 0)
		return r;
	/* its first line alone: the reason is one */
	if (said.length) {
		const char *first = said.bytes + strlen(ESCAPE_MARK);

		text_puts(&ending, ": ");
		escape_name(&ending, first, strcspn(first, "\n"));
	}
	(void)err_say(e, EPERM, "--check-prompt refused %s: %s",
		      checks_rows[CHECKS_PROMPT].refused, text_string(&ending));
	return 0;
}
