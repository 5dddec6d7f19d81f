/* SPDX-License-Identifier: MIT */
/*
 * test_jail_wipe.c - zeros where something was, nowhere else, and few pages written to
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/base/wipe.h"
#include "tests/unit/suites.h"

#define PAGE 4096
#define PAGES 8

static unsigned char *map(int fill)
{
	unsigned char *at = mmap(NULL, (size_t)PAGES * PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(at, MAP_FAILED);
	if (fill)
		memset(at, fill, (size_t)PAGES * PAGE);
	return at;
}

static size_t resident(unsigned char *at)
{
	unsigned char there[PAGES];
	size_t count = 0;

	ck_assert_int_eq(mincore(at, (size_t)PAGES * PAGE, there), 0);
	for (int i = 0; i < PAGES; i++)
		count += there[i] & 1;
	return count;
}

static const struct {
	size_t from, bytes;
	size_t left; /* pages of the eight that are still there */
} rows[] = {
	{ 0, (size_t)PAGES *PAGE, 0 },
	{ PAGE, 2 * (size_t)PAGE, PAGES - 2 },
	{ PAGE - 1, 2 * (size_t)PAGE, PAGES - 1 },
	{ 100, 3 * (size_t)PAGE, PAGES - 2 },
	{ 100, PAGE - 100, PAGES },
	{ 100, 200, PAGES },
	{ PAGE - 8, 16, PAGES },
	{ PAGE, PAGE, PAGES - 1 },
	{ PAGE, PAGE + 1, PAGES - 1 },
	{ 5, 0, PAGES },
	{ PAGE, 0, PAGES },
};

START_TEST(zeros_are_where_they_should_be)
{
	unsigned char *at = map(0xa5);

	wipe(at + rows[_i].from, rows[_i].bytes);
	ck_assert_uint_eq(resident(at), rows[_i].left);
	for (size_t i = 0; i < (size_t)PAGES * PAGE; i++) {
		bool wiped = i >= rows[_i].from && i - rows[_i].from < rows[_i].bytes;

		HOLDS(at[i] == (wiped ? 0 : 0xa5));
	}
	(void)munmap(at, (size_t)PAGES * PAGE);
}
END_TEST

START_TEST(locked_pages_are_written_to)
{
	unsigned char *at = map(0xa5);

	/* madvise(2) refuses; sanitizers have an mlock() that locks nothing */
	ck_assert_int_eq(syscall(SYS_mlock, at, 4 * (size_t)PAGE), 0);
	wipe(at + 1, 3 * (size_t)PAGE);
	ck_assert_uint_eq(resident(at), PAGES);
	ck_assert_uint_eq(at[0], 0xa5);
	for (size_t i = 1; i <= 3 * (size_t)PAGE; i++)
		HOLDS(at[i] == 0);
	ck_assert_uint_eq(at[3 * PAGE + 1], 0xa5);
	(void)munmap(at, (size_t)PAGES * PAGE);
}
END_TEST

START_TEST(zeros_are_not_written)
{
	unsigned char *at = map(0);

	ck_assert_int_eq(mprotect(at, (size_t)PAGES * PAGE, PROT_READ), 0);
	wipe(at + 1, (size_t)PAGES * PAGE - 2);
	wipe(at + 1, 10);
	(void)munmap(at, (size_t)PAGES * PAGE);
}
END_TEST

Suite *jail_wipe_suite(void)
{
	Suite *s = suite_create("jail/wipe");
	TCase *t = tcase_create("wipe");

	tcase_add_loop_test(t, zeros_are_where_they_should_be, 0, COUNT(rows));
	tcase_add_test(t, locked_pages_are_written_to);
	tcase_add_test(t, zeros_are_not_written);
	suite_add_tcase(s, t);
	return s;
}
