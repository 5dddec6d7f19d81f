/* SPDX-License-Identifier: MIT */
/*
 * test_jail_measure.c - what a measurer reads of hostile processes, and what becomes of
 * it
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/procfs.h"
#include "jail/serve/spawner/measurer.h"
#include "tests/unit/suites.h"
#include "tests/unit/watched.h"

#define BOTH (SPAWN_SHARES_MEMORY | SPAWN_SHARES_OFFSETS)

static int locked;

/* the tests' own process goes on */
static int note_lock(bool opens)
{
	locked = opens ? 2 : 1;
	return 0;
}

static uint64_t of_child(enum spawn_measure kind, void (*act)(void), int *r)
{
	uint64_t value = 0;
	int dir;

	locked = 0;
	watched_start(act);
	dir = procfs_open(watched_children[watched_count - 1]);
	ck_assert_int_ge(dir, 0);
	*r = measure(kind, dir, watched_children[watched_count - 1], note_lock, &value);
	(void)close(dir);
	watched_end();
	ck_assert_int_eq(locked, kind == SPAWN_MEMORY ? 2 : 1);
	return value;
}

static void take_private(void)
{
	(void)watched_touch(32 * MIB, MAP_PRIVATE);
}

/* a child that was forked from it has the same pages: each has a half of them */
static void share_private(void)
{
	take_private();
	if (fork() == 0)
		for (;;)
			(void)pause();
}

START_TEST(memory_is_told_as_whose_it_is)
{
	uint64_t own, shared, all;
	int r;

	if (!watched_can())
		return;
	own = of_child(SPAWN_OWN, take_private, &r);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_ge(own, 32 * MIB);
	shared = of_child(SPAWN_OWN, share_private, &r);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_ge(shared, 16 * MIB);
	ck_assert_uint_lt(shared, 28 * MIB);
	all = of_child(SPAWN_MEMORY, share_private, &r);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_ge(all, 32 * MIB);
	ck_assert_uint_lt(all, 48 * MIB);
}
END_TEST

/* a folder that plays one of /proc */
static char place[] = "/tmp/stepjail-measure-XXXXXX";

static int open_place(void)
{
	memcpy(place + sizeof(place) - 7, "XXXXXX", 6);
	ck_assert_ptr_nonnull(mkdtemp(place));

	int dir = open(place, O_PATH | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(dir, 0);
	ck_assert_int_eq(mkdirat(dir, "fdinfo", 0700), 0);
	return dir;
}

static void write_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_write_all(fd, text, strlen(text)), 0);
	(void)close(fd);
}

static void close_place(int dir)
{
	static const char *const names[] = { "fdinfo/3", "fdinfo/4", "maps",
					     "smaps_rollup" };

	for (size_t i = 0; i < COUNT(names); i++)
		(void)unlinkat(dir, names[i], 0);
	ck_assert_int_eq(unlinkat(dir, "fdinfo", AT_REMOVEDIR), 0);
	ck_assert_int_eq(rmdir(place), 0);
	(void)close(dir);
}

#define LINE "7f0000000000-7f0000001000 "
#define END " 00000000 00:01 5      "
#define PRIVATE LINE "rw-p" END "/tmp/a\n"

static const struct {
	const char *maps, *info;
	uint64_t shares;
} shown[] = {
	{ PRIVATE, "pos:\t0\nflags:\t02\n", 0 },
	{ PRIVATE, "pos:\t1\nflags:\t02\n", SPAWN_SHARES_OFFSETS },
	{ PRIVATE LINE "rw-s" END "/dev/zero\n", "pos:\t0\n", SPAWN_SHARES_MEMORY },
	{ PRIVATE LINE "-w-s" END "\n", "pos:\t18446744073709551615\n", BOTH },
	{ LINE "r--s" END "\n" LINE "r-xs" END "\n", "pos:\t0\n", 0 },
	/* names as the kernel writes them, with what looks like a line within */
	{ LINE "rw-p" END "/tmp/x\\012" LINE "rw-s" END "\n", "pos:\t0\n", 0 },
	{ LINE "rw-p" END "/tmp/ rw-s rw-s (deleted)\n", "pos:\t0\n", 0 },
	/* what is no such text */
	{ "", "pos:\t0\n", SPAWN_SHARES_MEMORY },
	{ PRIVATE, "", SPAWN_SHARES_OFFSETS },
	{ PRIVATE, "flags:\t02\npos:\t0\n", SPAWN_SHARES_OFFSETS },
	{ "\n\n \n  rw-s\nrw-s", "pos:", 0 },
	{ NULL, "pos:\t0\n", SPAWN_SHARES_MEMORY },
	{ PRIVATE, NULL, 0 },
};

