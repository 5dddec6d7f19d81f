/* SPDX-License-Identifier: MIT */
/*
 * split.c - a command line in one string, as words: see split.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/memory.h"
#include "agent/base/text.h"
#include "agent/judge/split.h"

static const char blanks[] = " \t\n";

/* behind the closing quote, or NULL where there is none */
static const char *take_single(const char *at, struct text *word)
{
	size_t length = strcspn(at, "'");

	text_add(word, at, length);
	return at[length] ? at + length + 1 : NULL;
}

/* a backslash stays, but before what it is there to quote */
static const char *take_double(const char *at, struct text *word)
{
	for (; *at && *at != '"'; at++) {
		if (*at == '\\' && at[1] && strchr("\"\\$`\n", at[1])) {
			at++;
			if (*at == '\n')
				continue;
		}
		text_add(word, at, 1);
	}
	return *at ? at + 1 : NULL;
}

/* behind the word, or NULL with *why */
static const char *take_word(const char *at, struct text *word, const char **why)
{
	while (at && *at && !strchr(blanks, *at)) {
		char c = *at++;

		*why = "a quote is not closed";
		if (c == '\'') {
			at = take_single(at, word);
		} else if (c == '"') {
			at = take_double(at, word);
		} else if (c == '\\') {
			*why = "it ends with a backslash";
			if (*at && *at != '\n')
				text_add(word, at, 1);
			at = *at ? at + 1 : NULL;
		} else {
			text_add(word, &c, 1);
		}
	}
	return at;
}

int split_words(const char *line, struct split *w, const char *what, struct err *e)
{
	*w = (struct split){ .count = 0 };
	for (const char *at = line + strspn(line, blanks); *at;
	     at += strspn(at, blanks)) {
		cleanup_text struct text word = { 0 };
		const char *why = "";

		at = take_word(at, &word, &why);
		if (!at)
			return err_say(e, EINVAL, "%s: %s", what, why);
		if (w->count == SPLIT_WORDS_MAX)
			return err_say(e, E2BIG, "%s: more than %d words", what,
				       SPLIT_WORDS_MAX);
		w->words[w->count++] = memory_string(text_string(&word));
	}
	return w->count ? 0 : err_say(e, EINVAL, "%s: it is empty", what);
}

void split_free(struct split *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->words[i]);
	w->count = 0;
}
