/* SPDX-License-Identifier: MIT */
/*
 * modes.c - ways of working: see modes.h
 */
#include <errno.h>

#include "agent/base/utf8.h"
#include "agent/loop/loop.h"
#include "agent/loop/modes.h"
#include "agent/model/fence.h"

const struct mode mode_rows[MODE_COUNT] = {
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

const struct opt mode_opts[] = {
	{ "mode", NULL, "codeact",
	  "How the model works. codeact: steps in one interpreter, until a reply without code. program: the answer is what one program prints. tests: the task is done when --tests pass.",
	  OPT_COMMON(JUDGING, CHOICE, struct mode_options, mode),
	  .choices = { "codeact", "program", "tests" } },
	{ "tests", "FILE", NULL,
	  "The answer counts when the tests in this file pass in a fresh jail: unittest, pytest with --rootfs data, or plain cases (.json, .jsonl), which the model cannot read. May be given again.",
	  OPT_COMMON(JUDGING, LIST, struct mode_options, tests) },
	{ .name = NULL },
};

int mode_plan(struct mode_state *w, const struct mode_options *o, struct session_plan *p,
	      struct err *e)
{
	const struct mode *mode = &mode_rows[o->mode];

	w->mode = mode;
	w->printed.max = MODE_OUTPUT_MAX;
	if (o->tests.count && o->mode != MODE_TESTS)
		return err_say(e, EINVAL, "--tests belongs to --mode tests, not to %s",
			       mode->name);
	if (o->mode == MODE_TESTS && !o->tests.count)
		return err_say(e, EINVAL, "--mode tests needs --tests FILE");
	if (p->stateless && o->mode == MODE_TESTS)
		return err_say(
			e, EINVAL,
			"--mode tests works with files that stay from step to step: leave out --stateless");
	p->stateless = p->stateless || mode->programs;
	p->output_limit = mode->programs ? MODE_OUTPUT_LIMIT : NULL;
	return tests_open(&w->tests, &o->tests, p->binds, e);
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

/* ---- program: no word of the model's is ever the answer. It is the whole stdout of the
 * last program that ended with status 0, byte for byte, and where that cannot be an
 * answer there is none */

/* why the output is no answer, or NULL */
static const char *unfit(const struct mode_state *w, const struct step *step)
{
	const struct text *out = &w->printed;

	if (!step->out.total ||
	    fence_blank((struct span){ text_string(out), out->length }))
		return "It printed nothing to stdout, so there is no answer yet: print it.\n";
	if (out->failed || out->length != step->out.total)
		return "It printed more than is taken, so what is there was cut off and is no answer: print less (1 MiB at the most).\n";
	if (!utf8_valid(out->bytes, out->length))
		return "What it printed is not UTF-8 text, so it is no answer: print text.\n";
	return NULL;
}

void program_ran(struct loop *l, struct text *observation)
{
	struct mode_state *w = &l->work;
	const struct verdict_facts *f = &l->step.facts;
	bool good = f->verdict == VERDICT_COMPLETED ||
		    (f->verdict == VERDICT_EXITED && f->code == 0);
	const char *why = good ? unfit(w, &l->step) : NULL;

	if (good)
		text_clear(&w->output);
	if (why)
		text_puts(observation, why);
	else if (good)
		text_puts(
			observation,
			"That is your answer if you reply with DONE and no code; if it is not right, send a better program.\n");
	else
		text_puts(
			observation,
			w->output.length
				? "So the answer would still be what the last program with status 0 printed.\n"
				: "So there is no answer yet.\n");
	if (good && !why)
		text_add(&w->output, w->printed.bytes, w->printed.length);
	text_free(&w->printed);
}

int program_claim(struct loop *l, struct text *answer)
{
	const struct text *output = &l->work.output;

	text_add(answer, output->bytes, output->length);
	if (!output->length)
		text_puts(
			&l->complaint,
			"No program of yours has ended with status 0 and printed an answer, and your own words are not taken for one: send a program that prints it.");
	return output->length > 0;
}
