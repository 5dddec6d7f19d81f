/* SPDX-License-Identifier: MIT */
/*
 * cgroup_limit.c - a plan's limits, as a leaf's files have them: see cgroup_limit.h
 *
 * One table says what a leaf's file must hold; it is written, read back, reported, and
 * named where there is no leaf, from the same row.
 * Kernel: Documentation/admin-guide/cgroup-v2.rst, "Controllers"
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/cgroup_limit.h"
#include "jail/json.h"

#define CPU_PERIOD_US 100000

static void put_number(char *text, uint64_t n)
{
	if (n == NO_LIMIT)
		(void)snprintf(text, VALUE_LIST_MAX, "max");
	else
		(void)snprintf(text, VALUE_LIST_MAX, "%" PRIu64, n);
}

/* the kernel keeps whole pages, rounded down */
static void say_memory(enum limit limit, const struct plan *p, char *text)
{
	uint64_t n = p->limit[limit];

	put_number(text, n == NO_LIMIT ? n : n - n % (uint64_t)sysconf(_SC_PAGESIZE));
}

/* stepjail-init is in the leaf too */
static void say_pids(enum limit limit, const struct plan *p, char *text)
{
	put_number(text, p->limit[limit] + 1);
}

/* thousandths of a CPU are hundredfold microseconds of a 100 ms period */
static void say_cpus(enum limit limit, const struct plan *p, char *text)
{
	uint64_t n = p->limit[limit];

	put_number(text, n == NO_LIMIT ? n : n * (CPU_PERIOD_US / 1000));
	(void)snprintf(text + strlen(text), 16, " %d", CPU_PERIOD_US);
}

static void say_weight(enum limit limit, const struct plan *p, char *text)
{
	put_number(text, p->limit[limit]);
}

static void say_oom_group(enum limit limit, const struct plan *p, char *text)
{
	(void)limit;
	put_number(text, p->oom_group == ANSWER_YES);
}

static void say_cpuset(enum limit limit, const struct plan *p, char *text)
{
	struct err e;

	(void)limit;
	*text = '\0';
	/* the option's own check took it, so it is a list */
	if (p->cpuset)
		(void)value_cpu_list(p->cpuset, text, &e);
}

static const struct row {
	const char *file;
	void (*say)(enum limit limit, const struct plan *p, char *text);
	enum limit limit;
	const char *initial; /* what the kernel has when nothing is written */
	bool read_only;
	const char *instead; /* where there is no leaf */
} rows[CGROUP_LIMITS] = {
	{ "memory.max", say_memory, LIMIT_MEMORY_BYTES, "", false,
	  "RLIMIT_DATA for each process, and a watch of their sum every 50 ms that does "
	  "not see files in tmpfs or memfd" },
	{ "memory.high", say_memory, LIMIT_MEMORY_HIGH_BYTES, "max", false, "nothing" },
	{ "memory.swap.max", say_memory, LIMIT_SWAP_BYTES, "", false, "nothing" },
	{ "memory.oom.group", say_oom_group, LIMIT_COUNT, "0", false, "nothing" },
	{ "pids.max", say_pids, LIMIT_PIDS, "", false, "RLIMIT_NPROC" },
	{ "cpu.max", say_cpus, LIMIT_CPUS_MILLI, "max 100000", false, "nothing" },
	{ "cpu.weight", say_weight, LIMIT_CPU_WEIGHT, "100", false, "nothing" },
	{ "cpuset.cpus", say_cpuset, LIMIT_COUNT, "", false, "nothing" },
	/* less than was written, where the parent has less */
	{ "cpuset.cpus.effective", say_cpuset, LIMIT_COUNT, "", true, NULL },
};

/* nothing to be held to: what the kernel has by itself is what was planned */
static bool is_initial(const struct row *row, const char *text)
{
	return strcmp(text, row->initial) == 0;
}

/* a kernel without swap accounting is no lack where there is nothing to swap to */
static bool may_be_missing(const struct row *row, const char *text)
{
	struct sysinfo host;

	return is_initial(row, text) || (row->limit == LIMIT_SWAP_BYTES &&
					 sysinfo(&host) == 0 && host.totalswap == 0);
}

/* the whole disk's number, of a disk, a part of it, or the file system on either */
static int find_disk(const struct plan_io *io, char *number, size_t size, struct err *e)
{
	char path[PATH_MAX], part[96], text[32];
	unsigned int major, minor;
	struct stat st;

	(void)snprintf(path, sizeof(path), "%.*s", io->device_length, io->spec);
	if (sscanf(path, "%u:%u", &major, &minor) != 2 ||
	    strspn(path, "0123456789:") != strlen(path)) {
		if (stat(path, &st) < 0)
			return err_set(e, errno, "--io-max: %.200s", path);

		dev_t dev = S_ISBLK(st.st_mode) ? st.st_rdev : st.st_dev;

		major = major(dev);
		minor = minor(dev);
	}
	(void)snprintf(number, size, "%u:%u", major, minor);
	(void)snprintf(part, sizeof(part), "/sys/dev/block/%s/dev", number);
	if (io_read_file_at(AT_FDCWD, part, text, sizeof(text)) <= 0)
		return err_say(e, ENODEV,
			       "--io-max: %.200s is on no disk that io.max knows (%s): "
			       "name the disk itself; lsblk lists them",
			       path, number);
	(void)snprintf(part, sizeof(part), "/sys/dev/block/%s/partition", number);
	if (access(part, F_OK) < 0)
		return 0;
	(void)snprintf(part, sizeof(part), "/sys/dev/block/%s/../dev", number);
	if (io_read_file_at(AT_FDCWD, part, text, sizeof(text)) <= 0)
		return err_set(e, ENODEV, "--io-max: find the disk of %.200s", path);
	(void)snprintf(number, size, "%.*s", (int)strcspn(text, "\n"), text);
	return 0;
}

