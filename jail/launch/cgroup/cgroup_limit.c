/* SPDX-License-Identifier: MIT */
/*
 * cgroup_limit.c - a plan's limits, as a leaf's files have them: see cgroup_limit.h
 *
 * One table says what a leaf's file must hold; it is written, read back, reported, and
 * named where there is no leaf, from the same row.
 * Kernel: Documentation/admin-guide/cgroup-v2.rst, "Controllers"
 */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>

#include "init/io.h"
#include "jail/launch/cgroup/cgroup_limit.h"
#include "jail/base/json.h"
#include "jail/base/procfs.h"

/* the kernel keeps whole pages, rounded down */
#define PAGES 0

/* a number's text is the limit times scale, plus add, and the suffix */
static const struct row {
	const char *file;
	const char *initial; /* what the kernel has when nothing is written */
	enum limit limit;    /* LIMIT_COUNT: no number, see say() */
	unsigned int scale, add;
	const char *suffix;
	const char *instead; /* where there is no leaf; NULL: nothing */
	bool read_only;
} rows[CGROUP_LIMITS] = {
	{ "memory.max", "", LIMIT_MEMORY_BYTES, PAGES, 0, "",
	  "RLIMIT_DATA for each process, and a look at their sum every 50 ms that does not see files in tmpfs, nor what lies in sockets and pipes; the calls in \"shut\" fail",
	  false },
	{ "memory.high", "max", LIMIT_MEMORY_HIGH_BYTES, PAGES, 0, "", NULL, false },
	{ "memory.swap.max", "", LIMIT_SWAP_BYTES, PAGES, 0, "", NULL, false },
	{ "memory.oom.group", "0", LIMIT_COUNT, 1, 0, "", NULL, false },
	/* stepjail-init is in the leaf too */
	{ "pids.max", "", LIMIT_PIDS, 1, 1, "", "RLIMIT_NPROC", false },
	/* thousandths of a CPU are hundredfold microseconds of a 100 ms period */
	{ "cpu.max", "max 100000", LIMIT_CPUS_MILLI, 100, 0, " 100000", NULL, false },
	{ "cpu.weight", "100", LIMIT_CPU_WEIGHT, 1, 0, "", NULL, false },
	{ "cpuset.cpus", "", LIMIT_COUNT, 1, 0, "", NULL, false },
	/* less than was written, where the parent has less */
	{ "cpuset.cpus.effective", "", LIMIT_COUNT, 1, 0, "", NULL, true },
};

static void put_number(char *text, uint64_t n, const char *suffix)
{
	if (n == NO_LIMIT)
		(void)snprintf(text, CGROUP_TEXT_MAX, "max%s", suffix);
	else
		(void)snprintf(text, CGROUP_TEXT_MAX, "%" PRIu64 "%s", n, suffix);
}

/* what a row's file must hold */
static void say(const struct row *row, const struct plan *p, char *text)
{
	bool number = row->limit != LIMIT_COUNT;
	uint64_t n = number ? p->limit[row->limit] : p->oom_group == ANSWER_YES;

	if (!number && row->file[0] == 'c')
		(void)snprintf(text, CGROUP_TEXT_MAX, "%s", p->cpuset ? p->cpuset : "");
	else if (row->scale == PAGES && n != NO_LIMIT)
		put_number(text, n - n % (uint64_t)sysconf(_SC_PAGESIZE), row->suffix);
	else
		put_number(text, n == NO_LIMIT ? n : n * row->scale + row->add,
			   row->suffix);
}

/* was the kernel's initial value planned? There is then nothing to write */
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

/* find the number of a whole disk, given the disk, a partition, or a file on either */
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
		return err_say(
			e, ENODEV,
			"--io-max: %.200s is on no disk that io.max knows (%s): name the disk itself; lsblk lists them",
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
		char number[CGROUP_TEXT_MAX];
		size_t n = strlen(line);

		put_number(number, io->rate[i], "");
		(void)snprintf(line + n, CGROUP_DISK_MAX - n, " %s=%.20s", keys[i],
			       number);
	}
	return r;
}

static int write_disks(int leaf, const struct plan *p, struct cgroup_limits *l,
		       struct err *e)
{
	for (size_t i = 0; i < p->io_count; i++) {
		int r = say_disk(&p->io[i], l->disk[i], e);

		if (r < 0)
			return r;
		r = io_write_file_at(leaf, "io.max", l->disk[i]);
		if (r < 0)
			return err_set(e, -r, "cgroup: write '%s' to io.max", l->disk[i]);
	}
	return 0;
}

