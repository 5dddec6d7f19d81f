/* SPDX-License-Identifier: MIT */
/*
 * matrix.c - every call of launcher and init fails once, with each plausible errno
 *
 * usage: matrix [--uid U --gid G] [--cgroup] [--part I/N] [--every K] [--seed S]
 *	[--only PATTERN] [--list] LAUNCHER TREE FOLDER
 *
 * FOLDER is filled with what the jails need. Each scenario first runs twice without a
 * fault, which tells its calls; then, for each call and errno, once with it. Demanded is:
 * the run ends with 125 and one line, the program never having run; or the program ran
 * behind every wall, and what failed is in harmless.c; or, for a call after the program's
 * start, 125 and one line that says so. Never a hang, a crash, or anything left behind.
 *
 * Prints a line for each breach, and the counts. --part runs the I-th of N parts, --every
 * every K-th case beginning at S modulo K.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fault/fault.h"

#define WORDS 48
/* a call that depends on timing may be missed now and then */
#define TRIES 4

#define TEXT_(number) #number
#define TEXT(number) TEXT_(number)

static const char *const plan[] = {
	"--hostname",  JAIL_HOSTNAME, "--files",     TEXT(JAIL_FILES),
	"--file-size", "1M",	      "--pids",	     TEXT(JAIL_PIDS),
	"--memory",    "64M",	      "--tmp-size",  "1M",
	"--work-size", "2M",	      "--inodes",    TEXT(JAIL_INODES),
	"--report",    "report",
};

struct scenario {
	const char *name;
	const char *options[10];
	const char *program[6];
	int status;
	const char *verdict;
};

static const struct scenario scenarios[] = {
	{ "whole",
	  { "--net", "loopback", "--cpu-time", "60s", "--bind", "given:/given",
	    "--bind-rw", "shared:/shared" },
	  { "/bin/walls", "loopback", "given" },
	  0,
	  "completed" },
	{ "bare", { "--policy", "policy" }, { "walls", "noproc" }, 0, "completed" },
	{ "stray", { NULL }, { "walls", "sleep=40", "stray" }, 0, "completed" },
	{ "slow",
	  { "--wall-time", "250ms" },
	  { "/bin/walls", "sleep=60000" },
	  124,
	  "wall-timeout" },
};
#define SCENARIOS (sizeof(scenarios) / sizeof(scenarios[0]))

static struct {
	struct setup setup;
	const char *launcher, *tree, *only;
	unsigned long part, parts, every, seed;
	bool list;
	unsigned long number; /* of the case */
	unsigned long passed, failed, skipped;
	char words[12][256]; /* of the program: namespaces and so on */
	size_t word_count;
	struct calls seen; /* of earlier scenarios */
} matrix = { .parts = 1, .every = 1 };

static size_t add_words(const char **argv, size_t n, const char *const *words, size_t max)
{
	for (size_t i = 0; i < max && words[i]; i++)
		argv[n++] = words[i];
	return n;
}

static char *const *command(const struct scenario *s)
{
	static const char *argv[WORDS];
	size_t n = 0;

	argv[n++] = matrix.launcher;
	argv[n++] = "run";
	argv[n++] = "--rootfs";
	argv[n++] = matrix.tree;
	if (!matrix.setup.cgroup) {
		argv[n++] = "--allow-missing";
		argv[n++] = "cgroup";
	}
	n = add_words(argv, n, plan, sizeof(plan) / sizeof(plan[0]));
	n = add_words(argv, n, s->options, 10);
	argv[n++] = "--";
	n = add_words(argv, n, s->program, 6);
	for (size_t i = 0; i < matrix.word_count; i++)
		argv[n++] = matrix.words[i];
	argv[n] = NULL;
	/* execve(2) does not write */
	return (char *const *)(uintptr_t)argv;
}

static void read_report(char *text, size_t size)
{
	char path[256];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/report", matrix.setup.folder);

	int fd = open(path, O_RDONLY | O_CLOEXEC);

	n = fd < 0 ? 0 : read(fd, text, size - 1);
	text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);
	(void)unlink(path);
}

