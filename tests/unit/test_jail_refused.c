/* SPDX-License-Identifier: MIT */
/*
 * test_jail_refused.c - the table of what is refused, beside the one of what is allowed
 */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "jail/plan/call.h"
#include "tests/unit/bpf.h"
#include "tests/unit/suites.h"

/* both tables as one */
static const struct refused_row *row_at(size_t i)
{
	return i < refused_row_count ? &refused_rows[i]
				     : &locked_rows[i - refused_row_count];
}

START_TEST(every_row_is_complete)
{
	for (size_t i = 0; i < refused_row_count + locked_row_count; i++) {
		const struct refused_row *row = row_at(i);

		ck_assert_msg(row->why && strlen(row->why) >= 5, "%s has no why",
			      row->syscall);
		ck_assert_msg(row->why[strlen(row->why) - 1] != '.',
			      "%s: its why ends with a full stop", row->syscall);
		ck_assert_msg(call_number(row->syscall) >= 0, "no syscall is named %s",
			      row->syscall);
		ck_assert_uint_lt(row->arg, 6);
		if (row->when == REFUSED_BIT)
			ck_assert_int_eq(__builtin_popcount(row->value), 1);
		if (row->when == REFUSED_MIXED)
			ck_assert_uint_ne(row->value, 0);
		if (row->when == REFUSED_ALWAYS)
			ck_assert(row->value == 0 && !row->label);
		/* a label is the value's name, not the number that it stands for */
		if (row->label)
			ck_assert_msg(strspn(row->label, "0123456789x") == 0, "%s",
				      row->label);
	}
}
END_TEST

START_TEST(no_row_repeats_another)
{
	for (size_t i = 0; i < refused_row_count + locked_row_count; i++)
		for (size_t k = i < refused_row_count ? 0 : refused_row_count; k < i;
		     k++) {
			const struct refused_row *a = row_at(i), *b = row_at(k);

			if (strcmp(a->syscall, b->syscall) == 0)
				ck_assert_msg(a->when != REFUSED_ALWAYS &&
						      b->when != REFUSED_ALWAYS &&
						      (a->arg != b->arg ||
						       a->value != b->value),
					      "%s: rows %zu and %zu", a->syscall, k, i);
		}
}
END_TEST

/* a condition is one on the argument that --allow-syscall asks for: else a call that is
 * barred for some values could be allowed as a whole */
START_TEST(a_condition_is_on_the_telling_argument)
{
	for (size_t i = 0; i < refused_row_count; i++)
		if (refused_rows[i].when != REFUSED_ALWAYS)
			ck_assert_msg(call_telling(refused_rows[i].syscall) ==
					      (int)refused_rows[i].arg,
				      "%s: its argument %u is not asked for",
				      refused_rows[i].syscall, refused_rows[i].arg);
}
END_TEST

/* the same for the allow list: what it lets through under a condition is let through as a
 * whole by no option */
START_TEST(no_condition_can_be_lifted)
{
	for (size_t i = 0; i < jail_filter_row_count; i++) {
		const char *name = jail_filter_rows[i].syscall;
		const struct seccomp_data data = { .nr = call_number(name),
						   .arch = NATIVE };
		const struct refused_row *row;
		bool barred = false;

		if (jail_filter_rows[i].when == ALWAYS || data.nr < 0)
			continue;
		for (row = NULL; (row = call_refused(&data, false, row));)
			barred = barred || row->barred;
		ck_assert_msg(barred || call_telling(name) >= 0,
			      "--allow-syscall %s would lift its condition", name);
	}
}
END_TEST

static bool allows(const struct filter_row *row, const char *name, uint32_t value,
		   unsigned int arg)
{
	if (strcmp(row->syscall, name) != 0 || row->when == NEVER)
		return false;
	if (row->when == ALWAYS || (row->when == ARG_CLEAR && row->arg != arg))
		return true;
	if (row->when == ARG_CLEAR)
		return (row->value & value) == 0;
	return row->arg == arg && (uint32_t)row->value == value;
}

/* values that one row or the other may mean */
static bool speaks_of(const struct refused_row *row, uint32_t value)
{
	switch (row->when) {
	case REFUSED_ALWAYS:
		return true;
	case REFUSED_EQ:
		return row->value == value;
	case REFUSED_BIT:
		return (row->value & value) != 0;
	default:
		return (row->value & value) != 0 && value != UINT32_MAX;
	}
}

static void ck_apart(const struct refused_row *row, uint32_t value)
{
	for (size_t i = 0; speaks_of(row, value) && i < jail_filter_row_count; i++)
		ck_assert_msg(
			!allows(&jail_filter_rows[i], row->syscall, value, row->arg),
			"%s %#x is a violation and allowed", row->syscall, value);
}

