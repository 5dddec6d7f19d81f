/* SPDX-License-Identifier: MIT */
/*
 * matrix.c - every call of launcher and init fails once, with each plausible errno
 *
 * usage: matrix [--uid U --gid G] [--cgroup] [--jobs N] [--every K --seed S]
 *	[--only PATTERN] [--whole PATTERN] [--who PATTERN] [--list] LAUNCHER TREE FOLDER
 *
 * FOLDER is filled with what the jails need. Each scenario first runs a few times without
 * a fault, which tells its calls; then, for each call and errno, once with it. Demanded
 * is: the run ends with 125 and one line, the program never having run; or the program
 * ran behind every wall, and what failed is in harmless.c; or, for a call after the
 * program's start, 125 and one line that says so. Never a hang, a crash, or anything left
 * behind.
 *
 * Prints a line for each breach, and the counts. --every runs every K-th case, beginning
 * with case S modulo K; --only those whose "WHO NAME DETAIL" fits the pattern (fnmatch(3)),
 * and of those that fit the pattern of --whole every case, whatever --every says. --who:
 * only processes whose WHO fits are learnt from; to stop the others at each call takes as
 * long.
 */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/fault/fault.h"

/* calls that come with timing are not in all of these runs, and are left out; a guest's
 * clock counts instructions, and less comes with it */
#define LEARNING_RUNS 3
#define LEARNING_RUNS_OF_A_GUEST 2
/* and may be missed all the same */
#define TRIES 20
#define JOBS 16

struct tally {
	unsigned long passed, failed, skipped;
};

struct fault_case {
	const struct scenario *scenario;
	struct fault fault;
	bool whole; /* not subject to --every */
};

static struct {
	struct setup setup;
	const char *folder, *only, *whole;
	unsigned long jobs, every, seed;
	bool list;
	struct tally tally;
	struct fault_case *cases;
	size_t count, room;
} matrix = { .jobs = 1, .every = 1 };

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

	scenario_clean(&matrix.setup);
	trace_run(&matrix.setup, scenario_command(&matrix.setup, s), f, record, &r);
	read_report(report, sizeof(report));
	if (f && !r.hit)
		return false;
	why = judge_run(s, f, &r, report);
	if (why)
		print_breach(s, f, &r, report, why);
	matrix.tally.failed += why != NULL;
	matrix.tally.passed += why == NULL;
	return true;
}

static void run_case(const struct fault_case *c)
{
	const struct call *call = &c->fault.call;
	const char *errnum = strerrorname_np(c->fault.errnum);

	if (matrix.list) {
		printf("%s: %s %s#%u%s %s%s\n", c->scenario->name, call->who,
		       call_name(call->nr), call->nth, call->detail, errnum,
		       call->late ? ", late" : "");
		return;
	}
	for (int i = 0; i < TRIES; i++)
		if (run_one(c->scenario, &c->fault, NULL))
			return;
	matrix.tally.skipped++;
	printf("skip: %s: %s %s#%u%s %s: not met in %d runs\n", c->scenario->name,
	       call->who, call_name(call->nr), call->nth, call->detail, errnum, TRIES);
}

static bool same_kind(const struct call *a, const struct call *b)
{
	return a->nr == b->nr && strcmp(a->who, b->who) == 0 &&
	       strcmp(a->detail, b->detail) == 0 && a->late == b->late;
}

/* @exact: the same call, not one of the same kind */
static bool is_among(const struct call *call, const struct calls *calls, bool exact)
{
	for (size_t i = 0; i < calls->count; i++)
		if (same_kind(&calls->at[i], call) &&
		    (!exact || calls->at[i].nth == call->nth))
			return true;
	return false;
}

static void learn(const struct scenario *s, struct calls *calls)
{
	const int runs = matrix.setup.cgroup ? LEARNING_RUNS_OF_A_GUEST : LEARNING_RUNS;
	size_t kept = 0;

	for (int i = 0; i < runs; i++) {
		struct calls again = { 0 };

		(void)run_one(s, NULL, i == 0 ? calls : &again);
		kept = 0;
		for (size_t k = 0; k < calls->count; k++)
			if (i == 0 || is_among(&calls->at[k], &again, true))
				calls->at[kept++] = calls->at[k];
		calls->count = kept;
		free(again.at);
	}
	if (matrix.tally.failed) {
		printf("%s: fails without any fault\n", s->name);
		exit(1);
	}
}

static bool fits(const struct call *c, const char *pattern)
{
	char text[DETAIL_TEXT + 64];

	(void)snprintf(text, sizeof(text), "%s %s%s", c->who, call_name(c->nr),
		       c->detail);
	return pattern && fnmatch(pattern, text, FNM_EXTMATCH) == 0;
}

/* The first scenario: all calls up to the program's start; what follows depends on how
 * long its program takes. Later ones: before the program's start those of a new kind, and
 * after it the last one of each kind. */
