/* SPDX-License-Identifier: MIT */
/*
 * test_jail_landlock.c - the second wall, in a folder that plays the jail's root
 *
 * chroot(2) in a user namespace gives the names that the rules are about; the mounts that
 * would refuse the same things in a jail are not there, so what is refused here is
 * refused by Landlock.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#include "init/filter.h"
#include "jail/walls/landlock.h"
#include "tests/unit/suites.h"

static const char *const folders[] = { "work", "tmp",  "dev", "dev/shm",
				       "etc",  "data", "ro" };
static const char *const files[] = { "dev/null",    "dev/zero", "dev/full", "dev/random",
				     "dev/urandom", "dev/tty",  "etc/file", "work/file",
				     "data/file",   "ro/file" };

static struct plan plan;

static int abi(void)
{
	struct err e;
	int r = landlock_abi(&e);

	return r > 0 ? r : 0;
}

static bool make_root(const char *root)
{
	if (abi() == 0) {
		unit_skip("landlock: this kernel has none");
		return false;
	}
	for (size_t i = 0; i < COUNT(folders); i++)
		ck_assert_int_eq(mkdir(unit_path(root, folders[i]), 0777), 0);
	for (size_t i = 0; i < COUNT(files); i++)
		(void)unit_file(root, files[i], "text", 4);
	return true;
}

/* false: the host refuses, and the skip is counted */
static bool enter(const char *root, int flags, const struct plan *p)
{
	struct err e = { 0 };

	if (!unit_namespace(flags))
		return false;
	MUST(chroot(root) == 0 && chdir("/") == 0);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(landlock_restrict(p, abi(), &e) == 0);
	return true;
}

static bool can(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);
	int errnum = errno;

	if (fd >= 0)
		(void)close(fd);
	MUST(fd >= 0 || errnum == EACCES);
	return fd >= 0;
}

#define MAKE (O_WRONLY | O_CREAT)

static void try_files(void *arg)
{
	if (!enter(arg, 0, &plan))
		return;
	/* to read: everywhere */
	MUST(can("/etc/file", O_RDONLY));
	MUST(can("/ro/file", O_RDONLY));
	MUST(can("/", O_RDONLY | O_DIRECTORY));
	/* to write: the three places */
	MUST(can("/work/new", MAKE) && can("/work/file", O_WRONLY));
	MUST(can("/tmp/new", MAKE) && can("/dev/shm/new", MAKE));
	MUST(mkdir("/work/folder", 0755) == 0 && rmdir("/work/folder") == 0);
	MUST(symlink("/etc", "/tmp/link") == 0 && mkfifo("/tmp/fifo", 0600) == 0);
	MUST(rename("/work/new", "/work/renamed") == 0 && unlink("/work/renamed") == 0);
	/* the device nodes, but no new ones */
	MUST(can("/dev/null", O_RDWR) && can("/dev/tty", O_RDWR));
	MUST(!can("/dev/new", MAKE));
	/* and nowhere else, by no way */
	MUST(!can("/etc/file", O_WRONLY) && !can("/etc/file", O_RDWR));
	MUST(!can("/etc/new", MAKE) && !can("/new", MAKE) && !can("/data/new", MAKE));
	MUST(!can("/ro/file", O_WRONLY) && !can("/tmp/link/file", O_WRONLY));
	MUST(mkdir("/etc/folder", 0755) < 0 && errno == EACCES);
	MUST(unlink("/etc/file") < 0 && errno == EACCES);
	MUST(rmdir("/data") < 0 && errno == EACCES);
	MUST(symlink("x", "/etc/link") < 0 && errno == EACCES);
	MUST(link("/etc/file", "/work/link") < 0 && (errno == EXDEV || errno == EACCES));
	MUST(rename("/etc/file", "/work/moved") < 0 &&
	     (errno == EXDEV || errno == EACCES));
	if (abi() >= 3)
		MUST(truncate("/etc/file", 0) < 0 && errno == EACCES);
	MUST(truncate("/work/file", 0) == 0);
}

START_TEST(writing_outside_is_refused)
{
	const char *root = unit_folder();

	plan_init(&plan);
	if (make_root(root))
		unit_child(try_files, (void *)(uintptr_t)root);
}
END_TEST

static void try_binds(void *arg)
{
	if (!enter(arg, 0, &plan))
		return;
	MUST(can("/data/file", O_WRONLY) && can("/data/new", MAKE));
	MUST(can("/etc/file", O_WRONLY));
	/* a file that is bound is not its folder */
	MUST(!can("/etc/new", MAKE));
	MUST(!can("/ro/file", O_WRONLY) && can("/ro/file", O_RDONLY));
}

