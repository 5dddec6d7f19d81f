/* SPDX-License-Identifier: MIT */
/*
 * escape.c - stepjail escape: run the shipped probes in one configuration
 *
 * usage: stepjail escape [--json] [--list] [--probe NAME]... [--outside] [options of run]
 * and for tests: --launcher PATH, --walls
 *
 * Every option of `stepjail run` is passed on as it is given, so that what is tested is
 * what is used. As stepjail-probe, this binary is the jail's program: see probe.h.
 */
#include "tests/escape/scene.h"

#include <ftw.h>
#include <limits.h>

#define PROBES_MAX 512

static struct {
	bool json, list, outside;
	const char *launcher;
	const char *only[PROBES_MAX];
	size_t only_count;
} asked;

static struct limits limits;
static struct run run;
static struct {
	unsigned int held, open, skipped, failed;
} count;

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "stepjail-escape: %s\n", what);
	exit(125);
}

/* sizes and times as `stepjail explain` prints them; -1 for unlimited */
static long long value(const char *text, bool time)
{
	static const struct {
		const char *unit;
		long long factor;
	} sizes[] = { { "K", 1LL << 10 },
		      { "M", 1LL << 20 },
		      { "G", 1LL << 30 },
		      { "T", 1LL << 40 } },
	  times[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
	char *unit;
	long long n = strtoll(text, &unit, 10);

	if (strncmp(text, "unlimited", 9) == 0)
		return -1;
	for (size_t i = 0; i < 4; i++)
		if (strcmp(unit, time ? times[i].unit : sizes[i].unit) == 0)
			return n * (time ? times[i].factor : sizes[i].factor);
	return time ? n * 1000 : n;
}

static void note_limit(const char *name, const char *text)
{
	const struct {
		const char *name;
		long long *to;
		bool time;
	} rows[] = {
		{ "memory", &limits.memory, false },
		{ "tmp-size", &limits.tmp, false },
		{ "work-size", &limits.work, false },
		{ "file-size", &limits.file, false },
		{ "wall-time", &limits.wall_ms, true },
		{ "cpu-time", &limits.cpu_ms, true },
		{ "pids", &limits.pids, false },
		{ "files", &limits.files, false },
		{ "inodes", &limits.inodes, false },
		{ "file-locks", &limits.file_locks, false },
		{ "output-limit", &limits.output, false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(rows[i].name, name) == 0)
			*rows[i].to = value(text, rows[i].time);
}

/* the plan that the options make, by the launcher's own word */
static void read_limits(char *const *options)
{
	char *words[WORDS_MAX + 3] = { (char *)(uintptr_t)asked.launcher,
				       (char *)(uintptr_t) "explain" };
	char line[PATH_MAX + 256];
	int ends[2], status = 0;
	FILE *plan;
	pid_t pid;

	for (size_t i = 0; options[i]; i++)
		words[i + 2] = options[i];
	limits.output = -1;
	if (pipe2(ends, O_CLOEXEC) < 0 || (pid = fork()) < 0)
		fail("cannot start the launcher");
	if (pid == 0) {
		(void)dup2(ends[1], 1);
		(void)execv(words[0], words);
		(void)fprintf(stderr, "stepjail-escape: %s: %s\n", words[0],
			      strerror(errno));
		_exit(125);
	}
	(void)close(ends[1]);
	plan = fdopen(ends[0], "r");
	while (plan && fgets(line, sizeof(line), plan)) {
		char *text = line + strcspn(line, " ");

		line[strcspn(line, "\n")] = '\0';
		if (*text)
			*text++ = '\0';
		if (strcmp(line, "report") == 0)
			fail("--report is what the probes are judged by: leave it out");
		limits.loopback |= strcmp(line, "net") == 0 && !strcmp(text, "loopback");
		limits.no_proc |= strcmp(line, "proc") == 0 && !strcmp(text, "none");
		limits.locked |= strcmp(line, "lock-code") == 0 && !strcmp(text, "yes");
		limits.captured |= strcmp(line, "capture") == 0 && !strcmp(text, "both");
		note_limit(line, text);
	}
	if (!limits.captured)
		limits.output = -1;
	if (plan)
		(void)fclose(plan);
	if (waitpid(pid, &status, 0) < 0 || status != 0)
		exit(125); /* it has said why */
}

static void put_walls(uint64_t mask, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < WALL_COUNT; i++)
		if (mask & (1ULL << i) && used < size)
			used += (size_t)snprintf(text + used, size - used, "%s%s",
						 used ? "; " : "", walls[i].text);
}

/* a lock holds what was seen to be held by others where nothing is locked */
static uint64_t walls_here(const struct probe *p)
{
	return probe_walls(p) | (limits.locked ? p->walls & W(LOCK) : 0);
}

static void json_text(const char *text)
{
	(void)putchar('"');
	for (; *text; text++)
		if (*text == '"' || *text == '\\')
			printf("\\%c", *text);
		else if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			printf("\\u%04x", (unsigned char)*text);
		else
			(void)putchar(*text);
	(void)putchar('"');
}

static void print_json(const struct area *area, const struct probe *p, const char *result,
		       const char *answer, bool not_enforced)
{
	static bool more;
	uint64_t mask = walls_here(p);
	const char *comma = "";

	printf("%s\n{\"name\":", more ? "," : "");
	more = true;
	json_text(p->name);
	printf(",\"area\":");
	json_text(area->name);
	printf(",\"attack\":");
	json_text(p->attack);
	printf(",\"walls\":[");
	for (size_t i = 0; i < WALL_COUNT; i++)
		if (mask & (1ULL << i)) {
			printf("%s", comma);
			json_text(walls[i].text);
			comma = ",";
		}
	printf("],\"result\":");
	json_text(result);
	printf(",\"answer\":");
	json_text(answer);
	printf(",\"said\":");
	json_text(strcmp(result, "held") == 0 ? "" : run.errors);
	printf(",\"not_enforced\":%s,\"mended\":%s}", not_enforced ? "true" : "false",
	       p->flags & MENDED ? "true" : "false");
}

static void print_row(const struct probe *p, const char *result, const char *answer,
		      bool not_enforced)
{
	char wall[256];

	put_walls(walls_here(p), wall, sizeof(wall));
	if (strcmp(result, "held") != 0)
		(void)snprintf(wall, sizeof(wall), "%s",
			       not_enforced ? "not enforced: see the report" : "-");
	printf("%-6s %-24s %-66s %-50s %s\n", result, p->name, p->attack, wall, answer);
	if ((strcmp(result, "failed") != 0 && strcmp(result, "open") != 0) || !run.inside)
		return;
	for (char *line, *rest = run.errors; (line = strsep(&rest, "\n"));)
		if (*line)
			printf("       | %s\n", line);
}

/* a run, and the words of its result */
static const char *try_once(const struct probe *p, bool inside, char *answer, size_t size)
{
	const char *result;

	run.probe = p;
	run.inside = inside;
	run_probe(&run);
	result = judge_run(&run, answer, size);
	run_end(&run);
	return result;
}

static void try_probe(const struct area *area, const struct probe *p)
{
	char answer[1024] = "";
	const char *result = "";
	bool not_enforced = false;

	if (!asked.outside && (p->flags & CONTROL))
		result = try_once(p, false, answer, sizeof(answer));
	if (strcmp(result, "skip") != 0)
		result = try_once(p, !asked.outside, answer, sizeof(answer));
	count.held += strcmp(result, "held") == 0;
	count.open += strcmp(result, "open") == 0;
	count.skipped += strcmp(result, "skip") == 0;
	count.failed += strcmp(result, "failed") == 0;
	not_enforced = strcmp(result, "open") == 0 && (p->walls & W(CGROUP)) &&
		       run_reports(&run, "\"not_enforced\":[\"");
	if (asked.json)
		print_json(area, p, result, answer, not_enforced);
	else
		print_row(p, result, answer, not_enforced);
	(void)fflush(stdout);
}

static bool is_asked(const struct probe *p)
{
	/* a row without a wall is a part of another probe */
	if (!p->walls)
		return false;
	for (size_t i = 0; i < asked.only_count; i++)
		if (strcmp(asked.only[i], p->name) == 0)
			return true;
	return asked.only_count == 0;
}

static int try_all(void)
{
	static char scratch[] = "/tmp/stepjail-escape-XXXXXX";

	(void)umask(0);
	if (!mkdtemp(scratch) || chmod(scratch, 0755) < 0)
		fail("cannot make a folder in /tmp");
	(void)snprintf(run.folder, sizeof(run.folder), "%s/bin", scratch);
	(void)snprintf(run.bound, sizeof(run.bound), "%s/bin" PROBE_PATH, scratch);
	if (mkdir(run.folder, 0755) < 0)
		fail("cannot make a folder in /tmp");
	run_copy_self(&run, PROBE_PATH + 1, 0755);
	(void)snprintf(run.folder, sizeof(run.folder), "%s/scene", scratch);
	(void)snprintf(run.marker, sizeof(run.marker), "%s", strrchr(scratch, '/') + 1);
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (asked.json)
		printf("[");
	for (size_t a = 0; a < area_count; a++)
		for (size_t i = 0; i < areas[a]->count; i++)
			if (is_asked(&areas[a]->probes[i]))
				try_probe(areas[a], &areas[a]->probes[i]);
	(void)unlink(run.bound);
	*strrchr(run.bound, '/') = '\0';
	(void)rmdir(run.bound);
	(void)rmdir(scratch);
	if (asked.json)
		printf("\n]\n");
	else
		printf("%u held, %u open, %u failed, %u skipped\n", count.held,
		       count.open, count.failed, count.skipped);
	return count.open || count.failed || !count.held;
}

static void list_all(void)
{
	for (size_t a = 0; a < area_count; a++)
		for (size_t i = 0; i < areas[a]->count; i++) {
			const struct probe *p = &areas[a]->probes[i];

			if (is_asked(p))
				printf("%-26s %-26s %s\n", p->name, areas[a]->name,
				       p->attack);
		}
}

/* for tests/escape/walls: what the rows say, and the words of walls */
static void print_walls(void)
{
	for (size_t w = 0; w < WALL_COUNT; w++)
		printf("\t%s\t%s\n", walls[w].word, walls[w].text);
	for (size_t a = 0; a < area_count; a++)
		for (size_t i = 0; i < areas[a]->count; i++) {
			const struct probe *p = &areas[a]->probes[i];

			for (size_t w = 0; w < WALL_COUNT; w++)
				if (p->walls & (1ULL << w))
					printf("%s\t%s\t%s\n", p->name, walls[w].word,
					       walls[w].text);
		}
}

/* Return: the first word that is not ours */
static char **take_options(char **argv)
{
	for (; *argv; argv++) {
		bool valued =
			strcmp(*argv, "--probe") == 0 || strcmp(*argv, "--launcher") == 0;

		if (valued && !argv[1])
			fail("--probe and --launcher need a value");
		if (strcmp(*argv, "--json") == 0) {
			asked.json = true;
		} else if (strcmp(*argv, "--list") == 0) {
			asked.list = true;
		} else if (strcmp(*argv, "--outside") == 0) {
			asked.outside = true;
		} else if (strcmp(*argv, "--walls") == 0) {
			print_walls();
			exit(0);
		} else if (strcmp(*argv, "--launcher") == 0) {
			asked.launcher = *++argv;
		} else if (strcmp(*argv, "--probe") == 0) {
			if (asked.only_count == PROBES_MAX || !probe_find(argv[1]))
				fail("there is no such probe: see --list");
			asked.only[asked.only_count++] = *++argv;
		} else {
			break;
		}
	}
	return argv;
}

static void print_help(void)
{
	printf("usage: stepjail escape [--json] [--list] [--probe NAME]... [--outside] "
	       "[options of run]\n\n"
	       "Runs attacks in jails of exactly these options and prints, for each, "
	       "the\n"
	       "wall that held and its answer. Exit status 0 only if all held.\n\n"
	       "  --json        an array of objects in place of the table\n"
	       "  --list        print the probes, run none\n"
	       "  --probe NAME  run this one alone; may be repeated\n"
	       "  --outside     run them without a jail, where each should succeed\n\n"
	       "These come first. Options of run: stepjail run --help\n");
}

/* beside us, as in a build folder, or where `make install` puts it */
static const char *find_launcher(const char *self)
{
	static const char *const places[] = { "stepjail", "../../bin/stepjail" };
	static char path[PATH_MAX + 32];

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int n = (int)(strrchr(self, '/') - self);

		(void)snprintf(path, sizeof(path), "%.*s/%s", n, self, places[i]);
		if (access(path, X_OK) == 0)
			return path;
	}
	fail("stepjail is neither beside stepjail-escape nor in ../../bin");
}