static bool is_wanted(const struct calls *calls, size_t at, const struct calls *earlier,
		      bool first)
{
	const struct call *c = &calls->at[at];

	if (matrix.only && !fits(c, matrix.only) && !fits(c, matrix.whole))
		return false;
	if (first)
		return !c->late;
	if (!c->late)
		return !is_among(c, earlier, false);
	for (size_t i = at + 1; i < calls->count; i++)
		if (same_kind(c, &calls->at[i]))
			return false;
	return true;
}

static void add_case(const struct scenario *s, const struct call *call, int errnum)
{
	if (matrix.count == matrix.room) {
		matrix.room = 2 * matrix.room + 1024;
		matrix.cases = realloc(matrix.cases, matrix.room * sizeof(*matrix.cases));
		if (!matrix.cases)
			abort();
	}
	matrix.cases[matrix.count++] =
		(struct fault_case){ s, { *call, errnum }, fits(call, matrix.whole) };
}

static void learn_cases(void)
{
	struct calls calls[12] = { { 0 } };

	for (size_t n = 0; n < scenario_count; n++) {
		learn(&scenarios[n], &calls[n]);
		for (size_t i = 0; i < calls[n].count; i++) {
			const int *errnum = call_errnos(&calls[n].at[i]);
			bool wanted = true;

			for (size_t k = 0; k < (n ? n : 1); k++)
				wanted = wanted &&
					 is_wanted(&calls[n], i, &calls[k], n == 0);
			for (; wanted && *errnum; errnum++)
				add_case(&scenarios[n], &calls[n].at[i], *errnum);
		}
	}
	for (size_t n = 0; n < scenario_count; n++)
		free(calls[n].at);
	matrix.tally = (struct tally){ 0 };
}

/* /run and /tmp of our own: nobody else's locks and files, and nothing of ours
 * outlives */
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

static void move_to_folder(const char *name, unsigned long number)
{
	(void)mkdir(matrix.folder, 0755);
	(void)snprintf(matrix.setup.folder, sizeof(matrix.setup.folder), "%.150s/%s%lu",
		       matrix.folder, name, number);
	scenario_prepare(&matrix.setup);
}

/* every job runs its share in a process, a folder and a mount namespace of its own */
static void run_job(unsigned long job, int out)
{
	unsigned long number = 0;

	move_to_folder("job", job);
	seclude();
	for (size_t i = 0; i < matrix.count; i++)
		if ((matrix.cases[i].whole ||
		     i % matrix.every == matrix.seed % matrix.every) &&
		    number++ % matrix.jobs == job)
			run_case(&matrix.cases[i]);
	(void)fflush(stdout);
	_exit(write(out, &matrix.tally, sizeof(matrix.tally)) != sizeof(matrix.tally));
}

static bool run_jobs(void)
{
	int out[2];
	bool whole = pipe2(out, O_CLOEXEC) == 0;

	(void)fflush(stdout);
	for (unsigned long job = 0; whole && job < matrix.jobs; job++)
		if (fork() == 0)
			run_job(job, out[1]);
	(void)close(out[1]);
	for (unsigned long job = 0; job < matrix.jobs; job++) {
		struct tally t;

		if (read(out[0], &t, sizeof(t)) != sizeof(t)) {
			printf("a job ended without its counts\n");
			return false;
		}
		matrix.tally.passed += t.passed;
		matrix.tally.failed += t.failed;
		matrix.tally.skipped += t.skipped;
	}
	while (wait(NULL) > 0)
		;
	return whole;
}

static bool take_option(const char *word, const char *value)
{
	unsigned long number = strtoul(value, NULL, 10);

	if (strcmp(word, "--uid") == 0)
		matrix.setup.uid = (uid_t)number;
	else if (strcmp(word, "--gid") == 0)
		matrix.setup.gid = (gid_t)number;
	else if (strcmp(word, "--every") == 0)
		matrix.every = number;
	else if (strcmp(word, "--seed") == 0)
		matrix.seed = number;
	else if (strcmp(word, "--jobs") == 0)
		matrix.jobs = number < JOBS ? number : JOBS;
	else if (strcmp(word, "--only") == 0)
		matrix.only = value;
	else if (strcmp(word, "--whole") == 0)
		matrix.whole = value;
	else if (strcmp(word, "--who") == 0)
		matrix.setup.who = value;
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
	if (argc - i != 3 || argv[i + 2][0] != '/' || !matrix.every || !matrix.jobs) {
		(void)fprintf(stderr, "usage: see the head of matrix.c\n");
		return 2;
	}
	matrix.setup.launcher = argv[i];
	matrix.setup.tree = argv[i + 1];
	matrix.folder = argv[i + 2];
	(void)umask(022);
	scenario_learn_host(&matrix.setup);
	seclude();
	move_to_folder("learn", 0);
	learn_cases();

	bool whole = run_jobs();

	printf("%lu passed, %lu failed, %lu skipped (%zu cases, every %lu. from %lu)\n",
	       matrix.tally.passed, matrix.tally.failed, matrix.tally.skipped,
	       matrix.count, matrix.every, matrix.seed % matrix.every);
	return !whole || matrix.tally.failed != 0;
}
