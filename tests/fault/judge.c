/* SPDX-License-Identifier: MIT */
/*
 * judge.c - is what became of a run what may become of it? See matrix.c for the demands
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/fault/fault.h"

/* lines of stderr that are no warning, nor of --learn, nor tell what ended the program or
 * was refused to it; the first is copied */
static int count_lines(const char *err, char *first, size_t size)
{
	int count = 0;

	*first = '\0';
	for (const char *at = err; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (strncmp(at, "stepjail: warning: ", 19) == 0 || *at == '#' ||
		    strncmp(at, "stepjail: refused: ", 19) == 0 ||
		    strncmp(at, "stepjail: killed: --", 20) == 0 ||
		    strncmp(at, "allow-syscall ", 14) == 0)
			continue;
		if (count++ == 0)
			(void)snprintf(first, size, "%.*s", (int)strcspn(at, "\n"), at);
	}
	return count;
}

static bool report_says(const char *report, const char *verdict, int status)
{
	char one[64], other[64];

	(void)snprintf(one, sizeof(one), "\"verdict\":\"%s\"", verdict);
	(void)snprintf(other, sizeof(other), "\"status\":%d,", status);
	return strstr(report, one) && strstr(report, other) &&
	       report[strlen(report) - 1] == '\n';
}

/* the one wall that may be missing, where the kernel says that it has none */
static bool is_without_landlock(const struct fault *f, const struct result *r,
				const char *report)
{
	return f && (f->errnum == ENOSYS || f->errnum == EOPNOTSUPP) &&
	       r->met.nr == SYS_landlock_create_ruleset &&
	       strcmp(r->out, "missing: Landlock\n") == 0 &&
	       strstr(report, "\"landlock\":null");
}

/* of the root tree: null, or what the scenario that asks for it has without a fault */
static bool digest_changed(const struct fault *f, const char *report)
{
	static char digest[80];
	const char *at = strstr(report, "\"root_sha256\":\"");

	if (at && !f)
		(void)snprintf(digest, sizeof(digest), "%.79s", at);
	return at && strncmp(at, digest, 79) != 0;
}

/* what of a report must be null, or small: a count that could not be read is not zero,
 * and these programs do not run for an hour */
static bool report_lies(const struct fault *f, const struct result *r, const char *report)
{
	static const struct {
		const char *call, *detail, *key; /* patterns of fnmatch(3) */
	} rows[] = {
		{ "openat", "*memory.events", "\"oom_kills\":null" },
		{ "openat", "*pids.events", "\"pids_refused\":null" },
		{ "openat", "*pids.peak", "\"pids_peak\":null" },
		{ "openat", "* memory.swap.max", "\"not_enforced\":[\"memory.swap.max" },
		{ "open", " /proc/N/root/*", "\"full\":null" },
		{ "fstatfs", " /", "\"full\":null" },
		{ "fstatfs", " /work", "\"full\":null" },
		{ "fstatfs", " /tmp", "\"full\":null" },
	};
	const char *cpu = strstr(report, "\"cpu_ms\":");
	const char *call = f ? call_name(r->met.nr) : "";

	if (cpu && strtoull(cpu + 9, NULL, 10) > 3600000)
		return true;
	/* the program ran: its walls were read back, and what was refused was told of */
	/* the plan's digest is null where there was no memory for its text */
	if (!strstr(report, "\"posture\":{\"plan_sha256\":") ||
	    !strstr(report, ",\"argv_sha256\":\"") ||
	    (*r->out && !strstr(report, "\"violation\":\"socket\"")))
		return true;
	if (digest_changed(f, report))
		return true;
	if (strstr(report, "\"output\":{") &&
	    !strstr(report, "\"stdout\":{\"bytes\":9,\"left_out\":0,"))
		return true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(call, rows[i].call) == 0 &&
		    fnmatch(rows[i].detail, r->met.detail, 0) == 0 &&
		    (r->met.late || rows[i].detail[0] != '*' ||
		     strstr(rows[i].detail, "swap")) &&
		    !strstr(report, rows[i].key))
			return true;
	return false;
}

