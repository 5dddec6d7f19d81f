/* SPDX-License-Identifier: MIT */
/*
 * test_jail_denied_without.c - calls that are refused where a wall behind them lacks: the
 * table, its instructions in front of each variant of the filter, and the kernel's
 * answers
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/plan/plan.h"
#include "jail/plan/call.h"
#include "jail/walls/seccomp/seccomp.h"
#include "jail/walls/seccomp/denied_without.h"
#include "jail/watch/violation.h"
#include "tests/unit/bpf.h"
#include "tests/unit/suites.h"

#define NUMBERS 480
#define BOTH (DENIED_WITHOUT_NO_CGROUP | DENIED_WITHOUT_NO_TRUNCATE)
#define LEASED DENIED_WITHOUT_OWN_NETWORK
#define EXEC 0x10 /* MFD_EXEC */
#define SOME_LOCKS .limit[LIMIT_FILE_LOCKS] = 1

static struct sock_filter code[DENIED_WITHOUT_CODE_MAX + ALLOW_CODE_MAX + BPF_MAXINSNS];
static size_t whole;

START_TEST(every_row_says_what_and_why)
{
	for (size_t i = 0; i < denied_without_row_count; i++) {
		const struct denied_without_row *row = &denied_without_rows[i];
		bool listed = false;

		ck_assert_uint_ne(row->lack & (BOTH | DENIED_WITHOUT_ONE_CPU |
					       DENIED_WITHOUT_LOCKED |
					       DENIED_WITHOUT_OWN_NETWORK |
					       DENIED_WITHOUT_FILE_LOCKS),
				  0);
		ck_assert_uint_ge(strlen(row->why), 20);
		ck_assert_ptr_null(strpbrk(row->why, "\n\"\\"));
		/* what the allow list refuses anyway needs no row */
		for (size_t k = 0; k < jail_filter_row_count; k++)
			listed |=
				strcmp(jail_filter_rows[k].syscall, row->syscall) == 0 &&
				jail_filter_rows[k].when != NEVER;
		ck_assert_msg(listed, "%s", row->syscall);
		ck_assert_int_eq(call_number(row->syscall), row->nr);
		for (size_t k = 0; k < COUNT(row->test); k++) {
			ck_assert_uint_lt(row->test[k].arg, 6);
			/* else it could never be so */
			ck_assert_uint_eq(row->test[k].value & ~row->test[k].mask, 0);
		}
	}
}
END_TEST

START_TEST(what_lacks_is_what_is_not_there)
{
	ck_assert_uint_eq(denied_without_lacks(true, 0, NULL), 0);
	ck_assert_uint_eq(denied_without_lacks(true, 1, NULL),
			  DENIED_WITHOUT_NO_TRUNCATE);
	ck_assert_uint_eq(denied_without_lacks(true, 2, NULL),
			  DENIED_WITHOUT_NO_TRUNCATE);
	for (int abi = 3; abi < 12; abi++)
		ck_assert_uint_eq(denied_without_lacks(true, abi, NULL), 0);
	ck_assert_uint_eq(denied_without_lacks(false, 0, NULL), DENIED_WITHOUT_NO_CGROUP);
	ck_assert_uint_eq(denied_without_lacks(false, 2, NULL), BOTH);
	ck_assert_uint_eq(denied_without_lacks(false, 7, NULL), DENIED_WITHOUT_NO_CGROUP);
	ck_assert_uint_eq(denied_without_lacks(
				  true, 0, &(struct plan){ SOME_LOCKS, .aslr = ASLR_NO }),
			  0);
	ck_assert_uint_eq(
		denied_without_lacks(true, 0, &(struct plan){ .aslr = ASLR_NO }),
		DENIED_WITHOUT_FILE_LOCKS);
	ck_assert_uint_eq(
		denied_without_lacks(
			false, 0,
			&(struct plan){ SOME_LOCKS, .deterministic = ANSWER_YES }),
		DENIED_WITHOUT_NO_CGROUP | DENIED_WITHOUT_ONE_CPU);
	ck_assert_uint_eq(
		denied_without_lacks(true, 0,
				     &(struct plan){ SOME_LOCKS, .lock_code = LOCK_YES }),
		0);
	ck_assert_uint_eq(
		denied_without_lacks(false, 0,
				     &(struct plan){ SOME_LOCKS, .lock_code = LOCK_YES }),
		DENIED_WITHOUT_NO_CGROUP | DENIED_WITHOUT_LOCKED);
}
END_TEST

