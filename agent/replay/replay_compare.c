/* SPDX-License-Identifier: MIT */
/*
 * replay_compare.c - how a step differs from what is recorded of it: see replay.h
 */

#include "agent/base/utf8.h"
#include "agent/record/record.h"
#include "agent/replay/replay.h"

#define SHOWN_BYTES 300 /* of a line that differs */

static const char *const scalars[] = { "verdict",   "state",  "state_number",
				       "exit_code", "signal", "violation" };

/* a string or a small number, as one word */
static void add_word(const cJSON *one, struct text *out)
{
	const char *word = cJSON_IsString(one) ? one->valuestring : "";

	if (cJSON_IsNumber(one))
		text_printf(out, "%.0f", one->valuedouble);
	else if (!*word)
		text_puts(out, "none");
	else if (word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-")])
		escape_name(out, word, utf8_floor(word, strlen(word), 60));
	else
		text_printf(out, "%.60s", word);
}

/* null; format 1 had 0 and "" for it. A status of 0 has another verdict than none */
static bool is_nothing(const cJSON *one)
{
	return !one || cJSON_IsNull(one) ||
	       (cJSON_IsNumber(one) && one->valuedouble == 0) ||
	       (cJSON_IsString(one) && !*one->valuestring);
}

/* where a member of both differs, words of it behind @before */
static bool compare_member(const char *before, const char *name, const cJSON *line,
			   const cJSON *now, struct text *says)
{
	const cJSON *was = json_get(line, name);
	const cJSON *is = json_get(now, name);

	if ((is_nothing(was) && is_nothing(is)) || cJSON_Compare(was, is, true))
		return true;
	text_printf(says, "%s%s was ", before, name);
	add_word(was, says);
	text_puts(says, ", is ");
	add_word(is, says);
	text_puts(says, "\n");
	return false;
}

static void add_line(const char *mark, const char *at, struct text *says)
{
	size_t length = strcspn(at, "\n");
	size_t shown = utf8_floor(at, length, SHOWN_BYTES);

	text_puts(says, mark);
	escape_line(says, at, shown);
	text_puts(says, shown < length ? " ...\n" : "\n");
}

/* the first line that is not the same in both */
static void show_first(const char *was, const char *is, struct text *says)
{
	size_t number = 1, line = 0, i = 0;

	for (; was[i] && was[i] == is[i]; i++)
		if (was[i] == '\n') {
			number++;
			line = i + 1;
		}
	if (was[i] == is[i]) {
		text_puts(says, " after the part that is kept\n");
		return;
	}
	text_printf(says, " from line %zu on\n", number);
	add_line("  - ", was + line, says);
	add_line("  + ", is + line, says);
}

static void compare_stream(const char *name, const char *words, const cJSON *line,
			   const cJSON *now, struct text *says)
{
	const cJSON *was = json_get(line, name);
	const cJSON *is = json_get(now, name);

	if (cJSON_Compare(json_get(was, "bytes"), json_get(is, "bytes"), true) &&
	    cJSON_Compare(json_get(was, "sha256"), json_get(is, "sha256"), true))
		return;
	text_printf(says, "%s was ", words);
	add_word(json_get(was, "bytes"), says);
	text_puts(says, " bytes, is ");
	add_word(json_get(is, "bytes"), says);
	text_puts(says, ": it differs");
	show_first(json_text(was, "head"), json_text(is, "head"), says);
}

/* one form of one object, as far as it is the jail's doing */
static void compare_shown(const cJSON *was, const cJSON *is, struct text *says)
{
	static const char *const names[] = { "object", "kind",  "from",  "name",
					     "state",  "bytes", "sha256" };
	const cJSON *any = was ? was : is;
	cleanup_text struct text before = { 0 };

	text_printf(&before, "what is shown: object %.0f, ",
		    cJSON_GetNumberValue(json_get(any, "object")) + 1);
	add_word(json_get(any, "kind"), &before);
	if (!was || !is) {
		text_printf(says, "%s: it %s there\n", text_string(&before),
			    was ? "is not" : "was not");
		return;
	}
	text_puts(&before, ": ");
	for (size_t i = 0; i < COUNT(names); i++)
		if (!compare_member(text_string(&before), names[i], was, is, says))
			return;
}

void replay_compare(const cJSON *line, const cJSON *now, struct text *says)
{
	for (size_t i = 0; i < COUNT(scalars); i++)
		(void)compare_member("", scalars[i], line, now, says);
	for (size_t i = 0; i < RECORD_STREAMS; i++)
		compare_stream(record_streams[i].name, record_streams[i].words, line, now,
			       says);
	/* in the order of showing */
	const cJSON *was = json_first(json_get(line, "media"));
	const cJSON *is = json_first(json_get(now, "media"));

	for (; was || is; was = was ? was->next : NULL, is = is ? is->next : NULL)
		compare_shown(was, is, says);
}