/* --out's copier could not list /work/out: that is counted, but where it is not there */
static bool is_told_closed(const struct fault *f, const struct result *r,
			   const char *report)
{
	return strcmp(r->met.who, "copier") == 0 && r->met.late &&
	       (f->errnum == ENOENT || strstr(report, "\"closed\":1,"));
}

/* the run went on as if nothing had happened: may it, and did it end as it should? */
static const char *judge_untouched(const struct scenario *s, const struct fault *f,
				   const struct result *r, const char *report, int lines)
{
	/* on a busy machine its wall-time may be over before its exec */
	if (!r->ran && s->status != 124)
		return "the program did not run, and nobody says so";
	if (lines)
		return "a line of error, but a status of success";
	/* on a busy machine it may be killed at its wall-time before it has looked */
	if (strcmp(r->out, "standing\n") != 0 && !(s->status == 124 && !*r->out) &&
	    !is_without_landlock(f, r, report))
		return "a wall is missing, or the output";
	if (!report_says(report, s->verdict, s->status) || report_lies(f, r, report))
		return "the report says something else";
	if (strcmp(s->name, "learn") == 0 && !strstr(r->err, "\nallow-syscall semget\n"))
		return "what was refused is not learned";
	if (strcmp(s->name, "stray") == 0 && !strstr(report, "\"strays\":1"))
		return "the report does not tell of the stray";
	if (f && !call_harmless(&r->met, f->errnum) && !is_told_closed(f, r, report))
		return "no effect, and not known to be harmless";
	return NULL;
}

static const char *judge_refused(const struct scenario *s, const struct result *r,
				 const char *report, const char *line, int lines)
{
	/* captured output is written on behind the report */
	bool told = strstr(line, "the program ended with status") &&
		    report_says(report, s->verdict, s->status);

	if (lines != 1 || strncmp(line, "stepjail: ", 10) != 0)
		return "not exactly one line of error";
	if (*report && !told && !report_says(report, "launcher-error", 125))
		return "the report says something else";
	if (!r->ran)
		return *r->out ? "output of a program that never ran" : NULL;
	if (strncmp(r->out, "missing", 7) == 0)
		return "a wall is missing";
	if (!strstr(line, "the program"))
		return "the program ran, and the line does not say so";
	return NULL;
}

/* --out's copier failed when the program had ended: the report says so and why */
static const char *judge_copied(const struct scenario *s, const struct result *r,
				const char *report)
{
	const char *copied = strstr(report, "\"out\":{");
	const char *error = copied ? strstr(copied, "\"error\":\"") : NULL;

	if (!r->ran || strcmp(r->out, "standing\n") != 0)
		return "a wall is missing, or the output";
	if (!report_says(report, s->verdict, 123) || !error ||
	    error > strchr(copied, '}'))
		return "the report does not say why a copy failed";
	return NULL;
}

const char *judge_run(const struct scenario *s, const struct fault *f,
		      const struct result *r, const char *report)
{
	char line[600];
	int lines = count_lines(r->err, line, sizeof(line));
	int status = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;
	const char *what = f ? call_name(r->met.nr) : "";

	if (r->hung)
		return "it hung";
	if (*r->left)
		return "something is left behind";
	if (status < 0)
		return "a signal ended the launcher";
	if (*r->outside)
		return "a wall is missing as the host sees it";
	if (status == s->status)
		return judge_untouched(s, f, r, report, lines);
	if (status == 125 && f)
		return judge_refused(s, r, report, line, lines);
	if (status == 123 && f && strcmp(s->name, "out") == 0)
		return judge_copied(s, r, report);
	if ((status == 126 || status == 127) && strcmp(what, "execve") == 0 && !r->ran)
		return lines == 1 && report_says(report, "launcher-error", status)
			       ? NULL
			       : "not one line, or the report says something else";
	return "an exit status that nothing explains";
}