START_TEST(where_nothing_lacks_there_is_no_code)
{
	ck_assert_uint_eq(denied_without_code(0, code), 0);
}
END_TEST

static const struct {
	long nr;
	uint64_t args[4];
	unsigned int lack; /* 0: it is no matter of these rows */
} calls[] = {
	{ SYS_memfd_create, { 0, 0 }, DENIED_WITHOUT_NO_CGROUP },
	{ SYS_memfd_create, { 0, 1 }, DENIED_WITHOUT_NO_CGROUP },
	{ SYS_memfd_create, { 0, 8 }, DENIED_WITHOUT_NO_CGROUP },
	{ SYS_memfd_create, { 0, 1ULL << 32 | 1 }, DENIED_WITHOUT_NO_CGROUP },
	/* the filter tells of it, and so it shall be */
	{ SYS_memfd_create, { 0, EXEC }, 0 },
	{ SYS_memfd_create, { 0, EXEC | 1 }, 0 },
	{ SYS_mmap,
	  { 0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS },
	  DENIED_WITHOUT_NO_CGROUP },
	{ SYS_mmap, { 0, 4096, 3, 1ULL << 32 | 0x4021 }, DENIED_WITHOUT_NO_CGROUP },
	{ SYS_mmap,
	  { 0, 4096, 3, 3 /* VALIDATE */ | MAP_ANONYMOUS },
	  DENIED_WITHOUT_NO_CGROUP },
	{ SYS_mmap, { 0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS }, 0 },
	{ SYS_mmap, { 0, 4096, 3, MAP_SHARED }, 0 },
	{ SYS_splice, { 0 }, DENIED_WITHOUT_NO_CGROUP },
	{ SYS_sendfile, { 1, 2, 3 }, DENIED_WITHOUT_NO_CGROUP },
	/* the low half of a pointer may be zero; a question has none */
	{ SYS_rt_sigaction, { SIGCHLD, 0x7fff0010 }, DENIED_WITHOUT_LOCKED },
	{ SYS_rt_sigaction, { SIGCHLD, 1ULL << 32 }, DENIED_WITHOUT_LOCKED },
	{ SYS_rt_sigaction, { 1ULL << 32 | SIGCHLD, 1 }, DENIED_WITHOUT_LOCKED },
	{ SYS_rt_sigaction, { SIGCHLD, 0, 0x7fff0010 }, 0 },
	{ SYS_rt_sigaction, { SIGINT, 0x7fff0010 }, 0 },
	{ SYS_copy_file_range, { 1, 2, 3 }, 0 },
	{ SYS_setsockopt, { 3, SOL_SOCKET, SO_SNDBUF }, DENIED_WITHOUT_NO_CGROUP },
	{ SYS_setsockopt, { 3, SOL_SOCKET, SO_RCVBUF }, DENIED_WITHOUT_NO_CGROUP },
	{ SYS_setsockopt,
	  { 3, 5ULL << 32 | SOL_SOCKET, SO_SNDBUF },
	  DENIED_WITHOUT_NO_CGROUP },
	{ SYS_setsockopt,
	  { 3, SOL_SOCKET, 5ULL << 32 | SO_SNDBUF },
	  DENIED_WITHOUT_NO_CGROUP },
	{ SYS_setsockopt, { 3, SOL_SOCKET, SO_REUSEADDR }, 0 },
	{ SYS_setsockopt, { 3, 6 /* TCP */, SO_SNDBUF }, 0 },
	{ SYS_getsockopt, { 3, SOL_SOCKET, SO_SNDBUF }, 0 },
	{ SYS_getsockopt, { 3, SOL_SOCKET, 71 /* NETNS_COOKIE */ }, LEASED },
	{ SYS_setsockopt, { 3, SOL_SOCKET, 71 }, 0 },
	{ SYS_socket, { AF_INET, SOCK_STREAM, 0 }, LEASED },
	{ SYS_socket, { AF_INET, SOCK_RAW, 99 }, LEASED },
	{ SYS_socket, { 1ULL << 32 | AF_INET, SOCK_DGRAM, 0 }, LEASED },
	{ SYS_socket, { AF_INET6, SOCK_DGRAM, 0 }, LEASED },
	{ SYS_socket, { AF_UNIX, SOCK_DGRAM, AF_INET }, 0 },
	{ SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, 0 },
	{ SYS_socketpair, { 1, 1, 0 }, 0 },
	{ SYS_flock, { 3, 2 }, DENIED_WITHOUT_FILE_LOCKS },
	{ SYS_fcntl, { 3, F_GETLK }, DENIED_WITHOUT_FILE_LOCKS },
	{ SYS_fcntl, { 3, F_SETLK }, DENIED_WITHOUT_FILE_LOCKS },
	{ SYS_fcntl, { 3, 1ULL << 32 | F_SETLKW }, DENIED_WITHOUT_FILE_LOCKS },
	{ SYS_fcntl, { 3, F_SETLEASE }, DENIED_WITHOUT_FILE_LOCKS },
	{ SYS_fcntl, { 3, 1040 /* F_SETDELEG */ }, DENIED_WITHOUT_FILE_LOCKS },
	{ SYS_fcntl, { 3, F_SETFL }, 0 },
	{ SYS_fcntl, { F_SETLK, F_DUPFD_CLOEXEC, F_SETLK }, 0 },
	{ SYS_truncate, { 0 }, DENIED_WITHOUT_NO_TRUNCATE },
	{ SYS_ftruncate, { 0 }, 0 },
	{ SYS_openat, { 0, 0, O_RDONLY | O_TRUNC }, DENIED_WITHOUT_NO_TRUNCATE },
	{ SYS_openat,
	  { 0, 0, O_RDONLY | O_TRUNC | O_CREAT },
	  DENIED_WITHOUT_NO_TRUNCATE },
	{ SYS_openat,
	  { 0, 0, O_TRUNC | O_CLOEXEC | O_NOFOLLOW },
	  DENIED_WITHOUT_NO_TRUNCATE },
	{ SYS_openat, { 0, 0, 1ULL << 32 | O_TRUNC }, DENIED_WITHOUT_NO_TRUNCATE },
	/* opened for neither, and emptied all the same */
	{ SYS_openat, { 0, 0, 3 | O_TRUNC }, DENIED_WITHOUT_NO_TRUNCATE },
	{ SYS_openat, { 0, 0, O_RDONLY }, 0 },
	{ SYS_openat, { 0, 0, 3 }, 0 },
	{ SYS_openat, { 0, 0, O_WRONLY | O_TRUNC }, 0 },
	{ SYS_openat, { 0, 0, O_RDWR | O_TRUNC }, 0 },
	{ SYS_openat, { 0, 0, O_WRONLY | O_CREAT | O_TRUNC }, 0 },
	{ SYS_openat, { O_TRUNC, O_TRUNC, O_WRONLY }, 0 },
#if defined(__x86_64__)
	{ SYS_open, { 0, O_RDONLY | O_TRUNC }, DENIED_WITHOUT_NO_TRUNCATE },
	{ SYS_open, { 0, O_RDONLY | O_TRUNC | O_CREAT }, DENIED_WITHOUT_NO_TRUNCATE },
	{ SYS_open, { 0, 3 | O_TRUNC }, DENIED_WITHOUT_NO_TRUNCATE },
	{ SYS_open, { 0, O_RDONLY }, 0 },
	{ SYS_open, { 0, O_WRONLY | O_TRUNC }, 0 },
	{ SYS_open, { 0, O_RDWR | O_TRUNC | O_CREAT }, 0 },
	/* opens for writing, which Landlock refuses */
	{ SYS_creat, { 0, 0644 }, 0 },
#endif
};

