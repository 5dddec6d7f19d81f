/* SPDX-License-Identifier: MIT */
/*
 * modes.c - ways of working: see modes.h
 */
#include <errno.h>

#include "agent/loop/loop.h"
#include "agent/loop/modes.h"

static const struct mode modes[MODE_COUNT] = {
	[MODE_CODEACT] = {
		.name = "codeact",
		.begin = "",
		.ends = { "A reply without a code block is your final answer and ends the task. Give it as soon as you know it, in plain words.\n",
			  "A reply without a call is your final answer and ends the task, also where there is code in it. Give it as soon as you know it, in plain words.\n" },
	},
	[MODE_PROGRAM] = {
		.name = "program",
		.begin = "Write one program whose output is the answer: what it prints to stdout, and nothing else, is given to whoever asked. So let it compute the answer from what is there, and print only that.\n",
		.ends = { "When you are shown what it printed and that is the answer, reply with DONE and without a code block. The answer is then what the last program that ended with status 0 printed: your own words are never taken for it. Else send a better program.\n",
			  "When you are shown what it printed and that is the answer, reply with DONE and without a call. The answer is then what the last program that ended with status 0 printed: your own words are never taken for it. Else send a better program.\n" },
		.programs = true,
	},
	[MODE_TESTS] = {
		.name = "tests",
		.begin = "",
		.ends = { "A reply without a code block says that your files are ready: the tests are run then. The task ends when they pass; else you are told what failed.\n",
			  "A reply without a call says that your files are ready: the tests are run then. The task ends when they pass; else you are told what failed.\n" },
	},
};

const struct mode *mode_find(uint64_t kind)
{
	return &modes[kind < MODE_COUNT ? kind : MODE_CODEACT];
}

int mode_plan(struct mode_state *w, const struct mode_options *o, bool *stateless,
	      struct jail_binds *b, struct err *e)
{
	const struct mode *mode = mode_find(o->mode);

	w->mode = mode;
	w->printed.max = MODE_OUTPUT_MAX;
	if (o->tests.count && o->mode != MODE_TESTS)
		return err_say(e, EINVAL, "--tests belongs to --mode tests, not to %s",
			       mode->name);
	if (o->mode == MODE_TESTS && !o->tests.count)
		return err_say(e, EINVAL, "--mode tests needs --tests FILE");
	if (*stateless && o->mode == MODE_TESTS)
		return err_say(
			e, EINVAL,
			"--mode tests works with files that stay from step to step: leave out --stateless");
	*stateless = *stateless || mode->programs;
	return tests_open(&w->tests, &o->tests, b, e);
}

void mode_heard(void *arg, uint16_t type, const void *bytes, size_t length)
{
	struct mode_state *w = arg;

	if (type == SESSION_OUT)
		text_add(&w->printed, bytes, length);
}

void mode_free(struct mode_state *w)
{
	tests_close(&w->tests);
	text_free(&w->printed);
	text_free(&w->output);
}