int cgroup_limit(int leaf, const struct plan *p, struct cgroup_limits *l, struct err *e)
{
	for (size_t i = 0; i < CGROUP_LIMITS; i++) {
		char text[CGROUP_TEXT_MAX];
		int r;

		say(&rows[i], p, text);
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

/* of the folder that all leaves are in */
static const struct row totals[] = {
	{ "memory.max", "max", LIMIT_TOTAL_MEMORY_BYTES, PAGES, 0, "", NULL, false },
	{ "pids.max", "max", LIMIT_TOTAL_PIDS, 1, 0, "", NULL, false },
	{ "cpu.max", "max 100000", LIMIT_TOTAL_CPUS_MILLI, 100, 0, " 100000", NULL,
	  false },
};

int cgroup_limit_total(int base, const struct plan *p, struct err *e)
{
	for (size_t i = 0; i < COUNT(totals); i++) {
		char text[CGROUP_TEXT_MAX], now[CGROUP_TEXT_MAX] = "";
		ssize_t n;

		say(&totals[i], p, text);
		if (is_initial(&totals[i], text))
			continue;
		n = io_read_file_at(base, totals[i].file, now, sizeof(now));
		if (now[0] == 'm') { /* max: this is the first run that names one */
			n = io_write_file_at(base, totals[i].file, text);
			(void)io_read_file_at(base, totals[i].file, now, sizeof(now));
		}
		now[strcspn(now, "\n")] = '\0';
		if (strcmp(now, text) != 0)
			return err_set(
				e, n < 0 ? (int)-n : EPROTO,
				"cgroup: %s of all jails together is '%.60s', not '%.60s': name the same --total- limit everywhere, or write it into that file of the folder that jails are in",
				totals[i].file, now, text);
	}
	return 0;
}

static int differs(const char *file, const char *got, const char *planned, struct err *e)
{
	return err_say(
		e, EPROTO,
		"cgroup: %s reads '%.200s' where '%.200s' was planned: the program was not started",
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
	for (char *at = l->disks; (at = strchr(at, '\n'));)
		*at = ',';
	for (size_t i = 0; i < p->io_count; i++)
		if (!procfs_lists(l->disks, l->disk[i], ","))
			return differs("io.max", l->disks, l->disk[i], e);
	if (n > 0)
		l->disks[n - 1] = '\0';
	return 0;
}

int cgroup_verify(int leaf, const struct plan *p, struct cgroup_limits *l, struct err *e)
{
	for (size_t i = 0; i < CGROUP_LIMITS; i++) {
		char planned[CGROUP_TEXT_MAX], *got = l->text[i];
		ssize_t n = io_read_file_at(leaf, rows[i].file, got, CGROUP_TEXT_MAX);

		say(&rows[i], p, planned);
		if (n == -ENOENT && may_be_missing(&rows[i], planned)) {
			*got = '\0';
			continue;
		}
		if (n < 0)
			return err_set(e, (int)-n, "cgroup: read %s back", rows[i].file);
		got[strcspn(got, "\n")] = '\0';
		/* a read-only row is told where the plan asks for nothing, too */
		if (strcmp(got, planned) != 0 && !(rows[i].read_only && !*planned))
			return differs(rows[i].file, got, planned, e);
	}

	int r = verify_disks(leaf, p, l, e);

	l->known = r == 0;
	return r;
}

void cgroup_limits_print(const struct cgroup_limits *l, FILE *out)
{
	if (!l->known) {
		(void)fputs("null", out);
		return;
	}
	for (size_t i = 0; i < CGROUP_LIMITS; i++) {
		(void)fprintf(out, "%s\"%s\":", i ? "," : "{", rows[i].file);
		json_after("", *l->text[i] ? l->text[i] : NULL, out);
	}
	json_after(",\"io.max\":", *l->disks ? l->disks : NULL, out);
	(void)fputc('}', out);
}

size_t cgroup_limits_missing(const struct plan *p, const struct cgroup_limits *l,
			     FILE *out)
{
	char text[CGROUP_TEXT_MAX + 128];
	size_t count = 0;

	for (size_t i = 0; i < CGROUP_LIMITS + p->io_count; i++) {
		const struct row *row = i < CGROUP_LIMITS ? &rows[i] : NULL;

		if (row)
			say(row, p, text);
		if (row && (row->read_only || is_initial(row, text)))
			continue;
		if (l && (!l->known || !row || *l->text[i]))
			continue;
		(void)snprintf(text, sizeof(text), "%s%.300s: limited by %s",
			       row ? row->file : "io.max ",
			       row ? "" : p->io[i - CGROUP_LIMITS].spec,
			       row && row->instead ? row->instead : "nothing");
		json_after(count++ ? "," : "", text, out);
	}
	return count;
}