static void assemble(unsigned int lacks, const struct bpf_program *p,
		     const struct plan *plan)
{
	size_t own = denied_without_code(lacks, code);

	ck_assert_uint_gt(own, 2);
	ck_assert_uint_le(own, DENIED_WITHOUT_CODE_MAX);
	own += seccomp_allow_code(plan, code + own);
	memcpy(code + own, p->code, p->length * sizeof(code[0]));
	whole = own + p->length;
	bpf_check(code, whole);
}

/* by the words of the table above, not by the code's own */
START_TEST(just_these_calls_are_refused)
{
	static const struct plan plan = { 0 };
	const struct bpf_program *p = &bpf_programs[_i % INIT];
	unsigned int lacks = 1 + (unsigned int)_i / INIT;

	assemble(lacks, p, &plan);
	for (size_t i = 0; i < COUNT(calls); i++) {
		struct seccomp_data data = { .nr = (int)calls[i].nr, .arch = NATIVE };
		bool denied = calls[i].lack & lacks;

		memcpy(data.args, calls[i].args, sizeof(calls[i].args));
		ck_assert_msg(
			bpf_run(code, whole, &data) ==
				(denied ? REFUSED(calls[i].nr == SYS_socket ? EAFNOSUPPORT
									    : EPERM)
					: bpf_run(p->code, p->length, &data)),
			"call %zu", i);
		ck_assert_msg((denied_why(lacks, &data) != NULL) == denied, "why %zu", i);
	}
}
END_TEST

