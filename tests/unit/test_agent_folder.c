/* SPDX-License-Identifier: MIT */
/*
 * test_agent_folder.c - new files in a folder of the user's: whole, or not there at all
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/folder.h"
#include "init/io.h"
#include "tests/unit/suites.h"

static void refuse(const char *call, int errnum)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	ck_assert_int_eq(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	ck_assert_int_eq(seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)errnum),
					  seccomp_syscall_resolve_name(call), 0),
			 0);
	ck_assert_int_eq(seccomp_load(filter), 0);
	seccomp_release(filter);
}

static size_t entries(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;
	size_t count = 0;

	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)))
		count += strcmp(entry->d_name, ".") != 0 &&
			 strcmp(entry->d_name, "..") != 0;
	(void)closedir(dir);
	return count;
}

static const struct {
	const char *call; /* that the file system, or the disk, fails with */
	int errnum;
	int kept;
} fails[] = {
	{ NULL, 0, 0 },
	{ "renameat2", EINVAL, 0 }, /* NFS: then by a link */
	{ "renameat2", EIO, -EIO },
};

/* in a process of its own, for a filter stays */
START_TEST(a_file_is_whole_or_not_there)
{
	const char *path = unit_folder();
	cleanup_fd int folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct folder_file f;
	char bytes[8] = "";

	if (fails[_i].call)
		refuse(fails[_i].call, fails[_i].errnum);
	ck_assert_int_eq(folder_begin(&f, folder, 0600), 0);
	ck_assert_int_eq(io_write_all(f.fd, "new", 3), 0);
	ck_assert_int_eq(faccessat(folder, "a", F_OK, 0), -1);
	ck_assert_int_eq(folder_keep(&f, "a"), fails[_i].kept);
	folder_drop(&f);
	ck_assert_uint_eq(entries(path), fails[_i].kept == 0);
	if (fails[_i].kept < 0)
		return;
	ck_assert_int_eq(folder_begin(&f, folder, 0600), 0);
	ck_assert_int_eq(folder_keep(&f, "a"), -EEXIST);
	ck_assert_int_eq(folder_begin(&f, folder, 0600), 0);
	folder_drop(&f);
	ck_assert_uint_eq(entries(path), 1);
	ck_assert_int_eq((int)io_read_file_at(folder, "a", bytes, sizeof(bytes)), 3);
	ck_assert_str_eq(bytes, "new");
}
END_TEST

Suite *agent_folder_suite(void)
{
	Suite *s = suite_create("agent/folder");
	TCase *c = tcase_create("all");

	tcase_add_loop_test(c, a_file_is_whole_or_not_there, 0, (int)COUNT(fails));
	suite_add_tcase(s, c);
	return s;
}