START_TEST(writable_binds_are_places_to_write_to)
{
	const char *root = unit_folder();
	struct err e;

	unit_lives_on();
	plan_init(&plan);
	ck_assert_int_eq(plan_add_bind(&plan, "/x:/data", true, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/x:/etc/file", true, &e), 0);
	ck_assert_int_eq(plan_add_bind(&plan, "/x:/ro", false, &e), 0);
	if (make_root(root))
		unit_child(try_binds, (void *)(uintptr_t)root);
}
END_TEST

/* a redirected stdout, that a path leads to as well */
static void try_stdio(void *arg)
{
	int in = open(unit_path(arg, "etc/file"), O_RDONLY);
	int out = open(unit_path(arg, "ro/file"), O_WRONLY);

	MUST(dup2(in, 0) == 0 && dup2(out, 1) == 1);
	if (!enter(arg, 0, &plan))
		return;
	MUST(write(1, "x", 1) == 1);
	/* what they were opened for, and no more */
	MUST(can("/etc/file", O_RDONLY) && !can("/etc/file", O_WRONLY));
	MUST(can("/ro/file", O_WRONLY));
	MUST(!can("/data/file", O_WRONLY));
}

START_TEST(stdio_keeps_the_access_it_had)
{
	const char *root = unit_folder();

	plan_init(&plan);
	if (make_root(root))
		unit_child(try_stdio, (void *)(uintptr_t)root);
}
END_TEST

static int tcp_error(bool to_bind)
{
	const struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(to_bind ? 0 : 9),
	};
	const struct sockaddr *address = (const struct sockaddr *)&at;
	int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r;

	MUST(sock >= 0);
	r = to_bind ? bind(sock, address, sizeof(at))
		    : connect(sock, address, sizeof(at));
	r = r < 0 ? errno : 0;
	(void)close(sock);
	return r;
}

/* in a network namespace with lo down: without Landlock the errors are other ones */
static void try_net(void *arg)
{
	if (!enter(arg, CLONE_NEWNET, &plan))
		return;
	if (plan.net == NET_NONE) {
		MUST(tcp_error(true) == EACCES);
		MUST(tcp_error(false) == EACCES);
	} else {
		MUST(tcp_error(true) != EACCES);
		MUST(tcp_error(false) != EACCES);
	}
}

START_TEST(tcp_is_for_loopback_only)
{
	const char *root = unit_folder();

	if (abi() < 4) {
		unit_skip("landlock: TCP rules need ABI 4, this kernel has %d", abi());
		return;
	}
	ck_assert(make_root(root));
	plan_init(&plan);
	plan.net = _i ? NET_LOOPBACK : NET_NONE;
	unit_child(try_net, (void *)(uintptr_t)root);
}
END_TEST

static void try_scopes(void *arg)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 24);

	/* one that listens outside of the wall */
	(void)snprintf(name.sun_path + 1, 24, "stepjail-unit-%d", getpid());
	MUST(bind(sock, (struct sockaddr *)&name, length) == 0 && listen(sock, 1) == 0);
	if (!enter(arg, 0, &plan))
		return;
	MUST(connect(peer, (struct sockaddr *)&name, length) < 0 && errno == EPERM);
	MUST(kill(getppid(), 0) < 0 && errno == EPERM);
	MUST(kill(getpid(), 0) == 0);
}

START_TEST(signals_and_abstract_sockets_stay_inside)
{
	const char *root = unit_folder();

	if (abi() < 6) {
		unit_skip("landlock: scopes need ABI 6, this kernel has %d", abi());
		return;
	}
	ck_assert(make_root(root));
	plan_init(&plan);
	unit_child(try_scopes, (void *)(uintptr_t)root);
}
END_TEST

static void try_incomplete(void *arg)
{
	struct err e = { 0 };

	if (!unit_namespace(0))
		return;
	MUST(chroot(arg) == 0 && chdir("/") == 0);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(rmdir("/dev/shm") == 0);
	MUST(landlock_restrict(&plan, abi(), &e) == -ENOENT);
	MUST(strstr(e.text, "landlock: open /dev/shm") != NULL);
	/* a place that is a symlink is not followed to where it leads */
	MUST(symlink("/etc", "/dev/shm") == 0);
	MUST(landlock_restrict(&plan, abi(), &e) != 0 || !can("/etc/new", MAKE));
}