/* all numbers, other entries: what is not denied is the filter's own to answer */
START_TEST(all_else_goes_on_to_the_filter)
{
	static const struct plan plan = { 0 };
	static const uint32_t bits[] = { 0, X32_BIT, 1u << 31 };
	static const uint64_t values[] = { 0,        1,         7,           8,
					   EXEC,     O_TRUNC,   O_TRUNC | 1, O_TRUNC | 3,
					   1u << 31, UINT64_MAX };
	const struct bpf_program *p = &bpf_programs[_i];

	assemble(BOTH, p, &plan);
	for (size_t i = 0; i < BPF_ARCHS * COUNT(bits) * COUNT(values); i++)
		for (uint32_t nr = 0; nr < NUMBERS; nr++) {
			uint64_t value = values[i / BPF_ARCHS / COUNT(bits)];
			struct seccomp_data data = {
				.nr = (int)(nr | bits[i / BPF_ARCHS % COUNT(bits)]),
				.arch = bpf_archs[i % BPF_ARCHS],
				.args = { value, value, value, value, value, value },
			};
			uint32_t plain = bpf_run(p->code, p->length, &data);
			uint32_t with = bpf_run(code, whole, &data);

			if (with == plain)
				continue;
			/* a refusal, of a native call, that a row explains */
			ck_assert(data.arch == NATIVE && (uint32_t)data.nr < NUMBERS);
			ck_assert_uint_eq(with, REFUSED(EPERM));
			ck_assert_ptr_nonnull(denied_why(BOTH, &data));
		}
}
END_TEST

/* no option lifts what stands in for a wall */
START_TEST(a_plan_that_allows_them_lifts_none)
{
	static const char *const specs[] = { "memfd_create=1", "splice", "sendfile",
					     "setsockopt", "truncate" };
	struct plan plan = { 0 };
	struct err e = { 0 };

	for (size_t i = 0; i < COUNT(specs); i++)
		ck_assert_int_eq(plan_add_call(&plan, specs[i], &e), 0);
	assemble(BOTH, &bpf_programs[PLAIN], &plan);
	for (size_t i = 0; i < COUNT(calls); i++) {
		struct seccomp_data data = { .nr = (int)calls[i].nr, .arch = NATIVE };

		memcpy(data.args, calls[i].args, sizeof(calls[i].args));
		if (calls[i].lack & BOTH)
			ck_assert_uint_eq(bpf_run(code, whole, &data), REFUSED(EPERM));
	}
}
END_TEST