/* lines of stderr that are no warning; the first is copied */
static int count_lines(const char *err, char *first, size_t size)
{
	int count = 0;

	*first = '\0';
	for (const char *at = err; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		if (strncmp(at, "stepjail: warning: ", 19) == 0)
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

/* the run went on as if nothing had happened: may it, and did it end as it should? */
static const char *judge_untouched(const struct scenario *s, const struct fault *f,
				   const struct result *r, const char *report, int lines)
{
	if (!r->ran)
		return "the program did not run, and nobody says so";
	if (lines)
		return "a line of error, but a status of success";
	if (strcmp(r->out, "standing\n") != 0)
		return "a wall is missing, or the output";
	if (!report_says(report, s->verdict, s->status))
		return "the report says something else";
	if (strcmp(s->name, "stray") == 0 && !strstr(report, "\"strays\":1"))
		return "the report does not tell of the stray";
	if (f && !call_harmless(&r->met, f->errnum))
		return "no effect, and not known to be harmless";
	return NULL;
}

static const char *judge_refused(const struct result *r, const char *report,
				 const char *line, int lines)
{
	if (lines != 1 || strncmp(line, "stepjail: ", 10) != 0)
		return "not exactly one line of error";
	if (*report && !report_says(report, "launcher-error", 125))
		return "the report says something else";
	if (!r->ran)
		return *r->out ? "output of a program that never ran" : NULL;
	if (strncmp(r->out, "missing", 7) == 0)
		return "a wall is missing";
	if (!strstr(line, "the program"))
		return "the program ran, and the line does not say so";
	return NULL;
}

/* Return: what is wrong, NULL if all is well */
static const char *judge(const struct scenario *s, const struct fault *f,
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
		return judge_refused(r, report, line, lines);
	if ((status == 126 || status == 127) && strcmp(what, "execve") == 0 && !r->ran)
		return lines == 1 && report_says(report, "launcher-error", status)
			       ? NULL
			       : "not one line, or the report says something else";
	return "an exit status that nothing explains";
}

static void print_breach(const struct scenario *s, const struct fault *f,
			 const struct result *r, const char *report, const char *why)
{
	const struct call *c = f ? &r->met : NULL;

	printf("BREACH %s: %s %s#%u%s fails with %s%s: %s\n", s->name, c ? c->who : "-",
	       c ? call_name(c->nr) : "nothing", c ? c->nth : 0, c ? c->detail : "",
	       f ? strerrorname_np(f->errnum) : "-", c && c->late ? ", late" : "", why);
	printf("  status %#x%s stdout '%.300s'\n  stderr '%.600s'\n", (unsigned)r->status,
	       r->ran ? ", ran," : ",", r->out, r->err);
	if (*r->left || *r->outside)
		printf("  left: %s; outside: %s\n", r->left, r->outside);
	printf("  report: %.160s\n", report);
	(void)fflush(stdout);
}

/* Return: false if the fault was not met */
static bool run_one(const struct scenario *s, const struct fault *f, struct calls *record)
{
	static struct result r;
	static char report[16384];
	const char *why;

	trace_run(&matrix.setup, command(s), f, record, &r);
	read_report(report, sizeof(report));
	if (f && !r.hit)
		return false;
	why = judge(s, f, &r, report);
	if (why)
		print_breach(s, f, &r, report, why);
	if (why)
		matrix.failed++;
	else
		matrix.passed++;
	return true;
}

static void run_case(const struct scenario *s, const struct call *call, int errnum)
{
	struct fault f = { .call = *call, .errnum = errnum };
	unsigned long number = matrix.number++;

	if (number % matrix.every != matrix.seed % matrix.every ||
	    number / matrix.every % matrix.parts != matrix.part)
		return;
	if (matrix.list) {
		printf("%s %s %s#%u%s %s%s\n", s->name, call->who, call_name(call->nr),
		       call->nth, call->detail, strerrorname_np(errnum),
		       call->late ? " late" : "");
		return;
	}
	for (int i = 0; i < TRIES; i++)
		if (run_one(s, &f, NULL))
			return;
	matrix.skipped++;
	printf("skip: %s: %s %s#%u%s: not met in %d runs\n", s->name, call->who,
	       call_name(call->nr), call->nth, call->detail, TRIES);
}

static bool same(const struct call *a, const struct call *b)
{
	return a->nr == b->nr && strcmp(a->who, b->who) == 0 &&
	       strcmp(a->detail, b->detail) == 0 && a->late == b->late;
}

static bool is_seen(const struct call *call)
{
	for (size_t i = 0; i < matrix.seen.count; i++)
		if (same(&matrix.seen.at[i], call))
			return true;
	return false;
}

/* the first scenario: all calls. Later ones: before the program's start those that are
 * new, and after it the last one of each kind */
static bool is_wanted(size_t scenario, const struct calls *calls, size_t at)
{
	const struct call *c = &calls->at[at];

	if (matrix.only && fnmatch(matrix.only, call_name(c->nr), 0) != 0)
		return false;
	if (scenario == 0)
		return true;
	if (!c->late)
		return !is_seen(c);
	for (size_t i = at + 1; i < calls->count; i++)
		if (same(c, &calls->at[i]))
			return false;
	return true;
}

static void run_scenario(size_t number)
{
	const struct scenario *s = &scenarios[number];
	struct calls calls = { 0 };
	unsigned long failed = matrix.failed;

	if (!run_one(s, NULL, &calls) || !run_one(s, NULL, NULL) ||
	    matrix.failed != failed) {
		printf("%s: fails without any fault\n", s->name);
		exit(1);
	}
	matrix.passed -= 2;
	for (size_t i = 0; i < calls.count; i++) {
		const int *errnum = call_errnos(&calls.at[i]);

		for (; is_wanted(number, &calls, i) && *errnum; errnum++)
			run_case(s, &calls.at[i], *errnum);
	}
	for (size_t i = 0; i < calls.count; i++) {
		if (matrix.seen.count == matrix.seen.room) {
			matrix.seen.room = 2 * matrix.seen.room + 1024;
			matrix.seen.at = realloc(matrix.seen.at, matrix.seen.room *
								  sizeof(struct call));
			if (!matrix.seen.at)
				abort();
		}
		matrix.seen.at[matrix.seen.count++] = calls.at[i];
	}
	free(calls.at);
}

static void make_file(const char *name, const char *text, mode_t mode)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", matrix.setup.folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, text, strlen(text)) < 0 || fchmod(fd, mode) < 0 ||
	    (geteuid() == 0 && fchown(fd, matrix.setup.uid, matrix.setup.gid) < 0)) {
		perror(path);
		exit(2);
	}
	(void)close(fd);
}

