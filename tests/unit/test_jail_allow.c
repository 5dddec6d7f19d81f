/* SPDX-License-Identifier: MIT */
/*
 * test_jail_allow.c - --allow-syscall: what it refuses, and what its instructions let
 * through in front of each variant of the filter
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "jail/plan/plan.h"
#include "jail/walls/seccomp/seccomp.h"
#include "jail/plan/call.h"
#include "tests/unit/bpf.h"
#include "tests/unit/suites.h"

#define NUMBERS 480

static struct plan plan;
static struct sock_filter code[ALLOW_CODE_MAX + BPF_MAXINSNS];

static void ck_refused(const char *spec, int want, const char *words)
{
	struct err e = { 0 };
	size_t before = plan.call_count;
	int r = plan_add_call(&plan, spec, &e);

	ck_assert_msg(r == want, "%s: %d, not %d: %s", spec, r, want, e.text);
	ck_assert_msg(strstr(e.text, words) != NULL, "%s: %s", spec, e.text);
	ck_assert_uint_eq(plan.call_count, before);
}

static void add(const char *spec)
{
	struct err e = { 0 };

	ck_assert_msg(plan_add_call(&plan, spec, &e) == 0, "%s", e.text);
}

static const struct {
	const char *spec;
	int r;
	const char *words;
} refusals[] = {
	{ "", -EINVAL, "no system call is named ''" },
	{ "=1", -EINVAL, "no system call is named ''" },
	{ "no_such_call", -EINVAL, "no system call is named 'no_such_call'" },
	{ "no_such_call=1", -EINVAL, "no system call is named 'no_such_call'" },
	{ "Sync", -EINVAL, "no system call is named" },
	{ "sync ", -EINVAL, "no system call is named" },
	{ "162", -EINVAL, "no system call is named" },
	{ "a_name_that_is_longer_than_any_system_calls_and_longer_still_than_the_text",
	  -EINVAL, "no system call is named 'a_name" },
	{ "sync=1", -EINVAL, "allowed as a whole" },
	{ "sync=", -EINVAL, "allowed as a whole" },
	{ "ioctl", -EINVAL, "for one value of its argument 1 alone: ioctl=VALUE" },
	{ "prctl", -EINVAL, "for one value of its argument 0 alone: prctl=VALUE" },
	{ "madvise", -EINVAL, "for one value of its argument 2 alone" },
	{ "prctl=", -EINVAL, "'' is no number of 32 bits" },
	{ "prctl=x", -EINVAL, "'x' is no number of 32 bits" },
	{ "prctl=1x", -EINVAL, "'1x' is no number of 32 bits" },
	{ "prctl=-1", -EINVAL, "'-1' is no number of 32 bits" },
	{ "prctl=+1", -EINVAL, "'+1' is no number of 32 bits" },
	{ "prctl= 1", -EINVAL, "' 1' is no number of 32 bits" },
	{ "prctl=0x", -EINVAL, "'0x' is no number of 32 bits" },
	{ "prctl=0x0x1", -EINVAL, "'0x0x1' is no number of 32 bits" },
	{ "prctl=1=1", -EINVAL, "'1=1' is no number of 32 bits" },
	{ "prctl=4294967296", -EINVAL, "is no number of 32 bits" },
	{ "prctl=0x100000000", -EINVAL, "is no number of 32 bits" },
	{ "prctl=99999999999999999999999", -EINVAL, "is no number of 32 bits" },
	{ "bpf", -EPERM, "no policy may allow bpf: loads code into the kernel" },
	{ "mount", -EPERM, "no policy may allow mount: " },
	{ "clone3", -EPERM, "its flags lie in memory" },
	{ "setuid", -EPERM, "there is no other id" },
	{ "ioctl=0x5412", -EPERM, "types into the caller's terminal" },
	{ "ioctl=21522", -EPERM, "types into the caller's terminal" },
	{ "ioctl=0x5423", -EPERM, "terminal" },
	{ "socket=40", -EPERM, "no network namespace" },
	{ "socketpair=30", -EPERM, "no family but AF_UNIX" },
	{ "clone=0x10000000", -EPERM, "namespaces" },
	{ "clone=0x10000011", -EPERM, "namespaces" },
	{ "clone=0x00020100", -EPERM, "namespaces" },
	{ "memfd_create=0x11", -EPERM, "makes a program out of data" },
	{ "personality=0x400000", -EPERM, "makes data executable" },
	{ "personality=0x440000", -EPERM, "makes data executable" },
	{ "prctl=47", -EPERM, "no capability" },
	{ "madvise=12", -EPERM, "shares pages" },
	{ "madvise=21", -EPERM, "what another jail has read" },
	{ "memfd_create=4", -EPERM, "huge pages" },
	{ "mmap", -EPERM, "huge pages" },
};

START_TEST(what_cannot_be_is_refused)
{
	plan = (struct plan){ 0 };
	ck_refused(refusals[_i].spec, refusals[_i].r, refusals[_i].words);
}
END_TEST

START_TEST(every_barred_row_is_refused)
{
	plan = (struct plan){ 0 };
	for (size_t i = 0; i < refused_row_count; i++) {
		const struct refused_row *row = &refused_rows[i];
		char spec[64];

		(void)snprintf(spec, sizeof(spec),
			       call_telling(row->syscall) < 0 ? "%s" : "%s=0x%x",
			       row->syscall,
			       row->when == REFUSED_MIXED ? row->value & 0x7fffffff
							  : row->value);
		if (row->barred)
			ck_refused(spec, -EPERM, "no policy may allow ");
	}
}
END_TEST

START_TEST(twice_is_once_and_too_many_are_refused)
{
	static char specs[PLAN_CALLS_MAX][24];

	plan = (struct plan){ 0 };
	add("sync");
	add("sync");
	add("prctl=26");
	add("prctl=0x1a");
	add("prctl=27");
	/* a leading zero makes no octal number */
	add("prctl=027");
	ck_assert_uint_eq(plan.call_count, 3);
	while (plan.call_count < PLAN_CALLS_MAX) {
		char *spec = specs[plan.call_count];

		(void)snprintf(spec, sizeof(specs[0]), "ioctl=%zu", plan.call_count);
		add(spec);
	}
	ck_refused("syncfs", -E2BIG, "more than 32 calls");
}
END_TEST

