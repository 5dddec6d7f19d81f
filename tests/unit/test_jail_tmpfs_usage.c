/* SPDX-License-Identifier: MIT */
/*
 * test_jail_tmpfs_usage.c - is a tmpfs of the jail full at its end?
 *
 * A process in namespaces of its own plays the jail: its root has a /work and a /tmp.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/out/tmpfs_usage.h"
#include "tests/unit/suites.h"

START_TEST(nothing_is_known_of_nothing)
{
	struct tmpfs_usage none = TMPFS_USAGE_NONE, gone = tmpfs_usage_open(0x7fffffff);

	ck_assert_int_eq(tmpfs_usage_full(&none), -1);
	ck_assert_int_eq(tmpfs_usage_full(&gone), -1);
	tmpfs_usage_close(&none);
}
END_TEST

/* write until it is refused; false if it never was */
static bool fill(const char *path)
{
	static const char chunk[65536];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (int i = 0; i < 64; i++)
		if (write(fd, chunk, sizeof(chunk)) <= 0)
			return close(fd) == 0;
	return false;
}

static void try_tmpfs(void *arg)
{
	const char *root = arg;
	struct tmpfs_usage tmpfs;
	int fd;

	if (!unit_namespace(CLONE_NEWNS))
		return;
	MUST(mount("tmpfs", root, "tmpfs", 0, "size=16m") == 0);
	MUST(chdir(root) == 0 && mkdir("work", 0700) == 0 && mkdir("tmp", 0700) == 0);
	MUST(mount("tmpfs", "work", "tmpfs", 0, "size=1m") == 0);
	MUST(mount("tmpfs", "tmp", "tmpfs", 0, "size=1m,nr_inodes=8") == 0);
	MUST(chroot(".") == 0);
	tmpfs = (struct tmpfs_usage){ open("/work", O_PATH | O_DIRECTORY | O_CLOEXEC),
				      open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC) };
	MUST(tmpfs_usage_full(&tmpfs) == 0);
	MUST(fill("/work/x"));
	MUST(tmpfs_usage_full(&tmpfs) == TMPFS_USAGE_WORK);
	/* out of inodes is full too */
	for (int i = 0; i < 8; i++) {
		char path[] = "/tmp/0";

		path[5] = (char)('0' + i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		(void)close(fd);
	}
	MUST(tmpfs_usage_full(&tmpfs) == (TMPFS_USAGE_WORK | TMPFS_USAGE_TMP));
	/* the same through an overlay, as a bind is one, is not the jail's to fill */
	MUST(mkdir("/over", 0700) == 0);
	MUST(mount("overlay", "/over", "overlay", 0, "lowerdir=/work:/tmp") == 0);
	(void)close(tmpfs.tmp);
	tmpfs.tmp = open("/over", O_PATH | O_DIRECTORY | O_CLOEXEC);
	MUST(tmpfs_usage_full(&tmpfs) == TMPFS_USAGE_WORK);
	/* and a tmpfs without a size never is */
	MUST(mount("tmpfs", "/over", "tmpfs", 0, "size=0,nr_inodes=0") == 0);
	(void)close(tmpfs.tmp);
	tmpfs.tmp = open("/over", O_PATH | O_DIRECTORY | O_CLOEXEC);
	MUST(tmpfs_usage_full(&tmpfs) == TMPFS_USAGE_WORK);
	(void)close(tmpfs.tmp);
	tmpfs.tmp = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* what was removed again leaves no trace */
	MUST(unlink("/work/x") == 0);
	MUST(tmpfs_usage_full(&tmpfs) == TMPFS_USAGE_TMP);
	tmpfs_usage_close(&tmpfs);
	MUST(tmpfs.work == -1 && tmpfs.tmp == -1);
}

START_TEST(a_full_tmpfs_is_told)
{
	unit_child(try_tmpfs, (void *)(uintptr_t)unit_folder());
}
END_TEST

Suite *jail_tmpfs_usage_suite(void)
{
	Suite *s = suite_create("jail tmpfs usage");
	TCase *c = tcase_create("tmpfs usage");

	tcase_add_test(c, nothing_is_known_of_nothing);
	tcase_add_test(c, a_full_tmpfs_is_told);
	suite_add_tcase(s, c);
	return s;
}
