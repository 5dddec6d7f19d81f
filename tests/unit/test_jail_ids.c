/* SPDX-License-Identifier: MIT */
/*
 * test_jail_ids.c - which host ids a jail runs under
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/sched.h>

#include "init/io.h"
#include "jail/walls/caps.h"
#include "jail/walls/ids.h"
#include "jail/plan/plan.h"
#include "tests/unit/suites.h"

/* slots need a lock file of root's; in some containers even root has none */
static bool take_as_root(struct ids *ids)
{
	struct err e = { 0 };
	int r = ids_take(ids, &e);

	if (r == -EROFS || r == -EACCES) {
		unit_skip("ids: %s", e.text);
		return false;
	}
	ck_assert_msg(r == 0, "%s", e.text);
	return true;
}

START_TEST(a_user_has_the_one_id)
{
	struct ids ids;
	struct err e;

	if (geteuid() == 0) {
		unit_skip("ids of a user: the tests run as root");
		return;
	}
	ck_assert_int_eq(ids_take(&ids, &e), 0);
	ck_assert(!ids.own);
	ck_assert_int_eq(ids.slot_fd, -1);
	ck_assert_uint_eq(ids.host_uid, geteuid());
	ck_assert_uint_eq(ids.host_gid, getegid());
	ck_assert_uint_eq(ids.init_id, PLAN_PROGRAM_ID);
	ck_assert_uint_eq(ids.program_id, PLAN_PROGRAM_ID);
}
END_TEST

