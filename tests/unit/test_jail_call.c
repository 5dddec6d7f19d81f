/* SPDX-License-Identifier: MIT */
/*
 * test_jail_call.c - calls in words: names, entries, and the rows that speak of them
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/syscall.h>

#include <seccomp.h>

#include "jail/plan/call.h"
#include "tests/unit/bpf.h"
#include "tests/unit/suites.h"

START_TEST(a_number_has_its_name)
{
	static const struct {
		uint32_t arch;
		unsigned int nr;
		const char *name, *entry;
	} rows[] = {
#if defined(__x86_64__)
		{ AUDIT_ARCH_X86_64, 0, "read", "x86_64" },
		{ AUDIT_ARCH_X86_64, 101, "ptrace", "x86_64" },
		{ AUDIT_ARCH_X86_64, 425, "io_uring_setup", "x86_64" },
		{ AUDIT_ARCH_X86_64, 457, "statmount", "x86_64" },
		{ AUDIT_ARCH_X86_64, 469, "file_setattr", "x86_64" },
		{ AUDIT_ARCH_X86_64, 350, NULL, "x86_64" }, /* a gap */
		{ AUDIT_ARCH_X86_64, X32_BIT, "read", "x32" },
		{ AUDIT_ARCH_X86_64, X32_BIT | 101, "ptrace", "x32" },
		{ AUDIT_ARCH_X86_64, X32_BIT | 5000, NULL, "x32" },
		{ AUDIT_ARCH_I386, 3, "read", "i386" },
		{ AUDIT_ARCH_I386, 11, "execve", "i386" },
		{ AUDIT_ARCH_I386, 26, "ptrace", "i386" },
		{ AUDIT_ARCH_I386, X32_BIT | 26, NULL, "i386" },
#elif defined(__aarch64__)
		{ AUDIT_ARCH_AARCH64, 63, "read", "aarch64" },
		{ AUDIT_ARCH_AARCH64, X32_BIT | 63, NULL, "aarch64" },
		{ AUDIT_ARCH_ARM, 3, "read", "arm" },
#endif
		{ NATIVE, 470, NULL, NULL },
		{ NATIVE, 100000, NULL, NULL },
		{ NATIVE, UINT32_MAX, NULL, NULL },
		{ NATIVE, 0x80000000, NULL, NULL },
		{ NATIVE, 0xbfffffff, NULL, NULL },
		{ AUDIT_ARCH_S390X, UINT32_MAX, NULL, "unknown" },
		{ 0, 1 << 20, NULL, "unknown" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct seccomp_data data = { .nr = (int)rows[i].nr,
					     .arch = rows[i].arch };

		ck_assert_pstr_eq(call_name(&data), rows[i].name);
		if (rows[i].entry)
			ck_assert_str_eq(call_arch(&data), rows[i].entry);
	}
}
END_TEST

/* every name leads back to its number, and libseccomp knows no other */
START_TEST(names_and_numbers_are_each_other)
{
	unsigned int named = 0;

	for (int nr = 0; nr < 600; nr++) {
		const char *name =
			call_name(&(struct seccomp_data){ .nr = nr, .arch = NATIVE });
		char *known = seccomp_syscall_resolve_num_arch(NATIVE, nr);

		if (known)
			ck_assert_pstr_eq(name, known);
		free(known);
		if (!name)
			continue;
		named++;
		ck_assert_int_eq(call_number(name), nr);
	}
	ck_assert_uint_gt(named, 300);
	ck_assert_int_eq(call_number("no_such_call"), -1);
	ck_assert_int_eq(call_number(""), -1);
	ck_assert_int_eq(call_number("Read"), -1);
}
END_TEST

START_TEST(a_telling_argument_is_known)
{
	ck_assert_int_eq(call_telling("ioctl"), 1);
	ck_assert_int_eq(call_telling("prctl"), 0);
	ck_assert_int_eq(call_telling("socket"), 0);
	ck_assert_int_eq(call_telling("socketpair"), 0);
	ck_assert_int_eq(call_telling("madvise"), 2);
	ck_assert_int_eq(call_telling("memfd_create"), 1);
	ck_assert_int_eq(call_telling("read"), -1);
	ck_assert_int_eq(call_telling(""), -1);
}
END_TEST

static unsigned int count_rows(const char *name, uint64_t arg0, uint64_t arg1,
			       bool locked, char *labels)
{
	const struct seccomp_data data = { .nr = call_number(name),
					   .arch = NATIVE,
					   .args = { arg0, arg1 } };
	unsigned int count = 0;

	labels[0] = '\0';
	for (const struct refused_row *row = NULL;
	     (row = call_refused(&data, locked, row)); count++) {
		ck_assert_str_eq(row->syscall, name);
		strcat(strcat(labels, row->label ? row->label : "-"), " ");
	}
	return count;
}

