/* SPDX-License-Identifier: MIT */
/*
 * tool.c - calls of the one tool: see tool.h
 */

#include "agent/base/utf8.h"
#include "agent/model/fence.h"
#include "agent/model/tool.h"

#define SENT_BACK_MAX 2000 /* of arguments that are no object */

#define NOTHING_RUN " Nothing was run."

void tool_offer(cJSON *tool, const char *schema)
{
	json_add(tool, "name", TOOL_NAME);
	json_add(tool, "description", TOOL_WORDS);
	(void)cJSON_AddRawToObject(tool, schema, TOOL_SCHEMA);
}

static cJSON *parse(const struct call *c)
{
	return json_parse(text_string(&c->arguments), c->arguments.length);
}

/* true where an escape stands for a NUL: cJSON would end the string there */
static bool holds_nul(const struct call *c)
{
	cleanup_text struct text copy = { 0 };

	text_add(&copy, text_string(&c->arguments), c->arguments.length);
	return copy.failed || (copy.length && json_mend(copy.bytes, copy.length));
}

/* one call's code behind the others', or a complaint */
static void add_code(const struct call *c, struct text *code, struct text *complaint)
{
	cleanup_json cJSON *root = parse(c);
	const char *source = json_string(root, "code");
	const char *words = NULL;

	if (strcmp(c->name, TOOL_NAME) != 0)
		text_printf(complaint,
			    "There is no tool '%s': the only one is " TOOL_NAME
			    "." NOTHING_RUN,
			    c->name);
	else if (holds_nul(c))
		words = extract_complaint(EXTRACT_NOT_TEXT);
	else if (!source)
		words = "The arguments of your call are no JSON object with a string \"code\"." NOTHING_RUN
			" Call it with {\"code\": \"...\"}: the code alone, as one JSON string.";
	else
		fence_copy((struct span){ source, strlen(source) }, 0, code);
	text_puts(complaint, words ? words : "");
}

void tool_read(const struct reply *reply, bool tools, struct extract *x,
	       struct text *complaint)
{
	const char *words;

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
	for (size_t i = 0; !complaint->length && i < reply->call_count; i++)
		add_code(&reply->calls[i], &x->code, complaint);
	if (!complaint->length)
		x->kind = extract_kind(&x->code);
	words = extract_complaint(x->kind);
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
