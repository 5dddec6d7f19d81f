/* SPDX-License-Identifier: MIT */
/*
 * option.c - the one table of options: see option.h
 *
 * A new option is a new row. NUMBER stores a number with a unit as a limit. TEXT, CHOICE
 * and BITS store into one field of the plan, LIST and BIND append.
 */
#include <string.h>

#include "jail/plan/option_row.h"

#define K (1ULL << 10)
#define M (1ULL << 20)
#define T (1ULL << 40)
#define HOURS 3600000ULL

/* a string in the plan; it points to the value, which is not copied */
static int set_text(const struct option_row *row, struct plan *p, const char *value,
		    struct err *e)
{
	memcpy((char *)p + row->at, &value, sizeof(value));
	return row->check ? row->check(value, e) : 0;
}

static void print_text(const struct option_row *row, const struct plan *p, FILE *out)
{
	const char *value;

	memcpy(&value, (const char *)p + row->at, sizeof(value));
	if (value)
		(void)fprintf(out, "%s %s\n", row->name, value);
}

static int check_hostname(const char *value, struct err *e)
{
	size_t n = strspn(
		value,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.");

	if (n == 0 || value[n] || n > 64) /* __NEW_UTS_LEN */
		return err_say(e, EINVAL,
			       "'%s' must be 1 to 64 letters, digits, '-' or '.'", value);
	return 0;
}

/* two fds, neither of which is the program's; run looks whether they are open */
static int check_hold(const char *value, struct err *e)
{
	int f[4] = { 3, 3, 3, 3 }, n = 0;

	/* the second %n is written where all four are there */
	(void)sscanf(value, "%d,%d%n,%d,%d%n", &f[0], &f[1], &n, &f[2], &f[3], &n);
	if (!n || value[n] || f[0] < 3 || f[1] < 3 || f[2] < 3 || f[3] < 3)
		return err_say(e, EINVAL, "'%s' must be two fds from 3 on, or four",
			       value);
	return 0;
}

/* in the order of their enums; "/" stands for a path, which is kept beside the enum */
static const char *const net_names[] = { "none", "loopback", "/", NULL };
static const char *const net_namespace_names[] = { "leased", "fresh", NULL };
static const char *const wall_names[] = { "kernel", "vm", NULL };
static const char *const proc_names[] = { "pid", "none", NULL };
static const char *const capture_names[] = { "no", "both", "stderr", NULL };
static const char *const answer_names[] = { "no", "yes", NULL };

/* an enum in the plan; as large as an int */
static int set_choice(const struct option_row *row, struct plan *p, const char *value,
		      struct err *e)
{
	for (int i = 0; row->choices[i]; i++) {
		bool path = row->choices[i][0] == '/';

		if (path ? value[0] != '/' : strcmp(row->choices[i], value) != 0)
			continue;
		memcpy((char *)p + row->at, &i, sizeof(i));
		p->net_path = path ? value : p->net_path;
		return 0;
	}
	return err_say(e, EINVAL, "'%s' must be one of %s", value, row->arg);
}

static void print_choice(const struct option_row *row, const struct plan *p, FILE *out)
{
	int i;

	memcpy(&i, (const char *)p + row->at, sizeof(i));
	(void)fprintf(out, "%s %s\n", row->name,
		      row->choices[i][0] == '/' ? p->net_path : row->choices[i]);
}

/* All enums of the plan have small values and no negative one, so all have this size. */
_Static_assert(sizeof(enum plan_lock) == sizeof(int), "set_choice() stores an int");

static int set_bind(const struct option_row *row, struct plan *p, const char *value,
		    struct err *e)
{
	return plan_add_bind(p, value, strcmp(row->name, "bind-rw") == 0, e);
}

/* The row of --bind prints the binds of --bind-rw, too. The order matters: a bind may lie
 * within an earlier one. */
static void print_bind(const struct option_row *row, const struct plan *p, FILE *out)
{
	for (size_t i = 0; strcmp(row->name, "bind") == 0 && i < p->bind_count; i++)
		(void)fprintf(out, "bind%s %s:%s\n", p->bind[i].writable ? "-rw" : "",
			      p->bind[i].src, p->bind[i].dst);
}

static int set_list(const struct option_row *row, struct plan *p, const char *value,
		    struct err *e)
{
	return row->add(p, value, e);
}

/* an array in the plan, of strings or of structs that begin with the string given */
static void print_list(const struct option_row *row, const struct plan *p, FILE *out)
{
	const char *at = (const char *)p + row->at, *value;
	size_t count;

	memcpy(&count, (const char *)p + row->count_at, sizeof(count));
	for (; count; count--, at += row->stride) {
		memcpy(&value, at, sizeof(value));
		(void)fprintf(out, "%s %s\n", row->name, value);
	}
}

static const char *const aslr_names[] = { [ASLR_YES] = "yes", [ASLR_NO] = "no", NULL };
static const char *const lock_code_names[] = { "auto", "no", "yes", "warm", NULL };
static const char *const on_violation_names[] = {
	[VIOLATION_REFUSE] = "refuse", [VIOLATION_KILL] = "kill", NULL
};

static const char *const allow_missing_names[] = { "cgroup", "audit", NULL };
static const char *const require_names[] = { "landlock", NULL };

/* an unsigned int in the plan, with a bit for each name that was given */
static int set_bit(const struct option_row *row, struct plan *p, const char *value,
		   struct err *e)
{
	unsigned int bits, i = 0;

	memcpy(&bits, (const char *)p + row->at, sizeof(bits));
	while (row->choices[i] && strcmp(row->choices[i], value) != 0)
		i++;
	if (!row->choices[i])
		return err_say(e, EINVAL, "'%s' must be one of %s", value, row->arg);
	bits |= 1u << i;
	memcpy((char *)p + row->at, &bits, sizeof(bits));
	return 0;
}

static void print_bits(const struct option_row *row, const struct plan *p, FILE *out)
{
	unsigned int bits;

	memcpy(&bits, (const char *)p + row->at, sizeof(bits));
	for (unsigned int i = 0; row->choices[i]; i++)
		if (bits >> i & 1)
			(void)fprintf(out, "%s %s\n", row->name, row->choices[i]);
}

#define NUMBER(l, k, lo, hi, ini, unl)                                                   \
	.is_limit = true, .limit = (l), .kind = (k), .min = (lo), .max = (hi),           \
	.initial = (ini), .may_be_unlimited = (unl)
#define BIND .repeatable = true, .set = set_bind, .print = print_bind
#define LIST(field, f)                                                                   \
	.repeatable = true, .add = (f), .at = offsetof(struct plan, field),              \
	.count_at = offsetof(struct plan, field##_count),                                \
	.stride = sizeof(((struct plan *)NULL)->field[0]), .set = set_list,              \
	.print = print_list
#define TEXT(field)                                                                      \
	.at = offsetof(struct plan, field), .set = set_text, .print = print_text
#define ANSWER(field)                                                                    \
	.at = offsetof(struct plan, field), .choices = answer_names, .bare = "yes",      \
	.set = set_choice, .print = print_choice
#define BITS(field)                                                                      \
	.repeatable = true, .at = offsetof(struct plan, field),                          \
	.choices = field##_names, .set = set_bit, .print = print_bits
#define CHOICE(field)                                                                    \
	.at = offsetof(struct plan, field), .choices = field##_names, .set = set_choice, \
	.print = print_choice

const struct option_row option_rows[] = {
	{ "rootfs", "NAME|DIR",
	  "root tree: the name of a shipped tree, or a folder with a '/' in its path",
	  TEXT(rootfs) },
	{ "verify-rootfs", "no|yes",
	  "before anything runs, compare the root tree with the list DIR.sha256 beside it",
	  ANSWER(verify_rootfs) },
	{ "bind", "SRC:DST", "show a host file or folder in the jail, read-only", BIND },
	{ "bind-rw", "SRC:DST",
	  "the same, writable; the jail can read its host path in /proc/self/mountinfo",
	  BIND },
	{ "env", "KEY=VALUE",
	  "set an environment variable; none is taken over from the caller",
	  LIST(env, plan_add_env) },
	{ "chdir", "DIR", "working directory of the program", TEXT(chdir) },
	{ "hostname", "NAME", "host name in the jail", TEXT(hostname),
	  .check = check_hostname },
	{ "net", "none|loopback|PATH",
	  "no network interface is up, or only lo; or run as root: all that is in the network namespace at PATH; never the host's own network",
	  CHOICE(net) },
	{ "net-namespace", "leased|fresh",
	  "run as root: in a network namespace that another jail has left clean, without sockets of IP, if neither --net nor --allow-syscall says more; or in a new one",
	  CHOICE(net_namespace) },
	{ "allow-host", "HOST:PORT,...",
	  "let HTTP and HTTPS out to these hosts, through a proxy; *.NAME:PORT for all below NAME",
	  LIST(host, plan_add_host) },
	{ "secret-header", "HOST:NAME=FILE",
	  "add a header with the line in FILE to requests for http://HOST/, which are sent over TLS: the jail never has it",
	  LIST(header, plan_add_header) },
	{ "egress-limit", "SIZE", "bytes to and from all hosts of --allow-host together",
	  NUMBER(LIMIT_EGRESS_BYTES, VALUE_SIZE, 1, T, 256 * M, false) },
	{ "proc", "pid|none", "/proc with process folders only, or no /proc",
	  CHOICE(proc) },
	{ "wall", "kernel|vm",
	  "the jail shares the host's kernel, or is in a guest of QEMU's", CHOICE(wall) },
	{ "vm-memory", "SIZE", "memory of the guest of --wall vm",
	  NUMBER(LIMIT_VM_BYTES, VALUE_SIZE, 128 * M, T, 768 * M, false) },
	{ "wall-time", "TIME", "kill the jail after this much time",
	  NUMBER(LIMIT_WALL_MS, VALUE_TIME, 1, 24 * 366 * HOURS, 60000, true) },
	{ "cpu-time", "TIME",
	  "kill the jail after this much CPU time of all its processes together",
	  NUMBER(LIMIT_CPU_MS, VALUE_TIME, 10, 24 * 366 * HOURS, NO_LIMIT, true) },
	{ "memory", "SIZE", "memory of the jail, files in its tmpfs included",
	  NUMBER(LIMIT_MEMORY_BYTES, VALUE_SIZE, 4 * M, T, 512 * M, false) },
	{ "memory-high", "SIZE",
	  "above this much memory, slow the jail down and reclaim memory from it",
	  NUMBER(LIMIT_MEMORY_HIGH_BYTES, VALUE_SIZE, M, T, NO_LIMIT, true) },
	{ "swap", "SIZE", "swap space of the jail, in addition to --memory",
	  NUMBER(LIMIT_SWAP_BYTES, VALUE_SIZE, 0, T, 0, false) },
	{ "oom-group", "no|yes",
	  "when memory runs out, kill the whole jail and not one process of it",
	  ANSWER(oom_group) },
	{ "cpus", "NUMBER", "how many CPUs' time the jail may use",
	  NUMBER(LIMIT_CPUS_MILLI, VALUE_CPUS, 10, 1024000, 1000, true) },
	{ "cpu-weight", "NUMBER",
	  "share of busy CPUs beside other cgroups, which have 100 by default",
	  NUMBER(LIMIT_CPU_WEIGHT, VALUE_COUNT, 1, 10000, 100, false) },
	{ "cpuset", "LIST", "run on these CPUs only, as in 0-1,3", TEXT(cpuset),
	  .check = value_check_cpus },
	{ "io-max", "DEVICE KEY=N...",
	  "limit bytes (rbps, wbps) and operations (riops, wiops) a second on a disk: DEVICE is MAJOR:MINOR, or a path that lies on it",
	  LIST(io, plan_add_io) },
	{ "pids", "NUMBER", "processes and threads of the program",
	  NUMBER(LIMIT_PIDS, VALUE_COUNT, 1, 1000000, 64, false) },
	{ "files", "NUMBER", "open files of each process",
	  NUMBER(LIMIT_FILES, VALUE_COUNT, 8, 1048576, 256, false) },
	{ "file-locks", "NUMBER", "file locks of the jail; 0 refuses the calls that lock",
	  NUMBER(LIMIT_FILE_LOCKS, VALUE_COUNT, 0, 1000000, 1024, false) },
	{ "file-size", "SIZE", "largest file that can be written",
	  NUMBER(LIMIT_FILE_BYTES, VALUE_SIZE, 0, T, NO_LIMIT, true) },
	{ "tmp-size", "SIZE", "space in /tmp and /dev/shm together",
	  NUMBER(LIMIT_TMP_BYTES, VALUE_SIZE, 64 * K, T, 64 * M, false) },
	{ "work-size", "SIZE", "space in /work",
	  NUMBER(LIMIT_WORK_BYTES, VALUE_SIZE, 64 * K, T, 256 * M, false) },
	{ "inodes", "NUMBER",
	  "files and folders in /work, and in /tmp and /dev/shm together",
	  NUMBER(LIMIT_INODES, VALUE_COUNT, 16, 10000000, 16384, false) },
	{ "total-memory", "SIZE",
	  "memory of all jails of the host, or of this user's place, together; one number for all: a run that names another is refused",
	  NUMBER(LIMIT_TOTAL_MEMORY_BYTES, VALUE_SIZE, 4 * M, T, NO_LIMIT, true) },
	{ "total-pids", "NUMBER", "the same for processes and threads",
	  NUMBER(LIMIT_TOTAL_PIDS, VALUE_COUNT, 1, 4000000, NO_LIMIT, true) },
	{ "total-cpus", "NUMBER", "the same for CPUs' time",
	  NUMBER(LIMIT_TOTAL_CPUS_MILLI, VALUE_CPUS, 10, 1024000, NO_LIMIT, true) },
	{ "capture", "no|both|stderr",
	  "keep up to --output-limit of what is written, and print it at the end",
	  CHOICE(capture), .bare = "both" },
	{ "output-limit", "SIZE",
	  "bytes kept of each captured stream, half from its start and half from its end",
	  NUMBER(LIMIT_OUTPUT_BYTES, VALUE_SIZE, K, 16 * M, 64 * K, false) },
	{ "quiet", "no|yes",
	  "do not say what is not enforced, which limit ended the run, what --out copied, or what was refused",
	  ANSWER(quiet) },
	{ "report", "FILE|FD",
	  "write a JSON report of the run to a file, to the open fd number FD, or to stdout (-)",
	  TEXT(report) },
	{ "hold", "IN,OUT[,HELPER,SOCKET]",
	  "run: do not start the program before a byte can be read from the open fd number IN; when all else is ready, write the program's pid to the open fd number OUT; with the program start the one in the open fd number HELPER, behind the same walls, with SOCKET as its stdin",
	  TEXT(hold), .check = check_hold },
	{ "out", "DIR",
	  "when the program has ended, copy the files below /work/out to this folder, which must be new or empty",
	  TEXT(out) },
	{ "out-hidden", "no|yes",
	  "copy names that begin with a dot, too: programs obey some such files, as git does .git/config",
	  ANSWER(out_hidden) },
	{ "out-limit", "SIZE", "copy at most this many bytes of files",
	  NUMBER(LIMIT_OUT_BYTES, VALUE_SIZE, 1, T, 256 * M, false) },
	{ "lock-code", "auto|no|warm|yes",
	  "forbid subprocesses (execve) and new executable memory; auto is yes for the tree core, warm for data, no for others; warm is yes in sessions from a template, and no elsewhere",
	  CHOICE(lock_code), .bare = "yes" },
	{ "allow-syscall", "NAME[=VALUE]",
	  "allow a system call that is refused otherwise; for ioctl, prctl, socket and some others, with one VALUE of the argument that selects what is done",
	  LIST(call, plan_add_call) },
	{ "on-violation", "refuse|kill",
	  "on a forbidden system call: refuse it with EPERM, or kill the jail",
	  CHOICE(on_violation) },
	{ "learn", "no|yes",
	  "print the policy lines that would allow what was refused, and the risk of each",
	  ANSWER(learn) },
	{ "allow-missing", "cgroup|audit",
	  "run without cgroup limits where the host has no usable cgroup v2, or without a record of violations where an outer sandbox keeps it; the report says so",
	  BITS(allow_missing) },
	{ "require", "landlock",
	  "refuse to run where the kernel has no Landlock; without this, the report says so",
	  BITS(require) },
	{ "preload", "NAME,NAME...",
	  "modules that the interpreter imports before a session's first step; without it, a template of the tree data imports numpy and pandas",
	  TEXT(preload), .check = value_check_modules },
	{ "cold", "no|yes",
	  "start an interpreter for each session instead of cloning a template; always so with a folder as root tree",
	  ANSWER(cold) },
	{ "template-clones", "NUMBER",
	  "sessions that are cloned from one template, and share its memory layout",
	  NUMBER(LIMIT_TEMPLATE_CLONES, VALUE_COUNT, 1, 1000000, 1000, true) },
	{ "template-age", "TIME", "how long a template is used",
	  NUMBER(LIMIT_TEMPLATE_MS, VALUE_TIME, 1000, 1000 * HOURS, HOURS, true) },
	{ "sessions", "NUMBER", "sessions at the same time",
	  NUMBER(LIMIT_SESSIONS, VALUE_COUNT, 1, 16384, 1024, false) },
	{ "grace", "TIME", "how long an interrupted step has before it is killed",
	  NUMBER(LIMIT_GRACE_MS, VALUE_TIME, 1, HOURS, 2000, false) },
	{ "keep-states", "NUMBER",
	  "earlier states to go back to, beside those that branches are at",
	  NUMBER(LIMIT_KEEP_STATES, VALUE_COUNT, 0, PLAN_KEEP_STATES_MAX, 8, false) },
	{ "keep-memory", "SIZE",
	  "memory of these states together; the oldest are dropped first",
	  NUMBER(LIMIT_KEEP_BYTES, VALUE_SIZE, M, T, 256 * M, true) },
	{ "media-limit", "SIZE",
	  "bytes of pictures, tables and other things that a step may show beside its output; 0 for none",
	  NUMBER(LIMIT_MEDIA_BYTES, VALUE_SIZE, 0, 256 * M, 8 * M, false) },
	{ "deterministic", "no|yes",
	  "the same hash seed, random numbers, order of files, locale and time zone in each run, and one CPU",
	  ANSWER(deterministic) },
	{ "seed", "NUMBER", "seed for the hashes and random numbers of --deterministic",
	  NUMBER(LIMIT_SEED, VALUE_COUNT, 0, UINT32_MAX, 0, false) },
	{ "aslr", "yes|no", "random memory addresses, or the same ones in each run",
	  CHOICE(aslr), .bare = "yes" },
	{ "clock-start", "DATE",
	  "start the jail's monotonic clocks at zero, and its Python's wall clock at DATE, such as 2024-02-29T12:00:00Z; serve: in each session",
	  TEXT(clock_start), .check = plan_check_clock_start },
};
/* option_parse.c has one bit for each row in a uint64_t */
_Static_assert(COUNT(option_rows) <= 64, "more rows than bits");
const size_t option_row_count = COUNT(option_rows);

const struct option_group option_groups[] = {
	{ "rootfs", "What the jail shows", false },
	{ "wall-time", "Limits", false },
	{ "capture", "Output", false },
	{ "lock-code", "System calls, and walls that a host lacks", false },
	{ "preload", "Sessions (serve only)", true },
	{ "deterministic", "Runs that repeat", false },
	{ NULL, NULL, false },
};
