/* SPDX-License-Identifier: MIT */
/*
 * tool.c - what a model is offered, and its calls: see tool.h
 */

#include "agent/base/utf8.h"
#include "agent/model/fence.h"
#include "agent/model/tool.h"

#define SENT_BACK_MAX 2000 /* of arguments that are no object */

#define NOTHING_RUN " Nothing was run."

static const struct tool {
	const char *name, *words;
	const char *takes; /* its argument */
	const char *what;  /* that is */
	bool ends;         /* its call ends the task */
} offered[] = {
	{ "python",
	  "Run Python code in the sandbox, as one step, and be told what it printed and how it ended.",
	  "code", "The code to run.", false },
	{ "answer",
	  "Give the final answer, which ends the task. It may be code, which is not run. Call this alone.",
	  "text", "The answer as the user is to have it.", true },
};

void tool_offer(cJSON *list, cJSON *(*place)(cJSON *item), const char *schema)
{
	for (size_t i = 0; i < COUNT(offered); i++) {
		const struct tool *t = &offered[i];
		cJSON *item = json_append(list);
		cJSON *tool = place ? place(item) : item;
		cleanup_text struct text takes = { 0 };

		json_add(tool, "name", t->name);
		json_add(tool, "description", t->words);
		text_printf(
			&takes,
			"{\"type\":\"object\",\"properties\":{\"%s\":{\"type\":\"string\",\"description\":\"%s\"}},\"required\":[\"%s\"],\"additionalProperties\":false}",
			t->takes, t->what, t->takes);
		(void)cJSON_AddRawToObject(tool, schema, text_string(&takes));
	}
}

/* NULL where there is none of that name */
static const struct tool *find(const struct call *c)
{
	for (size_t i = 0; i < COUNT(offered); i++)
		if (strcmp(c->name, offered[i].name) == 0)
			return &offered[i];
	return NULL;
}

bool tool_is_answer(const struct call *c)
{
	const struct tool *t = find(c);

	return t && t->ends;
}

static cJSON *parse(const struct call *c)
{
	return json_parse(text_string(&c->arguments), c->arguments.length);
}

/* true where an escape stands for a NUL: cJSON would end the string there */
static bool holds_nul(const struct call *c)
{
	cleanup_text struct text plain = { 0 };

	json_plain(text_string(&c->arguments), c->arguments.length, &plain);
	return plain.failed || memchr(text_string(&plain), '\0', plain.length);
}

/* one call's code behind the others', or its answer, or a complaint */
static void add_code(const struct call *c, struct text *code, struct text *complaint)
{
	cleanup_json cJSON *root = parse(c);
	const struct tool *t = find(c);
	const char *source = t ? json_string(root, t->takes) : NULL;

	if (!t)
		text_printf(
			complaint,
			"There is no tool '%s': there are python and answer." NOTHING_RUN,
			c->name);
	else if (holds_nul(c))
		text_puts(complaint, extract_complaint(EXTRACT_NOT_TEXT));
	else if (!source)
		text_printf(
			complaint,
			"The arguments of your call are no JSON object with a string \"%s\"." NOTHING_RUN
			" Call it with {\"%s\": \"...\"}: the %s alone, as one JSON string.",
			t->takes, t->takes, t->takes);
	else if (t->ends)
		text_puts(code, source);
	else
		fence_copy((struct span){ source, strlen(source) }, 0, code);
}

void tool_read(const struct reply *reply, bool tools, struct extract *x,
	       struct text *complaint)
{
	bool answer = false;

	*x = (struct extract){ .closed = true, .code.max = EXTRACT_CODE_MAX };
	if (!reply->call_count)
		return;
	x->kind = EXTRACT_CODE;
	x->blocks = reply->call_count;
	if (!tools)
		text_puts(
			complaint,
			"You called a tool, and there is none here. Reply with a ```python block." NOTHING_RUN);
	else if (reply->nul)
		text_puts(complaint, extract_complaint(EXTRACT_NOT_TEXT));
	else if (reply->calls_dropped)
		text_printf(complaint, "You made more than %d calls at once." NOTHING_RUN,
			    REPLY_CALLS_MAX);
	for (size_t i = 0; i < reply->call_count; i++)
		answer = answer || tool_is_answer(&reply->calls[i]);
	if (answer && reply->call_count > 1 && !complaint->length)
		text_puts(
			complaint,
			"Call answer alone, once you have been told what your code did." NOTHING_RUN);
	for (size_t i = 0; !complaint->length && i < reply->call_count; i++)
		add_code(&reply->calls[i], &x->code, complaint);
	if (!complaint->length)
		x->kind = extract_kind(&x->code);
	if (answer && !complaint->length && x->kind != EXTRACT_TOO_LONG)
		x->kind = x->kind == EXTRACT_CODE ? EXTRACT_ANSWER : EXTRACT_SILENCE;

	const char *words = extract_complaint(x->kind);

	text_puts(complaint, words ? words : "");
}

void tool_arguments(const struct call *c, struct text *out)
{
	cleanup_json cJSON *root = parse(c);
	cleanup_text struct text mended = { 0 };
	cleanup_text struct text printed = { 0 };

	if (!cJSON_IsObject(root)) {
		const char *bytes = text_string(&c->arguments);

		cJSON_Delete(root);
		root = cJSON_CreateObject();
		utf8_mend(&mended, bytes,
			  utf8_floor(bytes, c->arguments.length, SENT_BACK_MAX));
		if (c->arguments.length)
			json_add(root, "unreadable", text_string(&mended));
	}
	json_print(root, &printed);
	utf8_mend(out, text_string(&printed), printed.length);
}
