/* SPDX-License-Identifier: MIT */
/*
 * judge.c - what came of a run: the probe's own last word, the launcher's, or the scene's
 */
#include "tests/escape/scene.h"

static const char *last_line(char *text)
{
	size_t n = strlen(text);
	char *line;

	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	return line ? line + 1 : text;
}

/* the verdict of the report, "" without one */
static void verdict_of(const struct run *r, char *verdict, size_t size)
{
	const char *at = strstr(r->report, "\"verdict\":\"");

	verdict[0] = '\0';
	if (at)
		(void)snprintf(verdict, size, "%.*s", (int)strcspn(at + 11, "\""),
			       at + 11);
}

/* a kill at a hard limit of the kernel's is one, too */
static bool is_limit(const char *verdict, int status)
{
	static const char *const limits[] = { "memory",      "pids",         "disk",
					      "cpu-timeout", "wall-timeout", "output",
					      "file-locks" };

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (strcmp(verdict, limits[i]) == 0)
			return true;
	return strcmp(verdict, "signaled") == 0 &&
	       (status == 128 + SIGKILL || status == 128 + SIGXCPU);
}

static const char *judge_status(int status, const char *line, char *answer, size_t size)
{
	(void)snprintf(answer, size, "%s", *line ? line : "-");
	if (status == OPENED)
		return "open";
	if (status == HELD)
		return "held";
	if (status == LACKS)
		return "skip";
	(void)snprintf(answer, size, "status %d%s%s", status, *line ? ": " : "", line);
	return "failed";
}

static const char *judge_outside(struct run *r, char *answer, size_t size)
{
	if (WIFSIGNALED(r->status)) {
		(void)snprintf(answer, size, "ended by signal %d", WTERMSIG(r->status));
		return "failed";
	}
	return judge_status(WEXITSTATUS(r->status), last_line(r->text), answer, size);
}

static const char *judge_inside(struct run *r, char *answer, size_t size)
{
	char verdict[32];
	int code = WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1;

	verdict_of(r, verdict, sizeof(verdict));
	if (strcmp(verdict, "launcher-error") == 0 || !verdict[0]) {
		const char *line = last_line(r->errors);
		bool refused = r->probe->flags & REFUSED && strstr(line, r->probe->data);

		r->refused = true;
		(void)snprintf(answer, size, "launcher: %s",
			       strncmp(line, "stepjail: ", 10) == 0 ? line + 10 : line);
		if (strstr(line, "is given twice")) {
			(void)snprintf(answer, size, "your own option is in the way: %s",
				       line + (strncmp(line, "stepjail: ", 10) ? 0 : 10));
			return "skip";
		}
		return refused ? "held" : "failed";
	}
	if (strcmp(verdict, "violation") == 0 ||
	    (is_limit(verdict, code) && (r->probe->flags & LIMITED))) {
		(void)snprintf(answer, size, "verdict %s", verdict);
		return "held";
	}
	if (strcmp(verdict, "exited") != 0 && strcmp(verdict, "completed") != 0) {
		(void)snprintf(answer, size, "verdict %s, status %d", verdict, code);
		return "failed";
	}
	return judge_status(code, last_line(r->text), answer, size);
}

const char *judge_run(struct run *r, char *answer, size_t size)
{
	const struct scene *scene = r->probe->scene;
	const char *result;
	int effect;

	if (r->missing) {
		(void)snprintf(answer, size, "needs %s", r->missing);
		return "skip";
	}
	if (r->timed_out) {
		(void)snprintf(answer, size, "no end in time");
		return "failed";
	}
	result = r->inside ? judge_inside(r, answer, size)
			   : judge_outside(r, answer, size);
	if (!scene || !scene->effect || strcmp(result, "skip") == 0 || r->refused)
		return result;
	effect = scene->effect(r);
	if (r->missing) {
		(void)snprintf(answer, size, "needs %s", r->missing);
		return "skip";
	}
	if (effect < 0)
		return result;
	if (effect > 0)
		(void)snprintf(answer, size, "seen by its effect");
	else if (r->probe->walls & W(REPORT) && strcmp(result, "failed") == 0)
		(void)snprintf(answer, size, "the report has it right");
	else if (strcmp(answer, "-") == 0)
		(void)snprintf(answer, size, "no effect");
	return effect ? "open" : "held";
}
