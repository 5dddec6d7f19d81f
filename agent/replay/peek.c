/* SPDX-License-Identifier: MIT */
/*
 * peek.c - what a stranger's transcript says of its jails: see peek.h
 */
#include <limits.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "agent/base/memory.h"
#include "agent/base/path.h"
#include "agent/record/read_transcript.h"
#include "agent/record/record.h"
#include "agent/replay/peek.h"
#include "init/io.h"

#define WORDS_MAX 1024 /* two lists of at most 256, and what comes once */

#define ROW(kind, field) OPT_ROW(PLAIN, kind, struct peek, field)

static const struct opt rows[] = {
	{ "rootfs", "NAME", ROW(TEXT, jail.rootfs) },
	{ "step-time", "TIME", .min = 100, .max = 24 * HOUR_MS, ROW(TIME, jail.step_ms) },
	{ "file", "SHA256:PATH", ROW(LIST, jail.files) },
	{ "test", "SHA256:PATH", ROW(LIST, tests) },
	{ "skills", "SHA256:PATH", ROW(TEXT, skills) },
	{ "stateless", ROW(FLAG, stateless) },
	{ "out", ROW(FLAG, out) },
	{ "repl", ROW(FLAG, repl) },
	{ .name = NULL },
};

/* whose table the words of a transcript are options of */
static const struct command solve = {
	.name = "solve",
	OPT_PARTS({ rows, 0 }, { pass_opts, offsetof(struct peek, jail) }),
};

/* what both share; the parent looks at it when the child has ended */
struct said {
	size_t length;
	char bytes[PEEK_BYTES];
};

/* ---- the child */

/* a word, with the NUL behind it */
#define ADD(words, ...) (text_printf(words, __VA_ARGS__), text_add(words, "", 1))

static void add_files(struct text *words, const char *option, const cJSON *list)
{
	for (const cJSON *file = json_first(list); file; file = file->next) {
		const char *name = json_text(file, "name");
		const char *path =
			json_get(file, "path") ? json_text(file, "path") : name;

		/* named in the jail as it was outside, or no path counts */
		ADD(words, "--%s=%s:%s", option, json_text(file, "sha256"),
		    strcmp(path_last(path), name) == 0 ? path : "");
	}
}

/* for whoever runs it again to say: what a host lacks, or gives away */
static bool is_of_host(const char *name)
{
	for (const struct opt *o = host_opts; o->name; o++)
		if (o->kind == OPT_PASS && strcmp(o->name, name) == 0)
			return true;
	return false;
}

void peek_words(const cJSON *start, struct text *words)
{
	const cJSON *jail = json_get(start, "inputs");
	const cJSON *skills = json_get(jail, "skills");
	const cJSON *one = NULL;

	ADD(words, "--step-time=%.0fms", cJSON_GetNumberValue(json_get(jail, "step_ms")));
	ADD(words, "--rootfs=%s", json_text(jail, "rootfs"));
	cJSON_ArrayForEach(one, json_get(jail, "options"))
	{
		const char *name = one->string ? one->string : "";

		if (!is_of_host(name))
			ADD(words, "--%s=%s", name,
			    cJSON_IsString(one) ? one->valuestring : "");
	}
	add_files(words, "file", json_get(jail, "files"));
	add_files(words, "test", json_get(jail, "tests"));
	if (skills)
		ADD(words, "--skills=%s:%s", json_text(skills, "sha256"),
		    json_text(skills, "dir"));
	if (cJSON_IsTrue(json_get(jail, "stateless")))
		ADD(words, "--stateless");
	if (cJSON_IsTrue(json_get(jail, "out")))
		ADD(words, "--out");
	if (strcmp(json_text(start, "command"), "repl") == 0)
		ADD(words, "--repl");
}

static int take_line(void *arg, const char *event, const cJSON *line, struct err *e)
{
	struct text *words = arg;

	if (strcmp(event, "start") == 0)
		peek_words(line, words);
	return text_check(words, "what the transcript says of its jails", e);
}