START_TEST(a_call_is_kept_as_it_was_asked_for)
{
	static const struct {
		const char *spec;
		int nr, arg;
		uint32_t value;
	} rows[] = {
		{ "sync", SYS_sync, -1, 0 },
		{ "ptrace", SYS_ptrace, -1, 0 },
		{ "ioctl=0x5452", SYS_ioctl, 1, 0x5452 },
		{ "prctl=0", SYS_prctl, 0, 0 },
		{ "prctl=4294967295", SYS_prctl, 0, UINT32_MAX },
		{ "prctl=0xFFFFfffe", SYS_prctl, 0, UINT32_MAX - 1 },
		{ "prctl=010", SYS_prctl, 0, 10 },
		{ "personality=0x40000", SYS_personality, 0, 0x40000 },
		{ "file_setattr", 469, -1, 0 },
	};

	plan = (struct plan){ 0 };
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct plan_call *call = &plan.call[i];

		add(rows[i].spec);
		ck_assert_str_eq(call->spec, rows[i].spec);
		ck_assert_int_eq(call->nr, rows[i].nr);
		ck_assert_int_eq(call->arg, rows[i].arg);
		ck_assert_uint_eq(call->value, rows[i].value);
	}
}
END_TEST

/* a lock and a call that goes around it are a contradiction */
START_TEST(the_lock_is_not_lifted)
{
	static const char *const specs[] = { "execve",     "execveat", "mprotect",
					     "shmat",      "ptrace",   "pkey_mprotect",
					     "userfaultfd" };
	struct err e = { 0 };

	for (size_t i = 0; i < COUNT(specs); i++) {
		plan = (struct plan){ .lock_code = LOCK_YES };
		add("sync");
		ck_assert_int_eq(plan_check_calls(&plan, &e), 0);
		add(specs[i]);
		ck_assert_int_eq(plan_check_calls(&plan, &e), -EINVAL);
		ck_assert_ptr_nonnull(strstr(e.text, specs[i]));
		ck_assert_ptr_nonnull(strstr(e.text, "use --lock-code=no"));
		plan.lock_code = LOCK_NO;
		ck_assert_int_eq(plan_check_calls(&plan, &e), 0);
	}
}
END_TEST

START_TEST(no_call_is_no_code)
{
	plan = (struct plan){ 0 };
	ck_assert_uint_eq(seccomp_allow_code(&plan, code), 0);
}
END_TEST

static size_t own, whole;

static void assemble(const struct bpf_program *p)
{
	own = seccomp_allow_code(&plan, code);
	ck_assert_uint_gt(own, 0);
	ck_assert_uint_le(own, ALLOW_CODE_MAX);
	memcpy(code + own, p->code, p->length * sizeof(code[0]));
	whole = own + p->length;
	bpf_check(code, whole);
}