int main(int argc, char **argv)
{
	static char self[PATH_MAX];
	char **options;
	size_t n = 0;

	/* what a dropped program or script does: it has been started, and that is
	 * enough */
	if (argc > 1 && strcmp(argv[1], "nothing") == 0)
		return 0;
	if (argc > 1 && strcmp(argv[0], "stepjail-probe") == 0)
		return probe_main(argv[1], argv + 2);
	if (argc > 2 && strcmp(argv[1], "--probe-self") == 0)
		return probe_main(argv[2], argv + 3);
	options = take_options(argv + 1);
	if (*options &&
	    (strcmp(*options, "--help") == 0 || strcmp(*options, "-h") == 0)) {
		print_help();
		return 0;
	}
	if (asked.list) {
		list_all();
		return 0;
	}
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		fail("cannot find this executable: is /proc mounted?");
	/* the runs start elsewhere */
	asked.launcher =
		asked.launcher ? realpath(asked.launcher, NULL) : find_launcher(self);
	if (!asked.launcher)
		fail("there is no such launcher");
	run.self = self;
	run.launcher = asked.launcher;
	run.limits = &limits;
	for (char **word = options; *word; word++) {
		if (n + 1 >= WORDS_MAX)
			fail("too many options");
		run.user[n++] = *word;
	}
	read_limits(options);
	return try_all();
}