static int look(int fd, const char *path, struct text *words, struct err *e)
{
	const struct confine_policy nothing = { 0 };
	struct confine_facts facts;
	struct read_transcript reading = { .steps = 0 };
	cleanup_text struct text why = { 0 };
	int r = confine_self(&nothing, &facts, e);

	if (r == 0)
		r = read_transcript_run(fd, take_line, words, &reading, e);
	if (r < 0 || reading.end != READ_TRANSCRIPT_CHANGED)
		return r;
	read_transcript_words(&reading, path, &why);
	return err_say(e, EBADMSG, "%s; only what was recorded is run again",
		       text_string(&why));
}

/* exit status 0 with arguments, 1 with what is wrong */
__attribute__((noreturn)) static void be_child(int fd, const char *path, pid_t parent,
					       struct said *said)
{
	cleanup_text struct text words = { .max = PEEK_BYTES };
	struct err e = { 0 };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent ||
	    dup2(fd, 0) < 0 || close_range(1, UINT_MAX, 0) < 0)
		_exit(125);

	int r = look(0, path, &words, &e);

	said->length = r < 0 ? sizeof(e.text) : words.length;
	memcpy(said->bytes, r < 0 ? e.text : text_string(&words), said->length);
	_exit(r < 0);
}

/* ---- its parent */

static bool good_file(const char *item)
{
	const char *path = item + PEEK_DIGEST + 1;

	return strnlen(item, PEEK_DIGEST + 2) > PEEK_DIGEST + 1 && path[-1] == ':' &&
	       strlen(path) < PATH_MAX && (*path == '/' || !strchr(path, '/'));
}

int peek_take(struct peek *p, const char *words, size_t length, struct err *e)
{
	const struct opt_list *lists[] = { &p->jail.files, &p->tests };
	char *argv[WORDS_MAX + 1] = { NULL };
	size_t count = 0;
	const char *operand;
	enum opt_help help = OPT_HELP_NO;

	for (size_t at = 0; at < length && count < WORDS_MAX;
	     at += strlen(words + at) + 1)
		argv[count++] = (char *)(uintptr_t)words + at;

	int r = options_parse(&solve, argv, p, &operand, &help, e);

	if (r == 0 && (help || !p->jail.rootfs || !p->jail.step_ms ||
		       count == WORDS_MAX || (p->skills && !good_file(p->skills))))
		r = err_say(e, EBADMSG, "an option is missing, or there are too many");
	for (size_t i = 0; i < COUNT(lists); i++)
		for (size_t k = 0; r == 0 && k < lists[i]->count; k++)
			if (!good_file(lists[i]->items[k]))
				r = err_say(e, EBADMSG, "the list of files is invalid");
	return r < 0 ? err_within(
			       e,
			       "the transcript does not say what its jails were made with: ")
		     : 0;
}

/* @status is waitpid(2)'s */
static int take_said(struct peek *p, const struct said *said, int status, struct err *e)
{
	if (!WIFEXITED(status) || WEXITSTATUS(status) > 1 ||
	    said->length > sizeof(said->bytes) ||
	    (said->length && said->bytes[said->length - 1]))
		return err_say(e, EBADMSG,
			       "the process that reads the transcript has died");
	if (WEXITSTATUS(status))
		return err_say(e, EBADMSG, "%s", said->bytes);
	return said->length ? peek_take(p, said->bytes, said->length, e) : 0;
}

int peek_run(int fd, const char *path, struct stop *stop, struct peek *p, struct err *e)
{
	struct said *said = mmap(NULL, sizeof(*said), PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t parent = getpid();
	struct child child;

	*p = (struct peek){ 0 };
	if (said == MAP_FAILED)
		return err_set(e, errno, "mmap");
	child.pid = fork();
	if (child.pid == 0)
		be_child(fd, path, parent, said);
	child.pidfd = child.pid < 0 ? -1 : pidfd_open(child.pid, 0);
	if (child.pidfd < 0) {
		(void)err_set(e, errno, "start a process that reads the transcript");
		(void)launch_end(&child, 0);
		return -e->errnum;
	}
	if (stop_wait(stop, child.pidfd, POLLIN, UINT64_MAX) < 0)
		(void)kill(child.pid, SIGKILL);

	int status = launch_end(&child, 0);

	if (stop->signal)
		return err_say(e, EINTR, "stopped by a signal");
	return take_said(p, said, status, e);
}