static void make_folder(const char *path, mode_t mode)
{
	if ((mkdir(path, mode) < 0 && errno != EEXIST) || chmod(path, mode) < 0 ||
	    (geteuid() == 0 && chown(path, matrix.setup.uid, matrix.setup.gid) < 0)) {
		perror(path);
		exit(2);
	}
}

static void prepare(void)
{
	static const char *const kinds[] = { "user", "mnt", "pid",   "net",
					     "ipc",  "uts", "cgroup" };
	char path[256];
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);

	make_folder(matrix.setup.folder, 0755);
	(void)snprintf(path, sizeof(path), "%s/shared", matrix.setup.folder);
	make_folder(path, 0777);
	make_file("stdin", "", 0666);
	make_file("given", "given", 0644);
	make_file("policy", "# no /proc\nproc none\nenv PATH=/nowhere:/bin\n", 0644);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		char link[64] = "";

		(void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kinds[i]);
		if (readlink(path, link, sizeof(link) - 1) > 0)
			(void)snprintf(matrix.words[matrix.word_count++], 256, "%s:%.*s",
				       kinds[i], (int)strcspn(strchr(link, '[') + 1, "]"),
				       strchr(link, '[') + 1);
	}
	(void)snprintf(matrix.words[matrix.word_count++], 256, "hide=%.200s", matrix.tree);
	(void)snprintf(matrix.words[matrix.word_count++], 256, "landlock=%ld",
		       abi > 0 ? abi : 0);
}

/* /run and /tmp of our own: nobody else's locks and files, and nothing of ours outlives */
static void seclude(void)
{
	matrix.setup.own_run = geteuid() == 0;
	if (!matrix.setup.own_run)
		return;
	if (unshare(CLONE_NEWNS) < 0 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("fault", "/run", "tmpfs", 0, "mode=755") < 0 ||
	    mount("fault", "/tmp", "tmpfs", 0, "mode=1777") < 0) {
		perror("fault: a mount namespace of its own");
		exit(2);
	}
}

static bool take_option(const char *word, const char *value)
{
	if (strcmp(word, "--uid") == 0)
		matrix.setup.uid = (uid_t)atoi(value);
	else if (strcmp(word, "--gid") == 0)
		matrix.setup.gid = (gid_t)atoi(value);
	else if (strcmp(word, "--every") == 0)
		matrix.every = strtoul(value, NULL, 10);
	else if (strcmp(word, "--seed") == 0)
		matrix.seed = strtoul(value, NULL, 10);
	else if (strcmp(word, "--only") == 0)
		matrix.only = value;
	else if (strcmp(word, "--part") == 0)
		return sscanf(value, "%lu/%lu", &matrix.part, &matrix.parts) == 2;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	int i = 1;

	matrix.setup.uid = geteuid();
	matrix.setup.gid = getegid();
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--cgroup") == 0)
			matrix.setup.cgroup = true;
		else if (strcmp(argv[i], "--list") == 0)
			matrix.list = true;
		else if (i + 1 >= argc || !take_option(argv[i], argv[i + 1]))
			break;
		else
			i++;
	}
	if (argc - i != 3 || argv[i + 2][0] != '/' || !matrix.every || !matrix.parts) {
		(void)fprintf(stderr, "usage: see the head of matrix.c\n");
		return 2;
	}
	matrix.launcher = argv[i];
	matrix.tree = argv[i + 1];
	(void)snprintf(matrix.setup.folder, sizeof(matrix.setup.folder), "%s", argv[i + 2]);
	(void)umask(022);
	seclude();
	prepare();
	for (size_t n = 0; n < SCENARIOS; n++)
		run_scenario(n);
	printf("%lu passed, %lu failed, %lu skipped of %lu cases\n", matrix.passed,
	       matrix.failed, matrix.skipped, matrix.number);
	return matrix.failed != 0;
}