START_TEST(what_is_shared_is_told)
{
	int dir = open_place();
	uint64_t value;

	if (shown[_i].maps)
		write_file(dir, "maps", shown[_i].maps);
	if (shown[_i].info)
		write_file(dir, "fdinfo/3", shown[_i].info);
	ck_assert_int_eq(measure(SPAWN_SHARED, dir, 0, note_lock, &value), 0);
	ck_assert_uint_eq(value, shown[_i].shares);
	close_place(dir);
}
END_TEST

/* the rest of a line that is longer than what is read at once is no line */
START_TEST(long_names_are_names)
{
	char text[4096] = LINE "rw-p" END "/tmp/";
	uint64_t value;
	int dir = open_place();

	for (size_t i = strlen(text); i < sizeof(text) - 8; i += 6)
		memcpy(text + i, "a rw-s", 7);
	write_file(dir, "maps", strcat(text, "\n"));
	ck_assert_int_eq(measure(SPAWN_SHARED, dir, 0, note_lock, &value), 0);
	ck_assert_uint_eq(value, 0);
	close_place(dir);
}
END_TEST

/* each of two protections, so that the kernel joins none */
static void map_thousands(void)
{
	char *at =
		mmap(NULL, 20000 * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t i = 0; i < 20000; i += 2)
		(void)mprotect(at + i * 4096, 4096, PROT_NONE);
}

START_TEST(what_is_not_looked_at_counts_as_shared)
{
	uint64_t value;
	int r;

	if (!watched_can())
		return;
	value = of_child(SPAWN_SHARED, map_thousands, &r);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(value & SPAWN_SHARES_MEMORY, SPAWN_SHARES_MEMORY);
}
END_TEST

START_TEST(one_that_has_ended_is_not_nothing)
{
	uint64_t value = 0;
	pid_t child = fork();
	int dir;

	if (child == 0)
		for (;;)
			(void)pause();
	dir = procfs_open(child);
	ck_assert_int_ge(dir, 0);
	(void)kill(child, SIGKILL);
	ck_assert_int_eq(waitpid(child, NULL, 0), child);
	ck_assert_int_lt(measure(SPAWN_OWN, dir, child, note_lock, &value), 0);
	ck_assert_int_lt(measure(SPAWN_SHARED, dir, child, note_lock, &value), 0);
	(void)close(dir);
}
END_TEST

static const struct {
	const char *text;
	int r;
	uint64_t bytes;
} rollups[] = {
	{ "a-b ---p 0 00:00 0 [rollup]\nRss: 9 kB\nPss: 7 kB\nPss_Anon: 4 kB\n", 0,
	  7 * 1024 },
	{ "xPss: 4 kB\n Pss: 9 kB\n", 0, 0 },
	{ "Pss: none\nPss:\n", 0, 0 },
	{ "", -ESRCH, 0 },
};

START_TEST(a_rollup_is_its_keys)
{
	int dir = open_place();
	uint64_t bytes = 0;

	write_file(dir, "smaps_rollup", rollups[_i].text);
	ck_assert_int_eq(measure(SPAWN_OWN, dir, 0, note_lock, &bytes), rollups[_i].r);
	ck_assert_uint_eq(bytes, rollups[_i].bytes);
	close_place(dir);
}
END_TEST

static struct {
	struct event_loop loop;
	struct measurers all;
	int told;
	uint32_t jail, tag;
	struct measured last;
} m;

static void note(struct measurers *all, uint32_t jail, uint32_t tag,
		 const struct measured *what)
{
	ck_assert_ptr_eq(all, &m.all);
	m.told++;
	m.jail = jail;
	m.tag = tag;
	m.last = *what;
}

static struct confine walls = { .root = -1 };

static void begin(void)
{
	struct err e;

	memset(&m, 0, sizeof(m));
	ck_assert_int_eq(event_loop_open(&m.loop, &e), 0);
	m.all = (struct measurers){ &m.loop, &walls, .done = note };
}

static void await(int told)
{
	struct err e;

	while (m.told < told)
		ck_assert_int_eq(event_loop_turn(&m.loop, &e), 0);
}

/* its processes are reaped, and its fds are closed */
static void end(int fds)
{
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1);
	ck_assert_int_eq(errno, ECHILD);
	(void)close(m.loop.epoll);
	ck_assert_int_eq(unit_fds(), fds);
}

START_TEST(a_measurer_measures)
{
	int fds = unit_fds(), dir;

	begin();
	dir = procfs_open(getpid());
	ck_assert_int_eq(measurer_start(&m.all, 3, 9, SPAWN_OWN, dir, getpid()), 0);
	await(1);
	ck_assert_uint_eq(m.jail, 3);
	ck_assert_uint_eq(m.tag, 9);
	ck_assert_uint_eq(m.last.errnum, 0);
	ck_assert_uint_gt(m.last.bytes, 0);
	(void)close(dir);
	end(fds);
}
END_TEST

