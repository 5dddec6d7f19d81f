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

/* limits whose end is a kill by stepjail or the kernel; VERDICT_DISK is told apart */
static const struct {
	enum verdict verdict;
	enum limit limit;
} limits[] = {
	{ VERDICT_WALL_TIMEOUT, LIMIT_WALL_MS },
	{ VERDICT_CPU_TIMEOUT, LIMIT_CPU_MS },
	{ VERDICT_MEMORY, LIMIT_MEMORY_BYTES },
	{ VERDICT_PIDS, LIMIT_PIDS },
};

static void tell_limit(const char *words, enum limit limit, const struct plan *p)
{
	char number[VALUE_TEXT_MAX];

	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].is_limit && option_rows[i].limit == limit)
			(void)fprintf(stderr, "stepjail: %s: --%s %s\n", words,
				      option_rows[i].name,
				      value_print(option_rows[i].kind, p->limit[limit],
						  number));
}

static void tell_disk(const struct outcome *o, const struct plan *p, int signal)
{
	if (signal == SIGXFSZ)
		tell_limit("killed: a file grew too large", LIMIT_FILE_BYTES, p);
	if (o->full > 0 && (o->full & TMPFS_USAGE_WORK))
		tell_limit("/work is full (or out of --inodes)", LIMIT_WORK_BYTES, p);
	if (o->full > 0 && (o->full & TMPFS_USAGE_TMP))
		tell_limit("/tmp is full (or out of --inodes)", LIMIT_TMP_BYTES, p);
}

static void tell_violations(const struct violations *v, bool killed, bool locked)
{
	const char *hint = "";

	for (unsigned int i = 0; i < v->kinds; i++) {
		const struct violation *k = &v->kind[i];
		const char *name = call_name(&k->first);

		if (!k->violation)
			continue;
		(void)fprintf(stderr, "%s %s x%" PRIu64,
			      hint[0]  ? ","
			      : killed ? "stepjail: killed: --on-violation kill:"
				       : "stepjail: refused:",
			      name ? name : "unknown", k->count);
		if (killed)
			hint = "\n";
		else if (!hint[0])
			hint = locked && name && violation_is_locked(name)
				       ? " (--lock-code=no allows it)\n"
				       : " (--learn shows what would allow it)\n";
	}
	(void)fputs(hint, stderr);
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

/* was it the leaf's own limit? Else one above it was reached: the kernel tells no more */
static bool is_own(const struct outcome *o, const struct judgement *j,
		   const struct plan *p)
{
	if (!o->cgroup)
		return true;
	return j->verdict == VERDICT_MEMORY ? o->usage.ooms > 0
	       : j->verdict == VERDICT_PIDS ? o->usage.pids_peak > p->limit[LIMIT_PIDS]
					    : true;
}

void run_tell(const struct outcome *o, const struct judgement *j, const struct plan *p)
{
	bool pids = j->verdict == VERDICT_PIDS, own = is_own(o, j, p);
	const char *words = pids                ? "a process or thread was refused"
			    : j->exit_code >= 0 ? "a process of it was killed"
						: "killed";

	for (size_t i = 0; own && i < COUNT(limits); i++)
		if (limits[i].verdict == j->verdict)
			tell_limit(words, limits[i].limit, p);
	if (!own)
		(void)fprintf(
			stderr,
			"stepjail: %s: --total-%s, or a limit of the host: its own --%s was not reached\n",
			words, pids ? "pids" : "memory", pids ? "pids" : "memory");
	if (j->verdict == VERDICT_DISK)
		tell_disk(o, p, j->signal);
	if (o->copied)
		tell_copied(&o->out, p->out);
	egress_tell(o->egress);
	if (p->learn == ANSWER_NO)
		tell_violations(&o->refused, j->verdict == VERDICT_VIOLATION,
				p->lock_code == LOCK_YES);
}
