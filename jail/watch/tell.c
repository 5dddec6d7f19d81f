/* SPDX-License-Identifier: MIT */
/*
 * tell.c - what a person is told of a run's end, on stderr: see run.h
 */
#include <signal.h>
#include <string.h>

#include "jail/egress/report.h"
#include "jail/plan/call.h"
#include "jail/plan/option_row.h"
#include "jail/watch/run.h"

/* of a limit that was met; what a run's end is called by it */
static const char *words_of(enum limit limit, const struct judgement *j)
{
	if (limit == LIMIT_PIDS)
		return "a process or thread was refused";
	if (limit == LIMIT_WORK_BYTES)
		return "/work is full (or out of --inodes)";
	if (limit == LIMIT_TMP_BYTES)
		return "/tmp is full (or out of --inodes)";
	if (limit == LIMIT_FILE_BYTES)
		return "killed: a file grew too large";
	return j->exit_code >= 0 ? "a process of it was killed" : "killed";
}

static void tell_limits(const struct outcome *o, const struct judgement *j,
			const struct plan *p)
{
	char number[VALUE_TEXT_MAX], peak[VALUE_TEXT_MAX] = "";

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		uint64_t bit = row->is_limit ? 1ULL << row->limit : 0;
		bool memory = row->limit == LIMIT_MEMORY_BYTES;

		if (!((j->met | j->near) & bit))
			continue;
		(void)value_print(row->kind, p->limit[row->limit], number);
		if (j->met & bit)
			(void)fprintf(stderr, "stepjail: %s: --%s %s\n",
				      words_of(row->limit, j), row->name, number);
		else
			(void)fprintf(
				stderr,
				"stepjail: hint: a limit may be the cause: it had %s of --%s %s\n",
				value_print(row->kind,
					    memory ? outcome_memory(o) >> 20 << 20
						   : o->peak.tasks,
					    peak),
				row->name, number);
	}
}

/* a signal that stepjail did not send, and that a shell would tell of */
static void tell_signal(const struct outcome *o, const struct judgement *j)
{
	char stack[VALUE_TEXT_MAX];

	if (j->verdict != VERDICT_SIGNALED || j->signal == SIGINT || j->signal == SIGPIPE)
		return;
	(void)fprintf(stderr, "stepjail: ended by signal %d (%s)", j->signal,
		      strsignal(j->signal));
	if (j->signal == SIGSEGV)
		(void)fprintf(
			stderr,
			": a fault of the program's, or its stack was full (ulimit -s of the caller: %s)",
			value_print(VALUE_SIZE, o->stack_bytes, stack));
	(void)fputc('\n', stderr);
}

static void tell_violations(const struct violations *v, bool killed, bool locked)
{
	bool any = false;

	for (unsigned int i = 0; i < v->kinds; i++) {
		const struct violation *k = &v->kind[i];
		const char *name = call_name(&k->first);

		if (!k->violation)
			continue;
		(void)fprintf(stderr, "%s %s x%" PRIu64,
			      any      ? ","
			      : killed ? "stepjail: killed: --on-violation kill:"
				       : "stepjail: refused:",
			      name ? name : "unknown", k->count);
		any = true;
	}
	if (any && !killed)
		(void)fprintf(stderr, " (%s)", violation_hint(v, locked));
	if (any)
		(void)fputc('\n', stderr);
}

static void tell_copied(const struct copied *c, const char *folder)
{
	(void)fprintf(stderr,
		      "stepjail: --out: files: %u, %" PRIu64 " bytes, in %.200s%s%s",
		      c->files, c->bytes, folder,
		      c->errnum ? "; not all could be written: " : "",
		      c->errnum ? strerror(c->errnum) : "");
	for (size_t i = 0, any = 0; i < COPY_LEFT_COUNT; i++)
		if (c->left[i])
			(void)fprintf(stderr, "%s%s: %u",
				      any++ ? ", " : "; left out: ", copy_words[i].words,
				      c->left[i]);
	(void)fputc('\n', stderr);
}

void run_tell(const struct outcome *o, const struct judgement *j, const struct plan *p)
{
	bool pids = j->verdict == VERDICT_PIDS;

	tell_signal(o, j);
	tell_limits(o, j, p);
	if ((pids || j->verdict == VERDICT_MEMORY) && !j->met)
		(void)fprintf(
			stderr,
			"stepjail: %s: --total-%s, or a limit of the host: its own --%s was not reached\n",
			words_of(pids ? LIMIT_PIDS : LIMIT_MEMORY_BYTES, j),
			pids ? "pids" : "memory", pids ? "pids" : "memory");
	if (o->copied)
		tell_copied(&o->out, p->out);
	egress_tell(o->egress);
	if (p->learn == ANSWER_NO)
		tell_violations(&o->refused, j->verdict == VERDICT_VIOLATION,
				p->lock_code == LOCK_YES);
}
