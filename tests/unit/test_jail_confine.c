/* SPDX-License-Identifier: MIT */
/*
 * test_jail_confine.c - confine_self() in a child: what it does, and what it sees missing
 *
 * What an intruder could do in such a process is tests/integration/test_watcher.py's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/mount.h>
#include <linux/seccomp.h>

#include "init/filter.h"
#include "init/io.h"
#include "jail/base/sys.h"
#include "jail/base/procfs.h"
#include "jail/launch/posture.h"
#include "jail/walls/landlock.h"
#include "jail/watch/confine.h"
#include "tests/unit/suites.h"

#include "filter_watcher.h"

#define USER 64123
#define ID 1879048200u

static struct err e;
static struct confine c = { .root = -1,
			    .filter = filter_watcher,
			    .filter_count = COUNT(filter_watcher) };

/* in a child: each test confines itself; the number is the line that did not hold. By the
 * call itself: ASan asks for its stack of signals before _exit(2), and is refused */
static void end(int status)
{
	(void)syscall(SYS_exit_group, status);
}

#define HELD(condition)                                                                  \
	do {                                                                             \
		if (!(condition))                                                        \
			end((__LINE__ & 0x7f) | 0x80);                                   \
	} while (0)

static void in_child(void (*act)(void))
{
	int status;
	pid_t pid = fork();

	c.landlock_abi = landlock_abi(&e);
	if (pid == 0) {
		act();
		end(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0,
		      "status %x: a line whose number ends in these 7 bits does not hold",
		      (unsigned int)status);
}

static void expect_confined(void)
{
	HELD(syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY, 0) == -1 && errno == EPERM);
	HELD(syscall(SYS_kill, getpid(), 0) == -1 && errno == EPERM);
	HELD(syscall(SYS_clone, 0, 0, 0, 0, 0) == -1 && errno == EPERM);
	HELD(syscall(SYS_socket, 1, 1, 0) == -1 && errno == EPERM);
	HELD(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0) == MAP_FAILED);
}

static void as_user(void)
{
	struct confinement told = { 0 };

	if (geteuid() == 0)
		HELD(setresgid(USER, USER, USER) == 0 &&
		     setresuid(USER, USER, USER) == 0);
	HELD(confine_self(&c, &told, &e) == 0);
	HELD(told.known);
	expect_confined();
}

static void as_root(void)
{
	struct confinement told = { 0 };
	const char *ids =
		"\"uids\":\"1879048200 1879048200 1879048200 1879048200\","
		"\"gids\":\"1879048200 1879048200 1879048200 1879048200\",\"groups\":\"\"";

	c.id = ID;
	HELD(confine_self(&c, &told, &e) == 0);
	HELD(told.known && strstr(told.status, ids));
	expect_confined();
}

START_TEST(a_user_is_confined)
{
	in_child(as_user);
}
END_TEST

START_TEST(root_is_confined)
{
	if (geteuid() != 0)
		unit_skip("root: ids to give up");
	else
		in_child(as_root);
}
END_TEST

/* holes in between, in any order, and twice */
static void keep_fds(void)
{
	const int keep[] = { 40, -1, 7, 40, 20 };

	for (int fd = 3; fd < 50; fd++)
		HELD(dup2(0, fd) == fd);
	c.keep = keep;
	c.keep_count = COUNT(keep);
	HELD(confine_self(&c, &(struct confinement){ 0 }, &e) == 0);
	for (int fd = 3; fd < 50; fd++)
		HELD((fcntl(fd, F_GETFL) >= 0) == (fd == 40 || fd == 7 || fd == 20));
}

START_TEST(only_the_named_fds_stay)
{
	in_child(keep_fds);
}
END_TEST

/* what the supervisor of sessions needs: the processes of its jails, and no other path */
static void read_processes(void)
{
	static const struct sock_filter any[] = { { 6, 0, 0, SECCOMP_RET_ALLOW } };
	int fs, status, keep;
	char text[64];

	HELD(unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) == 0);
	pid_t pid = fork();

	if (pid > 0) {
		HELD(waitpid(pid, &status, 0) == pid);
		_exit(WEXITSTATUS(status));
	}
	fs = fsopen("proc", 1);
	HELD(fs >= 0);
	HELD(fsconfig(fs, 1, "subset", "pid", 0) == 0 &&
	     fsconfig(fs, 6, NULL, NULL, 0) == 0);
	keep = fsmount(fs, 1, MOUNT_ATTR_RDONLY);
	HELD(keep >= 0);
	c.keep = &keep;
	c.keep_count = 1;
	c.root = keep;
	procfs_use(keep);
	c.filter = any;
	c.filter_count = 1;
	HELD(confine_self(&c, &(struct confinement){ 0 }, &e) == 0);
	HELD(io_read_file_at(AT_FDCWD, "/1/stat", text, sizeof(text)) == -EFBIG);
	HELD(open("/etc/passwd", O_RDONLY) < 0);
	HELD(open("/../etc/passwd", O_RDONLY) < 0);
	HELD(openat(keep, "../etc/passwd", O_RDONLY) < 0);
	if (c.landlock_abi)
		HELD(open("/1/root/etc/passwd", O_RDONLY) < 0);
}