START_TEST(the_report_names_each_once)
{
	static const struct {
		unsigned int lacks;
		const char *text;
	} rows[] = {
		{ 0, "[]" },
		{ DENIED_WITHOUT_NO_CGROUP,
		  "[\"memfd_create\",\"mmap\",\"splice\",\"sendfile\",\"setsockopt\"]" },
		{ DENIED_WITHOUT_NO_TRUNCATE, "[\"truncate\",\"open\",\"openat\"]" },
		{ BOTH,
		  "[\"memfd_create\",\"mmap\",\"splice\",\"sendfile\",\"setsockopt\","
		  "\"truncate\",\"open\",\"openat\"]" },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		cleanup_free char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		denied_print(rows[i].lacks, out);
		(void)fclose(out);
		ck_assert_int_eq(strncmp(text, ",\"shut\":", 8), 0);
		ck_assert_str_eq(text + 8, rows[i].text);
	}
}
END_TEST

static bool fails(long r)
{
	return r == -1 && errno == EPERM;
}

/* of a running kernel; *arg: is the one listener taken already? */
static void refuse(void *arg)
{
	static struct plan plan;
	struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	int listener, pair[2], size = 4096, taken = *(int *)arg;
	struct err e = { 0 };
	uint64_t key;

	plan.allow_missing = taken ? PART_AUDIT : 0;
	plan.learn = taken ? ANSWER_YES : ANSWER_NO;
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0);
	MUST(!taken || filter_listen(all, COUNT(all), true) >= 0);
	MUST(seccomp_install(&plan, BOTH, &key, &listener, &e) == 0);
	MUST((listener == -1) == taken);
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	MUST(fails(syscall(SYS_memfd_create, "x", 1)));
	MUST(mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) ==
		     MAP_FAILED &&
	     errno == EPERM);
	MUST(fails(syscall(SYS_splice, 0, NULL, 1, NULL, 1UL, 0)));
	MUST(fails(syscall(SYS_sendfile, pair[0], 0, NULL, 1UL)));
	MUST(fails(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size))));
	MUST(fails(setsockopt(pair[0], SOL_SOCKET, SO_RCVBUF, &size, sizeof(size))));
	MUST(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &size, sizeof(size)) == 0);
	MUST(fails(truncate("/dev/null", 0)));
	MUST(fails(open("/dev/null", O_RDONLY | O_TRUNC)));
	MUST(fails(open("/dev/null", 3 | O_TRUNC)));
	MUST(fails(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_TRUNC)));
	MUST(open("/dev/null", O_WRONLY | O_TRUNC) >= 0);
}

START_TEST(the_kernel_refuses_them)
{
	unit_child(refuse, &_i);
}
END_TEST

Suite *jail_denied_without_suite(void)
{
	Suite *s = suite_create("jail denied without");
	TCase *c = tcase_create("denied without");

	tcase_add_test(c, every_row_says_what_and_why);
	tcase_add_test(c, what_lacks_is_what_is_not_there);
	tcase_add_test(c, where_nothing_lacks_there_is_no_code);
	tcase_add_loop_test(c, just_these_calls_are_refused, 0, 63 * INIT);
	tcase_add_loop_test(c, all_else_goes_on_to_the_filter, 0, INIT);
	tcase_add_test(c, a_plan_that_allows_them_lifts_none);
	tcase_add_test(c, the_report_names_each_once);
	tcase_add_loop_test(c, the_kernel_refuses_them, 0, 2);
	suite_add_tcase(s, c);
	return s;
}
