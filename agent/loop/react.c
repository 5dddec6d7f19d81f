/* SPDX-License-Identifier: MIT */
/*
 * react.c - the way of working "react": thought, code and observation apart. See modes.h
 *
 * The thought is what stands around the code, or beside the call. It is recorded in an
 * event of its own, before the code. A reply with code and no thought is run all the
 * same, its thought is recorded as empty, and the model is asked for one.
 */
#include <string.h>

#include "agent/loop/loop.h"
#include "agent/model/fence.h"

static bool is_edge(char c)
{
	return c && strchr(" \t\r\n", c);
}

static struct span trim(struct span s)
{
	while (s.length && is_edge(s.at[0])) {
		s.at++;
		s.length--;
	}
	while (s.length && is_edge(s.at[s.length - 1]))
		s.length--;
	return s;
}

/* "Thought:", "**Thought:**" and the like; 0 where the line does not begin so */
static size_t label(struct span line, const char *word)
{
	size_t at = 0, n = strlen(word);

	while (at < line.length && line.at[at] && strchr("*#_ ", line.at[at]))
		at++;
	if (!fence_begins((struct span){ line.at + at, line.length - at }, word))
		return 0;
	at += n;
	while (at < line.length && line.at[at] && strchr("*_ ", line.at[at]))
		at++;
	return at;
}

/* the reply's words in two: up to the line with "Answer:", and behind that */
static bool split(const struct text *words, struct span *thought, struct span *answer)
{
	struct span rest = { text_string(words), words->length };

	*thought = trim(rest);
	while (rest.length) {
		const char *start = rest.at;
		struct span line = fence_line(&rest);
		size_t skip = label(line, "Answer:");

		if (!skip)
			skip = label(line, "Final Answer:");
		if (!skip)
			continue;
		*thought = trim((struct span){ text_string(words),
					       (size_t)(start - text_string(words)) });
		*answer = trim((struct span){ line.at + skip,
					      (size_t)(rest.at + rest.length - line.at) -
						      skip });
		return answer->length > 0;
	}
	return false;
}

static int record_thought(struct loop *l, uint64_t number, struct span thought,
			  struct err *e)
{
	cJSON *o = cJSON_CreateObject();
	size_t skip = label(thought, "Thought:");

	thought = trim((struct span){ thought.at + skip, thought.length - skip });
	text_clear(&l->work->thought);
	text_add(&l->work->thought, thought.at, thought.length);
	if (thought.length) {
		show_note(l->task->show, "thought");
		show_words(l->task->show, thought.at, thought.length);
	}
	(void)cJSON_AddNumberToObject(o, "step", (double)number);
	record_string(o, "thought", thought.at, thought.length);

	int r = task_record(l->task, "thought", o, e);

	return r < 0 ? r : text_check(&l->work->thought, "a thought", e);
}

int react_heard(struct loop *l, uint64_t number, struct err *e)
{
	cleanup_text struct text words = { 0 };
	const struct text *said = &l->reply.text;
	struct span thought, answer;
	struct extract around;
	int r;

	extract_code(text_string(said), said->length, &around, &words);
	text_free(&around.code);
	r = text_check(&words, "the words of a reply", e);

	if (r < 0 || l->complaint.length)
		return r;
	if (l->found.kind == EXTRACT_CODE) {
		(void)split(&words, &thought, &answer);
		return record_thought(l, number, thought, e);
	}
	if (around.pretended) {
		text_puts(
			&l->complaint,
			"Your reply told an observation of its own, which counts for nothing: only code that has run has one. Send code, or your answer without an observation.");
		return 0;
	}
	/* the thought that goes with an answer; without the mark all of it is the
	 * answer */
	return split(said, &thought, &answer) ? record_thought(l, number, thought, e) : 0;
}

int react_ran(struct loop *l, struct text *observation, struct err *e)
{
	(void)e;
	if (!l->work->thought.length)
		text_puts(
			observation,
			"Your reply held no thought: write one before the code, in a sentence or two.\n");
	return 0;
}

int react_claim(struct loop *l, struct text *answer)
{
	struct span thought, said;

	if (split(&l->reply.text, &thought, &said))
		text_add(answer, said.at, said.length);
	else
		text_add(answer, l->reply.text.bytes, l->reply.text.length);
	return 1;
}
