/* SPDX-License-Identifier: MIT */
/*
 * option.c - the one table of options, and what is printed from it: see option.h
 *
 * Adding an option is adding a row. A row with a limit stores a number with a unit; any
 * other row has a set() and a print() of its own.
 */
#include <errno.h>
#include <string.h>

#include "jail/option.h"
#include "jail/option_row.h"

#define K (1ULL << 10)
#define M (1ULL << 20)
#define T (1ULL << 40)
#define HOURS 3600000ULL

static int set_rootfs(struct plan *p, const char *value, struct err *e)
{
	(void)e;
	p->rootfs = value;
	return 0;
}

static void print_rootfs(const struct plan *p, const char *name, FILE *out)
{
	(void)fprintf(out, "%s %s\n", name, p->rootfs);
}

static int set_bind(struct plan *p, const char *value, struct err *e)
{
	return plan_add_bind(p, value, false, e);
}

static int set_bind_rw(struct plan *p, const char *value, struct err *e)
{
	return plan_add_bind(p, value, true, e);
}

/* both kinds, in their order: a later one may lie within an earlier one */
static void print_bind(const struct plan *p, const char *name, FILE *out)
{
	for (size_t i = 0; i < p->bind_count; i++)
		(void)fprintf(out, "%s%s %s:%s\n", name, p->bind[i].writable ? "-rw" : "",
			      p->bind[i].src, p->bind[i].dst);
}

/* printed with the others */
static void print_bind_rw(const struct plan *p, const char *name, FILE *out)
{
	(void)p;
	(void)name;
	(void)out;
}

static int set_env(struct plan *p, const char *value, struct err *e)
{
	return plan_add_env(p, value, e);
}

static void print_env(const struct plan *p, const char *name, FILE *out)
{
	for (size_t i = 0; i < p->env_count; i++)
		(void)fprintf(out, "%s %s\n", name, p->env[i]);
}

static int set_chdir(struct plan *p, const char *value, struct err *e)
{
	(void)e;
	p->chdir = value;
	return 0;
}

static void print_chdir(const struct plan *p, const char *name, FILE *out)
{
	(void)fprintf(out, "%s %s\n", name, p->chdir);
}

static int set_hostname(struct plan *p, const char *value, struct err *e)
{
	size_t n = strspn(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789-.");

	if (n == 0 || value[n] || n > 64) /* __NEW_UTS_LEN */
		return err_say(e, EINVAL,
			       "'%s' must be 1 to 64 letters, digits, '-' or '.'", value);
	p->hostname = value;
	return 0;
}

static void print_hostname(const struct plan *p, const char *name, FILE *out)
{
	(void)fprintf(out, "%s %s\n", name, p->hostname);
}

static const char *const net_names[] = {
	[NET_NONE] = "none", [NET_LOOPBACK] = "loopback"
};
static const char *const proc_names[] = { [PROC_PID] = "pid", [PROC_NONE] = "none" };

static int choose(const char *const *names, const char *value, struct err *e)
{
	for (int i = 0; i < 2; i++)
		if (strcmp(names[i], value) == 0)
			return i;
	return err_say(e, EINVAL, "'%s' must be '%s' or '%s'", value, names[0], names[1]);
}

static int set_net(struct plan *p, const char *value, struct err *e)
{
	int r = choose(net_names, value, e);

	if (r >= 0)
		p->net = (enum plan_net)r;
	return r < 0 ? r : 0;
}

static void print_net(const struct plan *p, const char *name, FILE *out)
{
	(void)fprintf(out, "%s %s\n", name, net_names[p->net]);
}

static int set_proc(struct plan *p, const char *value, struct err *e)
{
	int r = choose(proc_names, value, e);

	if (r >= 0)
		p->proc = (enum plan_proc)r;
	return r < 0 ? r : 0;
}

static void print_proc(const struct plan *p, const char *name, FILE *out)
{
	(void)fprintf(out, "%s %s\n", name, proc_names[p->proc]);
}

static int set_report(struct plan *p, const char *value, struct err *e)
{
	(void)e;
	p->report = value;
	return 0;
}

static void print_report(const struct plan *p, const char *name, FILE *out)
{
	if (p->report)
		(void)fprintf(out, "%s %s\n", name, p->report);
}

static int set_allow_missing(struct plan *p, const char *value, struct err *e)
{
	if (strcmp(value, "cgroup") != 0)
		return err_say(
			e, EINVAL,
			"'%s' may not be missing; the only part that may is 'cgroup'",
			value);
	if (p->allow_missing & PART_CGROUP)
		return err_say(e, EEXIST, "'%s' is given twice", value);
	p->allow_missing |= PART_CGROUP;
	return 0;
}

static void print_allow_missing(const struct plan *p, const char *name, FILE *out)
{
	if (p->allow_missing & PART_CGROUP)
		(void)fprintf(out, "%s cgroup\n", name);
}

#define NUMBER(l, k, lo, hi, ini, unl)                                                   \
	.is_limit = true, .limit = (l), .kind = (k), .min = (lo), .max = (hi),           \
	.initial = (ini), .may_be_unlimited = (unl)
#define TEXT(f) .set = set_##f, .print = print_##f

const struct option_row option_rows[] = {
	{ "rootfs", "NAME|DIR",
	  "root tree: a shipped one by name, or a folder if there is a '/' in it",
	  TEXT(rootfs) },
	{ "bind", "SRC:DST", "show a host file or folder in the jail, read-only",
	  .repeatable = true, TEXT(bind) },
	{ "bind-rw", "SRC:DST",
	  "the same, writable; its host path can be read from /proc/self/mountinfo",
	  .repeatable = true, TEXT(bind_rw) },
	{ "env", "KEY=VALUE", "one variable of an environment that starts from nothing",
	  .repeatable = true, TEXT(env) },
	{ "chdir", "DIR", "where the program starts", TEXT(chdir) },
	{ "hostname", "NAME", "host name in the jail", TEXT(hostname) },
	{ "net", "none|loopback",
	  "no network interface is up, or lo alone; never the host's", TEXT(net) },
	{ "proc", "pid|none", "/proc with process folders only, or no /proc",
	  TEXT(proc) },
	{ "wall-time", "TIME", "kill the jail after this much time",
	  NUMBER(LIMIT_WALL_MS, VALUE_TIME, 1, 24 * 366 * HOURS, 60000, true) },
	{ "cpu-time", "TIME",
	  "kill the jail after this much CPU time, all its processes together",
	  NUMBER(LIMIT_CPU_MS, VALUE_TIME, 10, 24 * 366 * HOURS, NO_LIMIT, true) },
	{ "memory", "SIZE",
	  "all memory of the jail, its tmpfs files included; never swapped",
	  NUMBER(LIMIT_MEMORY_BYTES, VALUE_SIZE, 4 * M, T, 512 * M, false) },
	{ "cpus", "NUMBER", "share of the CPUs that the jail may use",
	  NUMBER(LIMIT_CPUS_MILLI, VALUE_CPUS, 10, 1024000, 1000, true) },
	{ "pids", "NUMBER", "processes and threads of the program",
	  NUMBER(LIMIT_PIDS, VALUE_COUNT, 1, 1000000, 64, false) },
	{ "files", "NUMBER", "open files of each process",
	  NUMBER(LIMIT_FILES, VALUE_COUNT, 8, 1048576, 256, false) },
	{ "file-size", "SIZE", "largest file that can be written",
	  NUMBER(LIMIT_FILE_BYTES, VALUE_SIZE, 0, T, NO_LIMIT, true) },
	{ "tmp-size", "SIZE", "room in /tmp and /dev/shm together",
	  NUMBER(LIMIT_TMP_BYTES, VALUE_SIZE, 64 * K, T, 64 * M, false) },
	{ "work-size", "SIZE", "room in /work",
	  NUMBER(LIMIT_WORK_BYTES, VALUE_SIZE, 64 * K, T, 256 * M, false) },
	{ "inodes", "NUMBER",
	  "files and folders in /work, and in /tmp and /dev/shm together",
	  NUMBER(LIMIT_INODES, VALUE_COUNT, 16, 10000000, 16384, false) },
	{ "report", "FILE|FD",
	  "write a JSON report of the run to a file, or to fd number FD", TEXT(report) },
	{ "allow-missing", "cgroup",
	  "run without cgroup limits where the host gives no cgroup v2; the report says "
	  "so",
	  .repeatable = true, TEXT(allow_missing) },
};
/* the parser keeps one bit for each row */
_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= 64, "more rows than bits");
const size_t option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);