START_TEST(a_missing_place_is_an_error)
{
	const char *root = unit_folder();

	plan_init(&plan);
	if (make_root(root))
		unit_child(try_incomplete, (void *)(uintptr_t)root);
}
END_TEST

/* a kernel that cannot be asked is not one that has none: @answer is what it says */
static void try_asking(void *answer)
{
	const unsigned int errnum = *(const unsigned int *)answer;
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_landlock_create_ruleset, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errnum),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct err e = { 0 };
	int r;

	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(filter_load(code, COUNT(code)) == 0);
	r = landlock_abi(&e);
	if (errnum == ENOSYS || errnum == EOPNOTSUPP)
		MUST(r == 0);
	else
		MUST(r == -(int)errnum && strncmp(e.text, "landlock: ", 10) == 0);
}

START_TEST(what_cannot_be_asked_is_not_absent)
{
	static unsigned int answers[] = { ENOSYS, EOPNOTSUPP, EPERM, ENOMEM };

	for (size_t i = 0; i < COUNT(answers); i++)
		unit_child(try_asking, &answers[i]);
}
END_TEST

static void try_to_read_back(void *arg)
{
	struct err e = { 0 };
	struct stat st;

	if (!unit_namespace(0))
		return;
	MUST(chroot(arg) == 0 && chdir("/") == 0);
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	/* without the wall something else refuses */
	MUST(landlock_try(&e) == -EPERM);
	MUST(strstr(e.text, "not in force") && strstr(e.text, strerror(EPERM)));
	MUST(stat("/dev/shm/stepjail", &st) < 0 && errno == ENOENT);
	MUST(landlock_restrict(&plan, abi(), &e) == 0);
	MUST(landlock_try(&e) == 0);
	MUST(stat("/dev/shm/stepjail", &st) < 0 && errno == ENOENT);
}

START_TEST(the_wall_is_read_back_by_trying)
{
	const char *root = unit_folder();

	plan_init(&plan);
	if (make_root(root))
		unit_child(try_to_read_back, (void *)(uintptr_t)root);
}
END_TEST

/* what is in the way is not the wall */
static void try_another_refusal(void *arg)
{
	struct err e = { 0 };

	if (!unit_namespace(0))
		return;
	MUST(chroot(arg) == 0 && rmdir("/dev/shm") == 0);
	MUST(landlock_try(&e) == -EPERM);
	MUST(strstr(e.text, strerror(ENOENT)) != NULL);
}

START_TEST(another_refusal_is_not_the_wall)
{
	const char *root = unit_folder();

	if (make_root(root))
		unit_child(try_another_refusal, (void *)(uintptr_t)root);
}
END_TEST

/* a kernel without Landlock, as a filter plays it */
static void try_without(void *arg)
{
	static const struct sock_filter without[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct err e = { 0 };

	(void)arg;
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(filter_load(without, COUNT(without)) == 0);
	MUST(landlock_abi(&e) == 0);
	plan.require = 0;
	MUST(landlock_restrict(&plan, 0, &e) == 0);
	plan.require = REQUIRE_LANDLOCK;
	MUST(landlock_restrict(&plan, 0, &e) == -ENOSYS);
	MUST(strcmp(e.text, "landlock: is required, and this kernel has "
			    "none: " LANDLOCK_REMEDY) == 0);
}

START_TEST(a_kernel_without_it_is_refused_if_required)
{
	plan_init(&plan);
	unit_child(try_without, NULL);
}
END_TEST

Suite *jail_landlock_suite(void)
{
	Suite *s = suite_create("jail landlock");
	TCase *c = tcase_create("landlock");

	tcase_add_test(c, writing_outside_is_refused);
	tcase_add_test(c, writable_binds_are_places_to_write_to);
	tcase_add_test(c, stdio_keeps_the_access_it_had);
	tcase_add_loop_test(c, tcp_is_for_loopback_only, 0, 2);
	tcase_add_test(c, signals_and_abstract_sockets_stay_inside);
	tcase_add_test(c, a_missing_place_is_an_error);
	tcase_add_test(c, what_cannot_be_asked_is_not_absent);
	tcase_add_test(c, the_wall_is_read_back_by_trying);
	tcase_add_test(c, another_refusal_is_not_the_wall);
	tcase_add_test(c, a_kernel_without_it_is_refused_if_required);
	suite_add_tcase(s, c);
	return s;
}