START_TEST(rows_are_found_by_what_is_asked)
{
	char labels[256];

	ck_assert_uint_eq(count_rows("ptrace", 0, 0, false, labels), 1);
	ck_assert_uint_eq(count_rows("read", 0, 0, false, labels), 0);
	ck_assert_uint_eq(count_rows("ioctl", 0, TIOCSTI, false, labels), 1);
	ck_assert_str_eq(labels, "TIOCSTI ");
	/* as the kernel reads it: the low half */
	ck_assert_uint_eq(count_rows("ioctl", 0, TIOCSTI | 1ULL << 32, false, labels), 1);
	ck_assert_uint_eq(count_rows("ioctl", TIOCSTI, 0, false, labels), 0);
	ck_assert_uint_eq(
		count_rows("clone", CLONE_NEWUSER | CLONE_NEWNET | 17, 0, false, labels),
		2);
	ck_assert_str_eq(labels, "CLONE_NEWUSER CLONE_NEWNET ");
	ck_assert_uint_eq(count_rows("clone", CLONE_VM | 17, 0, false, labels), 0);
}
END_TEST

/* a read of the domain, and the one that is set already, are none */
START_TEST(a_domain_is_seen_in_combinations)
{
	char labels[256];

	ck_assert_uint_eq(count_rows("personality", 0, 0, false, labels), 0);
	ck_assert_uint_eq(count_rows("personality", 0xffffffff, 0, false, labels), 0);
	ck_assert_uint_eq(count_rows("personality", 1, 0, false, labels), 1);
	ck_assert_str_eq(labels, "- ");
	(void)count_rows("personality", READ_IMPLIES_EXEC | ADDR_NO_RANDOMIZE, 0, false,
			 labels);
	ck_assert_str_eq(labels, "- ADDR_NO_RANDOMIZE READ_IMPLIES_EXEC ");
}
END_TEST

START_TEST(no_row_speaks_of_another_architecture)
{
	struct seccomp_data data = { .nr = call_number("ptrace"), .arch = NATIVE };

	ck_assert(!call_foreign(&data));
	ck_assert_ptr_nonnull(call_refused(&data, false, NULL));
	data.arch = AUDIT_ARCH_S390X;
	ck_assert(call_foreign(&data));
	ck_assert_ptr_null(call_refused(&data, false, NULL));
#if defined(__x86_64__)
	data.arch = NATIVE;
	data.nr |= (int)X32_BIT;
	ck_assert(call_foreign(&data));
	ck_assert_ptr_null(call_refused(&data, false, NULL));
#endif
}
END_TEST

START_TEST(the_lock_has_rows_of_its_own)
{
	const struct seccomp_data exec = { .nr = call_number("mprotect"),
					   .arch = NATIVE,
					   .args = { 0, 0, 4 } };
	const struct seccomp_data trace = { .nr = call_number("ptrace"), .arch = NATIVE };
	char labels[256];

	ck_assert_uint_eq(count_rows("execve", 0, 0, false, labels), 0);
	ck_assert_uint_eq(count_rows("execve", 0, 0, true, labels), 1);
	ck_assert_uint_eq(count_rows("mprotect", 0, 0, true, labels), 0);
	ck_assert_ptr_nonnull(call_refused(&exec, true, NULL));
	ck_assert_ptr_null(call_refused(&exec, false, NULL));
	/* they come before the others */
	ck_assert_uint_eq(count_rows("ptrace", 0, 0, true, labels), 2);
	ck_assert(call_refused(&trace, true, NULL)->barred);
	ck_assert(!call_refused(&trace, false, NULL)->barred);
}
END_TEST

Suite *jail_call_suite(void)
{
	Suite *s = suite_create("jail call");
	TCase *c = tcase_create("call");

	tcase_add_test(c, a_number_has_its_name);
	tcase_add_test(c, names_and_numbers_are_each_other);
	tcase_add_test(c, a_telling_argument_is_known);
	tcase_add_test(c, rows_are_found_by_what_is_asked);
	tcase_add_test(c, a_domain_is_seen_in_combinations);
	tcase_add_test(c, no_row_speaks_of_another_architecture);
	tcase_add_test(c, the_lock_has_rows_of_its_own);
	suite_add_tcase(s, c);
	return s;
}