/* the two options that are about the command line itself */
static const struct {
	const char *name, *arg, *help;
} meta[] = {
	{ "policy", "FILE",
	  "read options from a file, one per line, without the dashes" },
	{ "help", "", "print this and end" },
};

void option_print_policy(const struct plan *p, FILE *out)
{
	char text[VALUE_TEXT_MAX];

	for (size_t i = 0; i < option_row_count; i++) {
		uint64_t n;

		if (!option_rows[i].is_limit) {
			option_rows[i].print(p, option_rows[i].name, out);
			continue;
		}
		n = p->limit[option_rows[i].limit];
		(void)fprintf(out, "%s %s\n", option_rows[i].name,
			      n == NO_LIMIT ? "unlimited"
					    : value_print(option_rows[i].kind, n, text));
	}
}

static const char *initial_text(const struct option_row *row, char *text)
{
	if (!row->is_limit)
		return NULL;
	return row->initial == NO_LIMIT ? "unlimited"
					: value_print(row->kind, row->initial, text);
}

void option_print_help(FILE *out)
{
	char text[VALUE_TEXT_MAX];

	for (size_t i = 0; i < option_row_count; i++) {
		const char *initial = initial_text(&option_rows[i], text);
		int used = fprintf(out, "  --%s %s", option_rows[i].name,
				   option_rows[i].arg);

		(void)fprintf(out, "%*s%s%s%s%s\n", used < 26 ? 26 - used : 1, "",
			      option_rows[i].help, initial ? " (" : "",
			      initial ? initial : "", initial ? ")" : "");
	}
	for (size_t i = 0; i < sizeof(meta) / sizeof(meta[0]); i++) {
		int used = fprintf(out, "  --%s %s", meta[i].name, meta[i].arg);

		(void)fprintf(out, "%*s%s\n", used < 26 ? 26 - used : 1, "",
			      meta[i].help);
	}
}

void option_print_man(FILE *out)
{
	char text[VALUE_TEXT_MAX];

	for (size_t i = 0; i < option_row_count; i++) {
		const char *initial = initial_text(&option_rows[i], text);

		(void)fprintf(out, ".It Fl Fl %s Ar %s\n%s.\n", option_rows[i].name,
			      option_rows[i].arg, option_rows[i].help);
		if (option_rows[i].repeatable)
			(void)fprintf(out, "May be given more than once.\n");
		if (initial)
			(void)fprintf(out, "Default: %s.\n", initial);
	}
	for (size_t i = 0; i < sizeof(meta) / sizeof(meta[0]); i++)
		(void)fprintf(out, ".It Fl Fl %s%s%s\n%s.\n", meta[i].name,
			      meta[i].arg[0] ? " Ar " : "", meta[i].arg, meta[i].help);
}