/* opening this waits for ever */
static int open_hanging(void)
{
	int dir = open_place();

	ck_assert_int_eq(mkfifoat(dir, "smaps_rollup", 0600), 0);
	return dir;
}

START_TEST(there_are_so_many_and_no_more)
{
	int fds = unit_fds(), dir = open_hanging();
	uint32_t jail = 0;

	begin();
	for (; jail < MEASURERS_MAX; jail++) {
		ck_assert_int_eq(measurer_start(&m.all, jail, 0, SPAWN_OWN, dir, 0), 0);
		/* one for each jail */
		ck_assert_int_eq(measurer_start(&m.all, jail, 1, SPAWN_OWN, dir, 0),
				 -EBUSY);
	}
	ck_assert_int_eq(measurer_start(&m.all, jail, 0, SPAWN_OWN, dir, 0), -EBUSY);
	for (int i = 0; i < MEASURERS_MAX; i++)
		ck_assert_int_eq(kill(m.all.one[i].pid, SIGKILL), 0);
	await(MEASURERS_MAX);
	ck_assert_uint_eq(m.last.errnum, EIO);
	ck_assert_int_eq(m.told, MEASURERS_MAX);
	/* and all may be used again */
	ck_assert_int_eq(measurer_start(&m.all, jail, 0, SPAWN_SHARED, dir, 0), 0);
	await(MEASURERS_MAX + 1);
	ck_assert_uint_eq(m.jail, MEASURERS_MAX);
	ck_assert_uint_eq(m.last.errnum, 0);
	ck_assert_uint_eq(m.last.bytes, SPAWN_SHARES_MEMORY);
	close_place(dir);
	end(fds);
}
END_TEST

START_TEST(one_that_is_late_is_killed)
{
	int fds = unit_fds(), dir = open_hanging();

	begin();
	ck_assert_int_eq(measurer_start(&m.all, 1, 2, SPAWN_OWN, dir, 0), 0);
	ck_assert_uint_gt(m.all.one[0].deadline.at_ms, 0);
	m.all.one[0].deadline.ring(&m.all.one[0].deadline);
	await(1);
	ck_assert_uint_eq(m.last.errnum, ETIMEDOUT);
	ck_assert_uint_eq(m.tag, 2);
	close_place(dir);
	end(fds);
}
END_TEST

/* the parent of measurers is a child of the test's: when that is killed, they end */
START_TEST(it_ends_with_the_spawner)
{
	int dir = open_hanging(), ends[2];
	struct pollfd p;
	pid_t spawner;

	ck_assert_int_eq(pipe(ends), 0);
	spawner = fork();
	if (spawner == 0) {
		begin();
		if (measurer_start(&m.all, 1, 2, SPAWN_OWN, dir, 0) < 0)
			_exit(1);
		(void)!write(ends[1], &m.all.one[0].pid, sizeof(pid_t));
		for (;;)
			(void)pause();
	}

	pid_t measurer;

	ck_assert_int_eq(read(ends[0], &measurer, sizeof(measurer)), sizeof(measurer));
	p = (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, measurer, 0),
			     .events = POLLIN };
	ck_assert_int_ge(p.fd, 0);
	ck_assert_int_eq(poll(&p, 1, 50), 0);
	(void)kill(spawner, SIGKILL);
	ck_assert_int_eq(waitpid(spawner, NULL, 0), spawner);
	ck_assert_int_eq(poll(&p, 1, 60000), 1);
	(void)close(p.fd);
	(void)close(ends[0]);
	(void)close(ends[1]);
	close_place(dir);
}
END_TEST

Suite *jail_measure_suite(void)
{
	Suite *s = suite_create("jail measure");
	TCase *c = tcase_create("measure");

	tcase_set_timeout(c, 120);
	tcase_add_checked_fixture(c, NULL, watched_end);
	tcase_add_test(c, memory_is_told_as_whose_it_is);
	tcase_add_loop_test(c, what_is_shared_is_told, 0, COUNT(shown));
	tcase_add_test(c, long_names_are_names);
	tcase_add_test(c, what_is_not_looked_at_counts_as_shared);
	tcase_add_test(c, one_that_has_ended_is_not_nothing);
	tcase_add_loop_test(c, a_rollup_is_its_keys, 0, COUNT(rollups));
	tcase_add_test(c, a_measurer_measures);
	tcase_add_test(c, there_are_so_many_and_no_more);
	tcase_add_test(c, one_that_is_late_is_killed);
	tcase_add_test(c, it_ends_with_the_spawner);
	suite_add_tcase(s, c);
	return s;
}