START_TEST(a_procfs_can_be_the_root_directory)
{
	in_child(read_processes);
}
END_TEST

static const struct {
	const char *key, *bad, *named;
} lies[] = {
	{ "Uid:", "Uid:\t0\t0\t0\t0", "uids" },
	{ "Gid:", "Gid:\t0\t0\t0\t0", "gids" },
	{ "Groups:", "Groups:\t4 ", "groups" },
	{ "CapInh:", "CapInh:\t0000000000000001", "cap_inheritable" },
	{ "CapPrm:", "CapPrm:\t0000000000000001", "cap_permitted" },
	{ "CapEff:", "CapEff:\t0000000000000001", "cap_effective" },
	{ "CapAmb:", "CapAmb:\t0000000000000001", "cap_ambient" },
	{ "NoNewPrivs:", "NoNewPrivs:\t0", "no_new_privs" },
	{ "Seccomp:", "Seccomp:\t0", "seccomp_mode" },
	{ "Seccomp_filters:", "Seccomp_filters:\t2", "seccomp_filters" },
};

static const char whole[] =
	"Name:\tUid:\nUid:\t1879048200\t1879048200\t1879048200\t1879048200\n"
	"Gid:\t1879048200\t1879048200\t1879048200\t1879048200\nGroups:\t \n"
	"CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:"
	"\t0000000000000000\n"
	"CapBnd:\t000001ffffffffff\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n"
	"Seccomp:\t2\nSeccomp_filters:\t3\n";

static const struct status_plan planned = {
	.uid = ID, .gid = ID, .own = true, .filters = 3
};

START_TEST(what_reads_otherwise_is_refused)
{
	struct confinement told = { 0 };
	const char *at = procfs_find(whole, lies[_i].key);
	char text[2048];

	ck_assert_int_eq(confine_compare(whole, &planned, &told, &e), 0);
	ck_assert_ptr_nonnull(
		strstr(told.status, "\"cap_bounding\":\"000001ffffffffff\""));
	at -= strlen(lies[_i].key);
	(void)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - whole), whole,
		       lies[_i].bad, strchr(at, '\n'));
	ck_assert_int_eq(confine_compare(text, &planned, &told, &e), -EPERM);
	ck_assert_ptr_nonnull(strstr(e.text, lies[_i].named));
	/* a line that is not there */
	(void)snprintf(text, sizeof(text), "%.*s%s", (int)(at - whole), whole,
		       strchr(at, '\n') + 1);
	ck_assert_int_eq(confine_compare(text, &planned, &told, &e), -EPERM);
	ck_assert_ptr_nonnull(strstr(e.text, lies[_i].key));
}
END_TEST

START_TEST(it_is_printed)
{
	struct confinement told = { .known = true, .landlock_abi = 6 };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ck_assert_int_eq(confine_compare(whole, &planned, &told, &e), 0);
	confine_print("", &told, out);
	confine_print("", &(struct confinement){ 0 }, out);
	(void)fclose(out);
	ck_assert_ptr_nonnull(strstr(text, ",\"uids\":\"1879048200 1879048200"));
	ck_assert_ptr_nonnull(
		strstr(text, ",\"no_new_privs\":\"1\",\"seccomp_mode\":\"2\""));
	ck_assert_ptr_nonnull(
		strstr(text, ",\"landlock\":{\"abi\":6,\"tried\":\"EACCES\"}}null"));
	free(text);
}
END_TEST

Suite *jail_confine_suite(void)
{
	Suite *s = suite_create("jail/confine");
	TCase *t = tcase_create("confine");

	tcase_add_test(t, a_user_is_confined);
	tcase_add_test(t, root_is_confined);
	tcase_add_test(t, only_the_named_fds_stay);
	tcase_add_test(t, a_procfs_can_be_the_root_directory);
	tcase_add_loop_test(t, what_reads_otherwise_is_refused, 0, COUNT(lies));
	tcase_add_test(t, it_is_printed);
	suite_add_tcase(s, t);
	return s;
}