static void ck_pair(const struct ids *ids)
{
	ck_assert(ids->own);
	ck_assert_int_ge(ids->slot_fd, 0);
	ck_assert_uint_ge(ids->host_uid, IDS_BASE);
	ck_assert_uint_lt(ids->host_uid, IDS_BASE + 2 * IDS_SLOTS);
	ck_assert_uint_eq((ids->host_uid - IDS_BASE) % 2, 0);
	ck_assert_uint_eq(ids->host_gid, ids->host_uid);
	ck_assert_uint_eq(ids->init_id, 0);
	ck_assert_uint_eq(ids->program_id, PLAN_PROGRAM_ID);
	ck_assert_int_eq(fcntl(ids->slot_fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

START_TEST(root_gives_each_jail_its_own)
{
	enum { JAILS = 200 };
	struct ids ids[JAILS];

	if (geteuid() != 0) {
		unit_skip("ids of root's jails: needs root");
		return;
	}
	for (size_t i = 0; i < JAILS; i++) {
		if (!take_as_root(&ids[i]))
			return;
		ck_pair(&ids[i]);
		for (size_t k = 0; k < i; k++)
			HOLDS(ids[i].host_uid != ids[k].host_uid);
	}
	for (size_t i = 0; i < JAILS; i++)
		(void)close(ids[i].slot_fd);
}
END_TEST

static bool is_locked(int fd, uid_t host_uid)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (host_uid - IDS_BASE) / 2,
		.l_len = 1,
	};

	ck_assert_int_eq(fcntl(fd, F_OFD_GETLK, &lock), 0);
	return lock.l_type != F_UNLCK;
}

/* as long as any process holds a copy of the fd, as init does; no longer, and no less */
START_TEST(the_lock_lives_with_the_fd)
{
	struct ids ids, other;
	int copy;

	if (geteuid() != 0) {
		unit_skip("the lock on a jail's ids: needs root");
		return;
	}
	if (!take_as_root(&ids) || !take_as_root(&other))
		return;
	ck_assert(is_locked(other.slot_fd, ids.host_uid));
	copy = dup(ids.slot_fd);
	(void)close(ids.slot_fd);
	ck_assert(is_locked(other.slot_fd, ids.host_uid));
	(void)close(copy);
	ck_assert(!is_locked(other.slot_fd, ids.host_uid));
	(void)close(other.slot_fd);
}
END_TEST

START_TEST(the_lock_file_is_roots_alone)
{
	struct stat st;
	struct ids ids;

	if (geteuid() != 0) {
		unit_skip("the lock file of root's jails: needs root");
		return;
	}
	if (!take_as_root(&ids))
		return;
	ck_assert_int_eq(fstat(ids.slot_fd, &st), 0);
	ck_assert_uint_eq(st.st_uid, 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);
	ck_assert_int_eq(stat("/run/stepjail", &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0700);
	(void)close(ids.slot_fd);
}
END_TEST

/* in the new user namespace, once the test has written its maps */
static void be_the_jail(const struct ids *ids, int go)
{
	struct caps caps;
	struct err e = { 0 };
	char byte;

	MUST(caps_make(&caps, &e) == 0);
	MUST(read(go, &byte, 1) == 1);
	MUST(setgroups(0, NULL) < 0 && errno == EPERM);
	MUST(ids_become(ids->init_id, &e) == 0);
	MUST(getuid() == ids->init_id && getegid() == ids->init_id);
	/* the capabilities are kept for the stages in between */
	MUST(caps_drop_bounding(&e) == 0);
	MUST(ids_become(ids->program_id, &e) == 0);

	uid_t r, eff, saved;

	MUST(getresuid(&r, &eff, &saved) == 0);
	MUST(r == PLAN_PROGRAM_ID && eff == PLAN_PROGRAM_ID && saved == PLAN_PROGRAM_ID);
	MUST(getresgid(&r, &eff, &saved) == 0);
	MUST(r == PLAN_PROGRAM_ID && eff == PLAN_PROGRAM_ID && saved == PLAN_PROGRAM_ID);
	MUST(caps_drop_all(&caps, &e) == 0);
	/* for good: there is no way back, and none to an id without a map */
	MUST(!ids->own || (setuid(0) < 0 && errno == EPERM));
	MUST(setuid(4242) < 0);
	MUST(ids_become(ids->own ? 0 : 4242, &e) < 0 && e.errnum != 0);
}

/* what the host sees of it, by /proc/PID/status; every one of the four ids */
static void ck_host_sees(pid_t pid, const char *key, unsigned int want)
{
	char path[64], text[8192], line[128];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", pid);
	ck_assert_int_gt(io_read_file_at(AT_FDCWD, path, text, sizeof(text)), 0);
	(void)snprintf(line, sizeof(line), "\n%s:\t%u\t%u\t%u\t%u\n", key, want, want,
		       want, want);
	ck_assert_msg(strstr(text, line) != NULL, "no line %s in %s", line + 1, text);
}

static void map_a_jail(void *arg)
{
	const struct ids *ids = arg;
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	struct err e = { 0 };
	struct ids bad;
	int ends[2], status;

	MUST(pipe(ends) == 0);
	(void)fflush(NULL);

	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid < 0) {
		unit_skip("ids: no user namespace on this host: %s", strerror(errno));
		return;
	}
	if (pid == 0) {
		be_the_jail(ids, ends[0]);
		_exit(0);
	}
	bad = *ids;
	bad.own = true;
	bad.host_gid = UINT32_MAX - 1; /* the other one is then no id at all */
	MUST(ids_map(&bad, (pid_t)pid, &e) < 0 && strstr(e.text, "gid_map"));
	/* one line, of a map of two */
	MUST(!strchr(e.text, '\n'));
	MUST(ids_map(ids, (pid_t)pid, &e) == 0);
	/* a map is written once */
	MUST(ids_map(ids, (pid_t)pid, &e) < 0 && strncmp(e.text, "ids: ", 5) == 0);
	MUST(write(ends[1], "x", 1) == 1);
	MUST(waitpid((pid_t)pid, &status, 0) == pid);
	MUST(status == 0);
}

START_TEST(maps_are_written_and_ids_taken)
{
	struct ids ids;

	if (geteuid() == 0 && !take_as_root(&ids))
		return;
	if (geteuid() != 0)
		ck_assert_int_eq(ids_take(&ids, &(struct err){ 0 }), 0);
	unit_child(map_a_jail, &ids);
	io_close_fd(&ids.slot_fd);
}
END_TEST

/* a namespace that sleeps with the program's id */
static pid_t sleep_as_program(const struct ids *ids, int *said)
{
	struct clone_args args = { .flags = CLONE_NEWUSER, .exit_signal = SIGCHLD };
	int ends[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);

	long pid = syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0) {
		struct err e;
		char byte;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)close(ends[0]);
		if (read(ends[1], &byte, 1) == 1 &&
		    ids_become(ids->program_id, &e) == 0 && write(ends[1], "x", 1) == 1)
			(void)read(ends[1], &byte, 1);
		_exit(0);
	}
	(void)close(ends[1]);
	*said = ends[0];
	return (pid_t)pid;
}