/* the line of io.max for one device, as the kernel prints it */
static int say_disk(const struct plan_io *io, char *line, struct err *e)
{
	static const char *const keys[RATE_COUNT] = { "rbps", "wbps", "riops", "wiops" };
	int r = find_disk(io, line, CGROUP_DISK_MAX, e);

	for (size_t i = 0; i < RATE_COUNT; i++) {
		char number[VALUE_LIST_MAX];
		size_t n = strlen(line);

		put_number(number, io->rate[i]);
		(void)snprintf(line + n, CGROUP_DISK_MAX - n, " %s=%.20s", keys[i],
			       number);
	}
	return r;
}

static int write_disks(int leaf, const struct plan *p, struct cgroup_limits *l,
		       struct err *e)
{
	for (size_t i = 0; i < p->io_count; i++) {
		size_t number;
		int r = say_disk(&p->io[i], l->disk[i], e);

		if (r < 0)
			return r;
		number = strcspn(l->disk[i], " ") + 1;
		for (size_t k = 0; k < i; k++)
			if (strncmp(l->disk[i], l->disk[k], number) == 0)
				return err_say(e, EEXIST,
					       "--io-max: '%s' and '%s' are the same "
					       "disk",
					       p->io[k].spec, p->io[i].spec);
		r = io_write_file_at(leaf, "io.max", l->disk[i]);
		if (r < 0)
			return err_set(e, -r, "cgroup: write '%s' to io.max", l->disk[i]);
	}
	return 0;
}

int cgroup_limit(int leaf, const struct plan *p, struct cgroup_limits *l, struct err *e)
{
	for (size_t i = 0; i < CGROUP_LIMITS; i++) {
		char text[VALUE_LIST_MAX];
		int r;

		rows[i].say(rows[i].limit, p, text);
		if (rows[i].read_only || is_initial(&rows[i], text))
			continue;
		r = io_write_file_at(leaf, rows[i].file, text);
		if (r == -ENOENT && may_be_missing(&rows[i], text))
			continue;
		if (r < 0)
			return err_set(e, -r, "cgroup: write '%s' to %s", text,
				       rows[i].file);
	}
	return write_disks(leaf, p, l, e);
}

static int differs(const char *file, const char *got, const char *planned, struct err *e)
{
	return err_say(
		e, EPROTO,
		"cgroup: %s reads '%.200s' where '%.200s' was planned: the program "
		"was not started",
		file, got, planned);
}

static int verify_disks(int leaf, const struct plan *p, struct cgroup_limits *l,
			struct err *e)
{
	ssize_t n = io_read_file_at(leaf, "io.max", l->disks, sizeof(l->disks));

	if (n == -ENOENT && p->io_count == 0)
		return 0;
	if (n < 0)
		return err_set(e, (int)-n, "cgroup: read io.max back");
	for (size_t i = 0; i < p->io_count; i++) {
		const char *at = strstr(l->disks, l->disk[i]);

		if (!at || (at != l->disks && at[-1] != '\n') ||
		    at[strlen(l->disk[i])] != '\n')
			return differs("io.max", l->disks, l->disk[i], e);
	}
	if (n > 0)
		l->disks[n - 1] = '\0';
	for (char *at = l->disks; (at = strchr(at, '\n'));)
		*at = ',';
	return 0;
}

int cgroup_verify(int leaf, const struct plan *p, struct cgroup_limits *l, struct err *e)
{
	for (size_t i = 0; i < CGROUP_LIMITS; i++) {
		char planned[VALUE_LIST_MAX], *got = l->text[i];
		ssize_t n = io_read_file_at(leaf, rows[i].file, got, VALUE_LIST_MAX);

		rows[i].say(rows[i].limit, p, planned);
		if (n == -ENOENT && may_be_missing(&rows[i], planned)) {
			*got = '\0';
			continue;
		}
		if (n < 0)
			return err_set(e, (int)-n, "cgroup: read %s back", rows[i].file);
		got[strcspn(got, "\n")] = '\0';
		/* what CPUs there are is told where the plan asks for none, too */
		if (strcmp(got, planned) != 0 && !(rows[i].read_only && !*planned))
			return differs(rows[i].file, got, planned, e);
	}
	l->known = true;
	return verify_disks(leaf, p, l, e);
}

void cgroup_limits_print(const struct cgroup_limits *l, FILE *out)
{
	if (!l->known) {
		(void)fputs("null", out);
		return;
	}
	for (size_t i = 0; i < CGROUP_LIMITS; i++) {
		(void)fprintf(out, "%s\"%s\":", i ? "," : "{", rows[i].file);
		json_string(out, *l->text[i] ? l->text[i] : NULL);
	}
	(void)fputs(",\"io.max\":", out);
	json_string(out, *l->disks ? l->disks : NULL);
	(void)fputc('}', out);
}

void cgroup_limits_missing(const struct plan *p, FILE *out)
{
	char text[VALUE_LIST_MAX + 128];
	const char *comma = "";

	for (size_t i = 0; i < CGROUP_LIMITS; i++) {
		rows[i].say(rows[i].limit, p, text);
		if (rows[i].read_only || is_initial(&rows[i], text))
			continue;
		(void)snprintf(text, sizeof(text), "%s: instead %s", rows[i].file,
			       rows[i].instead);
		(void)fputs(comma, out);
		json_string(out, text);
		comma = ",";
	}
	for (size_t i = 0; i < p->io_count; i++) {
		(void)snprintf(text, sizeof(text), "io.max %.300s: instead nothing",
			       p->io[i].spec);
		(void)fputs(comma, out);
		json_string(out, text);
		comma = ",";
	}
}