START_TEST(no_violation_is_allowed)
{
	for (size_t i = 0; i < refused_row_count; i++) {
		const struct refused_row *row = &refused_rows[i];

		if (!row->violation)
			continue;
		ck_apart(row, row->value);
		ck_apart(row, UINT32_MAX);
		ck_apart(row, 0);
		for (unsigned int bit = 0; bit < 32; bit++)
			ck_apart(row, row->value ^ 1u << bit);
		for (size_t k = 0; k < jail_filter_row_count; k++)
			if (strcmp(jail_filter_rows[k].syscall, row->syscall) == 0)
				ck_apart(row, (uint32_t)jail_filter_rows[k].value);
	}
}
END_TEST

/* each family of this machine's headers is allowed, or has a row; no other has pairs */
START_TEST(every_family_is_spoken_of)
{
	for (uint64_t family = 1; family < AF_MAX; family++) {
		struct seccomp_data data = { .nr = call_number("socket"),
					     .arch = NATIVE,
					     .args = { family } };
		bool ours = family == AF_UNIX || family == AF_INET || family == AF_INET6;
		const struct refused_row *row = call_refused(&data, false, NULL);

		ck_assert_msg(ours || row, "socket family %d", (int)family);
		ck_assert_msg(ours || row->violation, "socket family %d", (int)family);
		data.nr = call_number("socketpair");
		row = call_refused(&data, false, NULL);
		ck_assert_msg(row && row->barred, "socketpair family %d", (int)family);
	}
}
END_TEST

/*
 * Calls that no table speaks of: refused, and --learn says of them that they are not
 * known. One that a new kernel or libseccomp brings shows here, so that somebody decides.
 */
static const char *const unspoken[] = {
	"file_getattr",
	"file_setattr",
	"futex_requeue",
	"futex_wait",
	"futex_wake",
	"getxattrat",
	"io_cancel",
	"io_destroy",
	"io_getevents",
	"io_pgetevents",
	"listxattrat",
	"lsm_get_self_attr",
	"lsm_list_modules",
	"map_shadow_stack",
	"mq_getsetattr",
	"mq_notify",
	"mq_timedreceive",
	"mq_timedsend",
	"mq_unlink",
	"mseal",
	"msgctl",
	"msgrcv",
	"msgsnd",
	"removexattrat",
	"semctl",
	"semop",
	"semtimedop",
	"set_mempolicy_home_node",
	"setxattrat",
	"shmctl",
	"shmdt",
#ifdef __x86_64__
	"_sysctl",
	"afs_syscall",
	"create_module",
	"epoll_wait_old",
	"get_kernel_syms",
	"get_thread_area",
	"getpmsg",
	"putpmsg",
	"query_module",
	"security",
	"set_thread_area",
	"sysfs",
	"tuxcall",
	"vserver",
#endif
};

static bool is_spoken_of(const char *name)
{
	for (size_t i = 0; i < jail_filter_row_count; i++)
		if (strcmp(jail_filter_rows[i].syscall, name) == 0)
			return true;
	for (size_t i = 0; i < refused_row_count; i++)
		if (strcmp(refused_rows[i].syscall, name) == 0)
			return true;
	return false;
}

START_TEST(every_call_is_spoken_of_or_listed)
{
	for (int nr = 0; nr < 1024; nr++) {
		const char *name =
			call_name(&(struct seccomp_data){ .nr = nr, .arch = NATIVE });
		bool listed = false;

		for (size_t i = 0; name && i < COUNT(unspoken); i++)
			listed = listed || strcmp(unspoken[i], name) == 0;
		if (name)
			ck_assert_msg(is_spoken_of(name) != listed, "%s: %s", name,
				      listed ? "has a row now: take it off the list"
					     : "has no row: make one, or list it here");
	}
}
END_TEST

START_TEST(the_list_has_no_wrong_name)
{
	for (size_t i = 0; i < COUNT(unspoken); i++)
		ck_assert_msg(call_number(unspoken[i]) >= 0, "%s", unspoken[i]);
}
END_TEST

Suite *jail_refused_suite(void)
{
	Suite *s = suite_create("jail refused");
	TCase *c = tcase_create("rows");

	tcase_add_test(c, every_row_is_complete);
	tcase_add_test(c, no_row_repeats_another);
	tcase_add_test(c, a_condition_is_on_the_telling_argument);
	tcase_add_test(c, no_condition_can_be_lifted);
	tcase_add_test(c, no_violation_is_allowed);
	tcase_add_test(c, every_family_is_spoken_of);
	tcase_add_test(c, every_call_is_spoken_of_or_listed);
	tcase_add_test(c, the_list_has_no_wrong_name);
	suite_add_tcase(s, c);
	return s;
}
