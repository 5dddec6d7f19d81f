/* SPDX-License-Identifier: MIT */
/*
 * split.c - a command line in one string, as words: see split.h
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/memory.h"
#include "agent/base/text.h"
#include "agent/judge/split.h"

static const char blanks[] = " \t\n";

int split_words(const char *line, struct split *w, const char *what, struct err *e)
{
	*w = (struct split){ .count = 0 };
	for (const char *at = line + strspn(line, blanks); *at;
	     at += strspn(at, blanks)) {
		cleanup_text struct text word = { 0 };
		char quote = '\0'; /* that is open */

		for (; *at && (quote || !strchr(blanks, *at)); at++) {
			/* between double quotes one stays, but before what it quotes */
			bool escape = *at == '\\' && quote != '\'' &&
				      (!quote || (at[1] && strchr("\"\\$`\n", at[1])));

			if (escape && !at[1])
				return err_say(
					e, EINVAL,
					"%s: nothing follows the backslash at its end",
					what);
			if (!escape && quote && *at == quote)
				quote = '\0';
			else if (!escape && !quote && strchr("'\"", *at))
				quote = *at;
			else if (!escape || *++at != '\n')
				text_add(&word, at, 1);
		}
		if (quote)
			return err_say(e, EINVAL, "%s: a quote is not closed", what);
		if (w->count == SPLIT_WORDS_MAX)
			return err_say(e, E2BIG, "%s: more than %d words", what,
				       SPLIT_WORDS_MAX);
		w->words[w->count++] = memory_string(text_string(&word));
	}
	return w->count ? 0 : err_say(e, EINVAL, "%s: there is no word in it", what);
}

void split_free(struct split *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->words[i]);
	w->count = 0;
}
