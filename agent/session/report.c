/* SPDX-License-Identifier: MIT */
/*
 * report.c - what stepjail says of runs, steps and requests: see report.h
 */
#include <stdio.h>

#include "agent/base/escape.h"
#include "agent/session/report.h"

#define REFUSED_TOLD 8 /* kinds of calls in a line */

/* an exit code or a signal */
static int small_number(const cJSON *root, const char *name, int none)
{
	uint32_t n;

	return json_u32(root, name, &n) && n <= 255 ? (int)n : none;
}

/* the name of a system call, else "": it goes into words for the model */
static const char *syscall_name(const cJSON *object, const char *member)
{
	const char *word = json_text(object, member);
	size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");

	return !word[length] && length < SYSCALL_BYTES ? word : "";
}

static bool read_ending(const cJSON *root, struct verdict_facts *facts)
{
	if (!verdict_find(json_text(root, "verdict"), &facts->verdict))
		return false;
	facts->code = small_number(root, "exit_code", -1);
	facts->signal = small_number(root, "signal", 0);
	(void)snprintf(facts->syscall, sizeof(facts->syscall), "%s",
		       syscall_name(root, "violation"));
	return true;
}

/* a count of the kernel's; 0 where there is none, as for null */
static uint64_t number(const cJSON *object, const char *name, uint64_t most)
{
	double n =
		cJSON_GetNumberValue(json_get(object, name)); /* NaN where it is none */

	return n >= (double)most ? most : n > 0 ? (uint64_t)n : 0;
}

static void take_words(const char *from, char *words, size_t size)
{
	cleanup_text struct text shown = { 0 };

	escape_line(&shown, from, strlen(from));
	(void)snprintf(words, size, "%s", text_string(&shown));
	/* it may be told to a model: plain ASCII, and a cut leaves no half character */
	for (char *c = words; *c; c++)
		if ((unsigned char)*c < ' ' || (unsigned char)*c >= 0x7f)
			*c = '?';
}

bool report_says(const cJSON *root, const char *name, const char *word)
{
	return strcmp(json_text(root, name), word) == 0;
}

void report_words(const cJSON *root, char *words, size_t size)
{
	const char *error = json_string(root, "error");

	take_words(error ? error : json_text(root, "reason"), words, size);
	if (report_says(root, "kind", "file")) {
		const char *cause = strstr(words, ": ");

		if (cause)
			memmove(words, cause + 2, strlen(cause + 2) + 1);
	}
}

static void take_shared(const cJSON *list, bool *shared)
{
	static const char *const names[SHARED_COUNT] = {
		[SHARED_MEMORY] = "shared-memory",
		[SHARED_OFFSETS] = "file-offsets",
	};

	for (const cJSON *one = json_first(list); one; one = one->next) {
		const char *word = cJSON_GetStringValue(one);

		for (int i = 0; word && i < SHARED_COUNT; i++)
			shared[i] |= strcmp(word, names[i]) == 0;
	}
}

/* "--pids 32", or "perhaps the limit --memory 64M" where it is a hint */
static void take_limits(const cJSON *list, struct verdict_facts *f)
{
	cleanup_text struct text words = { 0 };

	for (const cJSON *one = json_first(list); one; one = one->next)
		text_printf(&words, "%s%s %s",
			    words.length                          ? " or "
			    : cJSON_IsTrue(json_get(one, "sure")) ? ""
								  : "perhaps the limit ",
			    json_text(one, "option"), json_text(one, "value"));
	take_words(text_string(&words), f->limit, sizeof(f->limit));
}

static const char *hint_for(const char *syscall)
{
	static const char *const locked[] = { "execve", "execveat", "mmap", "mprotect",
					      "pkey_mprotect" };

	for (size_t i = 0; i < COUNT(locked); i++)
		if (strcmp(locked[i], syscall) == 0)
			return "--lock-code=no allows it";
	return "stepjail run --learn says whether a policy may allow it";
}

bool report_refused(const cJSON *violations, bool killed, struct text *out)
{
	const cJSON *kind = json_first(json_get(violations, "list"));
	const char *hint = NULL;
	int told = 0;

	for (; kind; kind = kind->next) {
		const char *name = syscall_name(kind, "syscall");

		name = *name ? name : "unknown";
		if (!cJSON_IsTrue(json_get(kind, "violation")) || ++told > REFUSED_TOLD)
			continue;
		text_printf(out, "%s %s x%.0f",
			    told > 1 ? ","
			    : killed ? "killed: --on-violation kill:"
				     : "refused:",
			    name, cJSON_GetNumberValue(json_get(kind, "count")));
		hint = hint ? hint : hint_for(name);
	}
	if (told > REFUSED_TOLD)
		text_printf(out, " and %d more", told - REFUSED_TOLD);
	if (told && !killed)
		text_printf(out, " (%s)", hint);
	return told > 0;
}

void report_not_enforced(const cJSON *opened, struct text *out)
{
	const cJSON *wall = json_first(json_get(opened, "not_enforced"));
	const char *before = "stepjail-agent: warning: not enforced on this host: ";

	for (; wall; wall = wall->next) {
		const char *words = cJSON_IsString(wall) ? wall->valuestring : "";

		text_puts(out, before);
		escape_line(out, words, strcspn(words, ":"));
		before = ", ";
	}
}

/* what stepjail did not send of a stream: how much, and its last bytes */
static void take_cut(const cJSON *output, const char *cut_name, const char *tail_name,
		     struct clip *clip)
{
	const char *tail = json_text(output, tail_name);
	uint64_t cut = number(output, cut_name, (uint64_t)1 << 52);
	size_t length = strlen(tail);

	/* bytes that are no UTF-8 are three in there, so it may be longer than it was */
	if (cut)
		clip_resume(clip, cut > length ? cut - length : 0, tail, length);
}

bool report_step(const cJSON *root, struct step *step)
{
	struct verdict_facts f = { .limit_ms = step->facts.limit_ms };
	const cJSON *output = json_get(root, "output");

	if (!read_ending(root, &f) || !state_find(json_text(root, "state"), &f.state))
		return false;
	f.headed = json_u32(root, "state_number", &f.head);
	/* a limit that the code lived to see was kept by an interrupt */
	f.soft = f.state == STATE_KEPT;
	take_shared(json_get(root, "not_rolled_back"), f.shared);
	take_limits(json_get(root, "limits"), &f);
	take_words(json_text(root, "reason"), f.reason, sizeof(f.reason));
	step->facts = f;
	step->cpu_ms = number(root, "cpu_ms", UINT32_MAX);
	step->memory_peak_bytes = number(root, "memory_peak_bytes", (uint64_t)1 << 52);
	/* threads stay, and go on with the next step */
	step->strays = (uint32_t)number(root, "strays", INT32_MAX);
	take_cut(output, "stdout_cut", "stdout_tail", &step->out);
	take_cut(output, "stderr_cut", "stderr_tail", &step->err);
	return true;
}