static bool is_asked(const struct seccomp_data *data)
{
	for (size_t i = 0; data->arch == NATIVE && i < plan.call_count; i++) {
		const struct plan_call *call = &plan.call[i];

		if (call->nr == data->nr &&
		    (call->arg < 0 || (uint32_t)data->args[call->arg] == call->value))
			return true;
	}
	return false;
}

/* with the instructions before it, or without them: they differ by what was asked alone
 * */
static void ck_call(const struct bpf_program *p, const struct seccomp_data *data)
{
	uint32_t with = bpf_run(code, whole, data);

	if (with != (is_asked(data) ? ALLOWED : bpf_run(p->code, p->length, data)))
		ck_abort_msg("nr %d arch %#x args %#llx %#llx: %#x", data->nr, data->arch,
			     (unsigned long long)data->args[0],
			     (unsigned long long)data->args[1], with);
}

static void ck_numbers(const struct bpf_program *p, uint32_t arch, uint32_t bits)
{
	static const uint64_t values[] = { 0,
					   1,
					   0x5451,
					   0x5452,
					   0x5453,
					   26,
					   27,
					   0x40000,
					   16,
					   1u << 31,
					   0x5452 | 1ULL << 32,
					   UINT64_MAX };
	struct seccomp_data data = { .arch = arch };

	for (size_t i = 0; i < COUNT(values); i++)
		for (uint32_t nr = 0; nr < NUMBERS; nr++) {
			data.nr = (int)(nr | bits);
			for (size_t k = 0; k < 6; k++)
				data.args[k] = values[i];
			ck_call(p, &data);
			/* the value in one argument alone */
			for (size_t k = 0; k < 6; k++) {
				memset(data.args, 0, sizeof(data.args));
				data.args[k] = values[i];
				ck_call(p, &data);
			}
		}
}

START_TEST(just_the_asked_calls_are_let_through)
{
	const struct bpf_program *p = &bpf_programs[_i];

	plan = (struct plan){ 0 };
	add("sync");
	add("ioctl=0x5452");
	add("prctl=26");
	add("ptrace");
	add("socket=16");
	add("personality=0x40000");
	assemble(p);
	for (size_t i = 0; i < BPF_ARCHS; i++)
		ck_numbers(p, bpf_archs[i], 0);
	ck_numbers(p, NATIVE, X32_BIT);
	ck_numbers(p, NATIVE, 1u << 31);
}
END_TEST

/* as many as there may be: the longest jump over them still lands where it shall */
START_TEST(the_longest_list_is_one_too)
{
	static char specs[PLAN_CALLS_MAX][24];
	const struct bpf_program *p = &bpf_programs[_i];

	plan = (struct plan){ 0 };
	for (size_t i = 0; i < PLAN_CALLS_MAX; i++) {
		(void)snprintf(specs[i], sizeof(specs[i]), "prctl=%zu", 1000 + i);
		add(specs[i]);
	}
	assemble(p);
	ck_assert_uint_eq(own, ALLOW_CODE_MAX);
	for (uint64_t value = 990; value < 1050; value++) {
		struct seccomp_data data = { SYS_prctl, NATIVE, 0, { value } };

		ck_assert_uint_eq(bpf_run(code, whole, &data) == ALLOWED,
				  value >= 1000 && value < 1000 + PLAN_CALLS_MAX);
		data.arch = AUDIT_ARCH_I386;
		ck_assert_uint_ne(bpf_run(code, whole, &data), ALLOWED);
	}
	ck_numbers(p, NATIVE, 0);
	ck_numbers(p, AUDIT_ARCH_I386, 0);
}
END_TEST

Suite *jail_allow_suite(void)
{
	Suite *s = suite_create("jail allow");
	TCase *c = tcase_create("allow");

	tcase_add_loop_test(c, what_cannot_be_is_refused, 0, (int)COUNT(refusals));
	tcase_add_test(c, every_barred_row_is_refused);
	tcase_add_test(c, twice_is_once_and_too_many_are_refused);
	tcase_add_test(c, a_call_is_kept_as_it_was_asked_for);
	tcase_add_test(c, the_lock_is_not_lifted);
	tcase_add_test(c, no_call_is_no_code);
	tcase_add_loop_test(c, just_the_asked_calls_are_let_through, 0, INIT);
	tcase_add_loop_test(c, the_longest_list_is_one_too, 0, INIT);
	suite_add_tcase(s, c);
	return s;
}