START_TEST(the_host_never_sees_uid_0)
{
	struct ids ids;
	struct err e = { 0 };
	char byte;
	int said;

	if (geteuid() == 0 && !take_as_root(&ids))
		return;
	if (geteuid() != 0)
		ck_assert_int_eq(ids_take(&ids, &e), 0);

	pid_t pid = sleep_as_program(&ids, &said);

	if (pid < 0) {
		unit_skip("ids: no user namespace on this host: %s", strerror(errno));
		return;
	}
	ck_assert_msg(ids_map(&ids, pid, &e) == 0, "%s", e.text);
	ck_assert_int_eq(write(said, "x", 1), 1);
	ck_assert_int_eq(read(said, &byte, 1), 1);
	ck_host_sees(pid, "Uid", ids.host_uid + (ids.own ? 1 : 0));
	ck_host_sees(pid, "Gid", ids.host_gid + (ids.own ? 1 : 0));
	(void)close(said);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	io_close_fd(&ids.slot_fd);
}
END_TEST

/* every number of the range once: a pair of its own, and the others as they are */
START_TEST(a_template_maps_the_range)
{
	static const struct {
		uint32_t slot;
		const char *map;
	} rows[] = {
		{ 0, "0 1879048192 1\n1000 1879048193 1\n1879048194 1879048194 131070" },
		{ 5, "0 1879048202 1\n1000 1879048203 1\n1879048192 1879048192 10\n"
		     "1879048204 1879048204 131060" },
		{ IDS_SLOTS - 1, "0 1879179262 1\n1000 1879179263 1\n"
				 "1879048192 1879048192 131070" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct ids ids = { .own = true,
					 .gives = true,
					 .host_uid = IDS_BASE + 2 * rows[i].slot,
					 .host_gid = IDS_BASE + 2 * rows[i].slot,
					 .program_id = PLAN_PROGRAM_ID };
		char text[IDS_MAP_BYTES];

		for (int group = 0; group < 2; group++) {
			ids_print_map(&ids, group, text);
			ck_assert_str_eq(text, rows[i].map);
		}
	}
}
END_TEST

START_TEST(a_process_that_is_gone_is_an_error)
{
	const struct ids ids = { .slot_fd = -1, .program_id = PLAN_PROGRAM_ID };
	struct err e = { 0 };

	ck_assert_int_eq(ids_map(&ids, 0x3fffffff, &e), -ENOENT);
	ck_assert_int_eq(strncmp(e.text, "ids: ", 5), 0);
}
END_TEST

Suite *jail_ids_suite(void)
{
	Suite *s = suite_create("jail ids");
	TCase *c = tcase_create("ids");

	tcase_add_test(c, a_user_has_the_one_id);
	tcase_add_test(c, root_gives_each_jail_its_own);
	tcase_add_test(c, the_lock_lives_with_the_fd);
	tcase_add_test(c, the_lock_file_is_roots_alone);
	tcase_add_test(c, maps_are_written_and_ids_taken);
	tcase_add_test(c, the_host_never_sees_uid_0);
	tcase_add_test(c, a_template_maps_the_range);
	tcase_add_test(c, a_process_that_is_gone_is_an_error);
	suite_add_tcase(s, c);
	return s;
}
