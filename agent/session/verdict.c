/* SPDX-License-Identifier: MIT */
/*
 * verdict.c - how a step or a jail ended, in words: see verdict.h
 */

#include "agent/base/escape.h"
#include "agent/base/units.h"
#include "agent/session/verdict.h"

/* how a step fared that came to a limit or a wall; the second where that was enough */
enum fate { FATE_NONE, FATE_ENDED, FATE_FAILED };
static const char *const fates[][2] = {
	[FATE_NONE] = { "", "" },
	[FATE_ENDED] = { "the step was killed", "the step was interrupted" },
	[FATE_FAILED] = { "the step was killed", "the step failed" },
};

/* behind @words is what is known of it: see add_known() */
static const struct {
	const char *name;
	enum fate fate;
	const char *words, *behind;
} rows[VERDICT_COUNT] = {
	[VERDICT_COMPLETED] = { "completed", FATE_NONE, "the code ran to its end", "" },
	[VERDICT_EXCEPTION] = { "exception", FATE_NONE, "the code raised an exception",
				"" },
	[VERDICT_EXITED] = { "exited", FATE_NONE,
			     "the code ended its process with exit status ", "" },
	[VERDICT_SIGNALED] = { "signaled", FATE_NONE, "the step's process was ended by ",
			       "" },
	[VERDICT_WALL_TIMEOUT] = { "wall-timeout", FATE_ENDED, " after ", ")" },
	[VERDICT_CPU_TIMEOUT] = { "cpu-timeout", FATE_ENDED, ": it used up its CPU time",
				  "" },
	[VERDICT_MEMORY] = { "memory", FATE_FAILED, ": it used more memory than it may",
			     "; work on less data at a time" },
	[VERDICT_PIDS] = { "pids", FATE_FAILED,
			   ": it started more processes or threads than it may", "" },
	[VERDICT_DISK] = { "disk", FATE_FAILED, ": it wrote more than the disk may hold",
			   "" },
	[VERDICT_FILE_LOCKS] = { "file-locks", FATE_FAILED, ": too many file locks", "" },
	[VERDICT_VIOLATION] = { "violation", FATE_FAILED,
				": it tried a system call that is forbidden here",
				"; find another way" },
	[VERDICT_CANCELLED] = { "cancelled", FATE_NONE, "the step was ended from outside",
				"" },
	[VERDICT_LAUNCHER_ERROR] = { "launcher-error", FATE_NONE,
				     "the sandbox itself failed, through no fault of the code",
				     "" },
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

/* what is in it, and which limit that was, where it is known */
static void add_known(const struct verdict_facts *f, struct text *out)
{
	cleanup_text struct text quoted = { 0 };
	const char *word = f->verdict == VERDICT_VIOLATION ? f->syscall : f->limit;

	if (f->verdict == VERDICT_LAUNCHER_ERROR && f->reason[0]) {
		/* stepjail's words, which may quote the jail's */
		escape_name(&quoted, f->reason, strlen(f->reason));
		word = text_string(&quoted);
	}
	if (f->verdict == VERDICT_EXITED)
		text_printf(out, "%d", f->code);
	if (f->verdict == VERDICT_SIGNALED)
		add_signal(f->signal, out);
	if (f->verdict == VERDICT_WALL_TIMEOUT)
		text_printf(out, "%s (wall-clock limit%s%s",
			    units_say_time(f->limit_ms).text, *word ? ": " : "", word);
	else if (*word)
		text_printf(out, " (%s)", word);
}

void verdict_cause(const struct verdict_facts *f, struct text *out)
{
	text_puts(out, fates[rows[f->verdict].fate][f->soft]);
	text_puts(out, rows[f->verdict].words);
	add_known(f, out);
	text_puts(out, rows[f->verdict].behind);
}

void verdict_words(const struct verdict_facts *f, struct text *out)
{
	bool kept = f->state == STATE_KEPT || f->state == STATE_UNKEPT;

	verdict_cause(f, out);
	if (f->verdict != VERDICT_COMPLETED || !kept)
		text_printf(out, "; %s", states[f->state].words);
	for (int i = 0; f->state == STATE_ROLLED_BACK && i < SHARED_COUNT; i++)
		if (f->shared[i])
			text_puts(out, shared_words[i]);
	text_puts(out, ".");
}
