/* SPDX-License-Identifier: MIT */
/*
 * verdict.c - how a step or a jail ended, in words: see verdict.h
 */
#include <string.h>

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/session/verdict.h"

/* {time}, {stopped}, {failed}, {code}, {signal}, {syscall}, {reason}, and {limit} or
 * {by}, which name the option, are filled in from the facts */
static const struct {
	const char *name;
	const char *words;
} rows[VERDICT_COUNT] = {
	[VERDICT_COMPLETED] = { "completed", "the code ran to its end" },
	[VERDICT_EXCEPTION] = { "exception", "the code raised an exception" },
	[VERDICT_EXITED] = { "exited",
			     "the code ended its process with exit status {code}" },
	[VERDICT_SIGNALED] = { "signaled", "the step's process was ended by {signal}" },
	[VERDICT_WALL_TIMEOUT] = { "wall-timeout",
				   "the step was {stopped} after {time} (wall-clock limit{limit})" },
	[VERDICT_CPU_TIMEOUT] = { "cpu-timeout",
				  "the step was {stopped}: it used up its CPU time{by}" },
	[VERDICT_MEMORY] = { "memory",
			     "the step {failed}: it used more memory than it may{by}; work on less data at a time" },
	[VERDICT_PIDS] = { "pids",
			   "the step {failed}: it started more processes or threads than it may{by}" },
	[VERDICT_DISK] = { "disk",
			   "the step {failed}: it wrote more than the disk may hold{by}" },
	[VERDICT_VIOLATION] = { "violation",
				"the step {failed}: it tried a system call that is forbidden here{syscall}; find another way" },
	[VERDICT_CANCELLED] = { "cancelled", "the step was ended from outside" },
	[VERDICT_LAUNCHER_ERROR] = { "launcher-error",
				     "the sandbox itself failed, through no fault of the code{reason}" },
};

static const struct {
	const char *name;
	const char *words;
} states[STATE_COUNT] = {
	[STATE_KEPT] = { "kept", "all variables are kept" },
	[STATE_ROLLED_BACK] = { "rolled-back",
				"it was rolled back: all variables are as they were before this step; files that it wrote are kept" },
	[STATE_LOST] = { "lost",
			 "the whole sandbox was restarted: all variables are lost, and so are the files written to /work and /tmp; the files in /work/in are there again" },
	[STATE_UNKEPT] = { "not-kept", "the next step begins in a fresh sandbox" },
};

static const char *const shared_words[SHARED_COUNT] = {
	[SHARED_MEMORY] = "; what it wrote to shared memory (mmap) is not undone",
	[SHARED_OFFSETS] = "; positions in open files are where it left them",
};

const char *verdict_name(enum verdict v)
{
	return rows[v].name;
}

bool verdict_find(const char *name, enum verdict *v)
{
	for (size_t i = 0; i < VERDICT_COUNT; i++)
		if (strcmp(rows[i].name, name) == 0) {
			*v = (enum verdict)i;
			return true;
		}
	return false;
}

const char *state_name(enum state s)
{
	return states[s].name;
}

bool state_find(const char *name, enum state *s)
{
	/* the last one is the agent's own */
	for (size_t i = 0; i < STATE_UNKEPT; i++)
		if (strcmp(states[i].name, name) == 0) {
			*s = (enum state)i;
			return true;
		}
	return false;
}

static void add_signal(int signal, struct text *out)
{
	const char *name = sigabbrev_np(signal);

	text_printf(out, "signal %d", signal);
	if (name)
		text_printf(out, " (SIG%s)", name);
	if (signal == 9)
		text_puts(out, ", sent by the code itself or because memory ran out");
	if (signal == 11)
		text_puts(out, ", a crash in native code or too deep a recursion");
}

/* stepjail's words, which may quote the jail's */
static void add_reason(const char *reason, struct text *out)
{
	if (!reason[0])
		return;
	text_puts(out, " (");
	escape_name(out, reason, strlen(reason));
	text_puts(out, ")");
}

/* with what stands around it, where there is one */
static void add_some(const char *before, const char *words, const char *behind,
		     struct text *out)
{
	if (words[0])
		text_printf(out, "%s%s%s", before, words, behind);
}

static void add_field(const struct verdict_facts *f, const char *field, struct text *out)
{
	char time[32];

	if (strncmp(field, "{time}", 6) == 0)
		text_puts(out, units_say_time(f->limit_ms, time, sizeof(time)));
	else if (strncmp(field, "{stopped}", 9) == 0)
		text_puts(out, f->soft ? "interrupted" : "killed");
	else if (strncmp(field, "{failed}", 8) == 0)
		text_puts(out, f->soft ? "failed" : "was killed");
	else if (strncmp(field, "{reason}", 8) == 0)
		add_reason(f->reason, out);
	else if (strncmp(field, "{limit}", 7) == 0)
		add_some(": ", f->limit, "", out);
	else if (strncmp(field, "{by}", 4) == 0)
		add_some(" (", f->limit, ")", out);
	else if (strncmp(field, "{code}", 6) == 0)
		text_printf(out, "%d", f->code);
	else if (strncmp(field, "{signal}", 8) == 0)
		add_signal(f->signal, out);
	else
		add_some(" (", f->syscall, ")", out);
}

void verdict_cause(const struct verdict_facts *f, struct text *out)
{
	const char *words = rows[f->verdict].words;

	while (*words) {
		size_t plain = strcspn(words, "{");

		text_add(out, words, plain);
		words += plain;
		if (*words) {
			add_field(f, words, out);
			words += strcspn(words, "}") + 1;
		}
	}
}

static void add_state(const struct verdict_facts *f, struct text *out)
{
	text_printf(out, "; %s", states[f->state].words);
	for (int i = 0; f->state == STATE_ROLLED_BACK && i < SHARED_COUNT; i++)
		if (f->shared[i])
			text_puts(out, shared_words[i]);
	text_puts(out, ".");
}

void verdict_words(const struct verdict_facts *f, struct text *out)
{
	verdict_cause(f, out);
	if (f->verdict == VERDICT_COMPLETED &&
	    (f->state == STATE_KEPT || f->state == STATE_UNKEPT))
		text_puts(out, ".");
	else
		add_state(f, out);
}
