/* SPDX-License-Identifier: MIT */
/*
 * think.h - a model's thinking in its reply: neither code nor answer
 *
 * What is thinking
 *   - <think>, <thinking> or <reasoning> (in any case) up to the first closing tag of
 *     that name; without one, all the rest of the reply.
 *   - All that stands before a closing tag that nothing opened: where the opening tag was
 *     the end of the prompt, servers send the rest alone.
 *
 * Only a tag outside of code blocks is one: in a block it is code or an example. A tag
 * right between backticks is a word about it. One closing tag counts in a block of code
 * too: that at the start of a line, which no line of the block opened. Then the block
 * was a draft that was never closed, and all up to the last closing tag at the
 * start of a line is thinking.
 *
 * Where it is in doubt, more is thinking, and less is run.
 */
#pragma once

#include "agent/model/reply.h"

/**
 * think_split() - Move the thinking in a reply's text behind its reasoning
 *
 * What is left begins at its first line that is not blank. In time linear in the text.
 *
 * Return: 0, -ENOMEM, or -E2BIG where text and reasoning together are too long
 */
int think_split(struct reply *r, struct err *e);
