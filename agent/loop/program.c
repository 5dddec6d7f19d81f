/* SPDX-License-Identifier: MIT */
/*
 * program.c - the way of working "program": the answer is what a program printed. See modes.h
 *
 * No word of the model's is ever the answer: it is the whole stdout of the last program
 * that ended with status 0, byte for byte, and where that cannot be an answer there is
 * none.
 */
#include "agent/base/utf8.h"
#include "agent/loop/loop.h"
#include "agent/model/fence.h"

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

int program_ran(struct loop *l, struct text *observation, struct err *e)
{
	struct mode_state *w = l->work;
	const struct verdict_facts *f = &l->step->facts;
	bool good = f->verdict == VERDICT_COMPLETED ||
		    (f->verdict == VERDICT_EXITED && f->code == 0);
	const char *why = good ? unfit(w, l->step) : NULL;

	(void)e;
	if (good && !why) {
		text_clear(&w->output);
		text_add(&w->output, w->printed.bytes, w->printed.length);
		why = "That is your answer if you reply with DONE and no code; if it is not right, send a better program.\n";
		w->has_output = true;
	} else if (good) {
		w->has_output = false;
	} else {
		why = w->has_output
			      ? "So the answer would still be what the last program with status 0 printed.\n"
			      : "So there is no answer yet.\n";
	}
	text_puts(observation, why);
	text_free(&w->printed);
	return text_check(&w->output, "what a program printed", e);
}

int program_claim(struct loop *l, struct text *answer)
{
	if (l->work->has_output) {
		text_add(answer, l->work->output.bytes, l->work->output.length);
		return 1;
	}
	text_puts(
		&l->complaint,
		"No program of yours has ended with status 0 and printed an answer, and your own words are not taken for one: send a program that prints it.");
	return 0;
}
