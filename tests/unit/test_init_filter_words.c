/* SPDX-License-Identifier: MIT */
/*
 * test_init_filter_words.c - the generated filters in words, and as the kernel takes them
 *
 * What test_init_filter_code.c asks with the tables as its oracle, here with none.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "tests/unit/bpf.h"
#include "tests/unit/suites.h"

START_TEST(a_few_calls_in_words)
{
	static const struct {
		long nr;
		uint64_t arg0, arg1;
		uint32_t answer;
	} rows[] = {
		{ SYS_read, 0, 0, ALLOWED },
		{ SYS_execve, 0, 0, ALLOWED },
		{ SYS_clone, 0x01200011, 0, ALLOWED },
		{ SYS_clone, 0x10000000 | 17, 0, TOLD },
		{ SYS_clone, 0x00020000, 0, TOLD },
		{ SYS_clone, 0xff00000000000011, 0, ALLOWED },
		{ SYS_clone3, 0, 0, REFUSED(ENOSYS) },
		{ SYS_ioctl, 1, 0x5401, ALLOWED },
		{ SYS_ioctl, 1, 0x5412, TOLD },
		{ SYS_ioctl, 1, 0x100005412, TOLD },
		{ SYS_ioctl, 1, 0xffffffff00005401, ALLOWED },
		{ SYS_socket, 1, 1, ALLOWED },
		{ SYS_socket, 16, 3, TOLD },
		{ SYS_personality, 0xffffffff, 0, ALLOWED },
		{ SYS_personality, 0x0040000, 0, TOLD },
		{ SYS_personality, 0x0440000, 0, TOLD },
		{ SYS_personality, 1, 0, TOLD },
		{ SYS_personality, 0x7fffffff, 0, TOLD },
		{ SYS_personality, 0, 0, ALLOWED },
		{ SYS_prctl, PR_SET_NAME, 0, ALLOWED },
		{ SYS_prctl, PR_SET_SECCOMP, 2, REFUSED(EPERM) },
		{ SYS_prlimit64, 0, 0, ALLOWED },
		{ SYS_prlimit64, 1, 0, REFUSED(EPERM) },
		{ SYS_setpriority, PRIO_PROCESS, 0, ALLOWED },
		{ SYS_setpriority, PRIO_PROCESS, 2, ALLOWED },
		{ SYS_setpriority, PRIO_PROCESS, 0x10001, ALLOWED },
		{ SYS_setpriority, PRIO_PROCESS, 1, REFUSED(EPERM) },
		{ SYS_setpriority, PRIO_PROCESS, 1ULL << 32 | 1, REFUSED(EPERM) },
		{ SYS_setpriority, PRIO_PGRP, 0, REFUSED(EPERM) },
		{ SYS_setpriority, PRIO_USER, 0, REFUSED(EPERM) },
		{ SYS_sched_setaffinity, 0, 8, ALLOWED },
		{ SYS_sched_setaffinity, 3, 8, ALLOWED },
		{ SYS_sched_setaffinity, 1, 8, REFUSED(EPERM) },
		{ SYS_sched_setaffinity, 1ULL << 32 | 1, 8, REFUSED(EPERM) },
		{ SYS_openat2, 0, 0, REFUSED(ENOSYS) },
		{ SYS_fchmod, 1, 0755, ALLOWED },
		{ SYS_fchmod, 1, 04755, REFUSED(EPERM) },
		{ SYS_fchmod, 1, 02755, REFUSED(EPERM) },
		{ SYS_fchmod, 1, 06000, REFUSED(EPERM) },
		{ SYS_ptrace, 0, 0, TOLD },
		{ SYS_mount, 0, 0, TOLD },
		{ SYS_bpf, 0, 0, TOLD },
		{ SYS_keyctl, 0, 0, TOLD },
		{ SYS_userfaultfd, 0, 0, TOLD },
		{ 425 /* io_uring_setup */, 0, 0, TOLD },
		{ SYS_unshare, 0, 0, TOLD },
		{ SYS_setns, 0, 0, TOLD },
		{ SYS_seccomp, 1, 0, REFUSED(EPERM) },
		{ SYS_memfd_create, 0, 1, ALLOWED },
		{ SYS_memfd_create, 0, 0x11, TOLD },
		{ SYS_memfd_create, 0, MFD_HUGETLB, REFUSED(EPERM) },
		{ SYS_sync, 0, 0, REFUSED(EPERM) },
		{ SYS_socketpair, AF_UNIX, 1, ALLOWED },
		{ SYS_socketpair, 30 /* AF_TIPC */, 1, REFUSED(EPERM) },
		{ SYS_ioctl, 0, 0x5423 /* TIOCSETD */, TOLD },
		{ SYS_prctl, 47 /* PR_CAP_AMBIENT */, 2, TOLD },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {

		ck_assert_msg(bpf_ask(PLAIN, rows[i].nr, rows[i].arg0, rows[i].arg1, 0,
				      0) == rows[i].answer,
			      "row %zu", i);
	}
}
END_TEST

/* what --lock-code takes away, and the one start that carries the key */
START_TEST(locked_code_in_words)
{
	static const struct {
		long nr;
		uint64_t arg2, arg3;
		uint32_t answer;
	} rows[] = {
		{ SYS_execve, 0, 0, TOLD },
		{ SYS_execve, 0, FILTER_KEY, ALLOWED },
		{ SYS_execve, 0, FILTER_KEY ^ 1, TOLD },
		{ SYS_execve, 0, FILTER_KEY ^ 1ULL << 63, TOLD },
		{ SYS_execveat, 0, FILTER_KEY, TOLD },
		{ SYS_mmap, 3, 0, ALLOWED },
		{ SYS_mmap, 4, 0, TOLD },
		{ SYS_mmap, 7, 0, TOLD },
		{ SYS_mprotect, 1, 0, ALLOWED },
		{ SYS_mprotect, 5, 0, TOLD },
		{ SYS_pkey_mprotect, 4, 0, TOLD },
		{ SYS_pkey_mprotect, 0, 0, ALLOWED },
		{ SYS_shmat, 0, 0, TOLD },
		{ SYS_ptrace, 0, 0, TOLD },
		{ SYS_userfaultfd, 0, 0, TOLD },
		{ SYS_read, 4, 0, ALLOWED },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		ck_assert_msg(bpf_ask(LOCKED, rows[i].nr, 0, 0, rows[i].arg2,
				      rows[i].arg3) == rows[i].answer,
			      "row %zu", i);
}
END_TEST

/* what a type and protocol may be, with the family that arg0 is */
START_TEST(ip_sockets_in_words)
{
	static const struct {
		uint64_t family, type, protocol;
		uint32_t answer;
	} rows[] = {
		{ AF_INET, SOCK_STREAM, 0, ALLOWED },
		{ AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_TCP, ALLOWED },
		{ AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP, ALLOWED },
		{ AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, ALLOWED },
		{ AF_INET, SOCK_RAW, IPPROTO_ICMP, ALLOWED },
		{ AF_INET | 1ULL << 32, SOCK_STREAM | 1ULL << 40, 1ULL << 63, ALLOWED },
		{ AF_INET, SOCK_STREAM, 132 /* SCTP */, REFUSED(EPERM) },
		{ AF_INET, SOCK_STREAM, 256 /* SMC */, REFUSED(EPERM) },
		{ AF_INET6, SOCK_STREAM, 262 /* MPTCP */, REFUSED(EPERM) },
		{ AF_INET, SOCK_DGRAM, 136 /* UDP-Lite */, REFUSED(EPERM) },
		{ AF_INET, 6 /* DCCP */, 0, REFUSED(EPERM) },
		{ AF_INET6, SOCK_SEQPACKET, 0, REFUSED(EPERM) },
		{ AF_INET, 0x11, 0, REFUSED(EPERM) },
		{ AF_UNIX, SOCK_SEQPACKET, 0, ALLOWED },
		{ AF_VSOCK, SOCK_STREAM, 0, TOLD },
	};

	for (uint64_t n = 0; n < 600; n++) {
		bool family = n == AF_UNIX || n == AF_INET || n == AF_INET6;
		bool protocol = n == 0 || n == IPPROTO_ICMP || n == IPPROTO_TCP ||
				n == IPPROTO_UDP || n == IPPROTO_ICMPV6;

		ck_assert((bpf_ask(PLAIN, SYS_socket, n, SOCK_STREAM, 0, 0) == ALLOWED) ==
			  family);
		ck_assert((bpf_ask(PLAIN, SYS_socket, AF_INET6, SOCK_RAW, n, 0) ==
			   ALLOWED) == protocol);
	}
	for (size_t i = 0; i < COUNT(rows); i++) {

		ck_assert_msg(bpf_ask(PLAIN, SYS_socket, rows[i].family, rows[i].type,
				      rows[i].protocol, 0) == rows[i].answer,
			      "row %zu", i);
	}
}
END_TEST

/* a set-id bit counts where a file is made, and only there */
START_TEST(set_id_files_are_never_made)
{
	static const struct {
		int flags;
		mode_t mode;
		uint32_t answer;
	} rows[] = {
		{ O_RDONLY, 0, ALLOWED },
		{ O_RDONLY, 06777, ALLOWED }, /* no mode is read */
		{ O_RDONLY | O_DIRECTORY, 04000, ALLOWED },
		{ O_WRONLY | O_CREAT, 0644, ALLOWED },
		{ O_WRONLY | O_CREAT, 01777, ALLOWED },
		{ O_WRONLY | O_CREAT, 04755, REFUSED(EPERM) },
		{ O_WRONLY | O_CREAT | O_EXCL, 02755, REFUSED(EPERM) },
		{ O_WRONLY | O_TMPFILE, 0644, ALLOWED },
		{ O_WRONLY | O_TMPFILE, 04644, REFUSED(EPERM) },
		{ O_WRONLY | O_TMPFILE, 06000, REFUSED(EPERM) },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {

		for (uint64_t high = 0; high < 2; high++)
			ck_assert_msg(bpf_ask(PLAIN, SYS_openat, 3, 0,
					      (unsigned int)rows[i].flags,
					      rows[i].mode | high << 40) ==
					      rows[i].answer,
				      "row %zu", i);
	}
}
END_TEST

/* own ones, and of these RLIMIT_CORE to read alone, by a pointer that is NULL as a
 * whole */
START_TEST(limits_in_words)
{
	for (uint64_t high = 0; high < 2; high++)
		for (uint64_t r = 0; r < 16; r++) {
			uint64_t limit = r | high << 32;
			uint32_t sets = r == RLIMIT_CORE ? REFUSED(EPERM) : ALLOWED;

			ck_assert_uint_eq(bpf_ask(PLAIN, SYS_setrlimit, limit, 9, 0, 0),
					  sets);
			ck_assert_uint_eq(bpf_ask(PLAIN, SYS_prlimit64, 0, limit, 9, 9),
					  sets);
			ck_assert_uint_eq(
				bpf_ask(PLAIN, SYS_prlimit64, 0, limit, 1ULL << 32, 0),
				sets);
			ck_assert_uint_eq(bpf_ask(PLAIN, SYS_prlimit64, 0, limit, 0, 9),
					  ALLOWED);
			ck_assert_uint_eq(bpf_ask(PLAIN, SYS_prlimit64, 1, limit, 0, 9),
					  REFUSED(EPERM));
			ck_assert_uint_eq(bpf_ask(PLAIN, SYS_prlimit64, 1, limit, 9, 9),
					  REFUSED(EPERM));
		}
}
END_TEST

/* but none that merges pages with the rest of the host's, or drops pages that all
 * share */
START_TEST(advice_is_for_own_memory)
{
	static const bool refused[26] = {
		[MADV_MERGEABLE] = true,
		[MADV_UNMERGEABLE] = true,
		[MADV_COLD] = true,
		[MADV_PAGEOUT] = true,
	};

	for (uint64_t advice = 0; advice < COUNT(refused); advice++)
		ck_assert_msg(bpf_ask(PLAIN, SYS_madvise, 0, 0, advice, 0) ==
				      (refused[advice] ? REFUSED(EPERM) : ALLOWED),
			      "%d", (int)advice);
	for (uint64_t advice = 0; advice < 6; advice++)
		ck_assert_msg(
			bpf_ask(PLAIN, SYS_fadvise64, 3, 0, 0, advice) ==
				(advice < POSIX_FADV_DONTNEED ? ALLOWED : REFUSED(EPERM)),
			"%d", (int)advice);
}
END_TEST

START_TEST(no_huge_page_is_the_hosts)
{
	for (int program = PLAIN; program <= LOCKED; program++) {
		ck_assert_uint_eq(bpf_ask(program, SYS_mmap, 0, 0, 3, MAP_ANONYMOUS),
				  ALLOWED);
		ck_assert_uint_eq(bpf_ask(program, SYS_mmap, 0, 0, 3, MAP_HUGETLB),
				  REFUSED(EPERM));
	}
}
END_TEST

START_TEST(the_kernel_would_take_it)
{
	bpf_check(bpf_programs[_i].code, bpf_programs[_i].length);
}
END_TEST

static struct sock_filter code[BPF_MAXINSNS];

static void copy_of(int program)
{
	memcpy(code, bpf_programs[program].code,
	       bpf_programs[program].length * sizeof(code[0]));
}

static uint32_t execve_with(int program, uint64_t key)
{
	struct seccomp_data data = { .nr = SYS_execve,
				     .arch = NATIVE,
				     .args = { 0, 0, 0, key } };

	return bpf_run(code, bpf_programs[program].length, &data);
}

/* the key that was put in is the one that is asked for, and the place's own no more */
START_TEST(a_key_takes_its_place)
{
	static const uint64_t keys[] = { 1,
					 0,
					 UINT64_MAX,
					 0x0123456789abcdef,
					 1ULL << 63,
					 FILTER_KEY ^ 1,
					 FILTER_KEY << 32 | FILTER_KEY >> 32 };

	for (size_t i = 0; i < COUNT(keys); i++) {
		copy_of(LOCKED);
		ck_assert_int_eq(
			filter_set_key(code, bpf_programs[LOCKED].length, &keys[i]), 1);
		ck_assert_uint_eq(execve_with(LOCKED, keys[i]), ALLOWED);
		ck_assert_uint_eq(execve_with(LOCKED, FILTER_KEY), TOLD);
		for (unsigned int bit = 0; bit < 64; bit++)
			ck_assert_uint_eq(execve_with(LOCKED, keys[i] ^ 1ULL << bit),
					  TOLD);
	}
}
END_TEST

START_TEST(no_key_lets_nothing_through)
{
	static const uint64_t keys[] = {
		0, UINT64_MAX, FILTER_KEY, FILTER_KEY >> 32, FILTER_KEY << 32, 5
	};

	copy_of(LOCKED);
	ck_assert_int_eq(filter_set_key(code, bpf_programs[LOCKED].length, NULL), 1);
	for (size_t i = 0; i < COUNT(keys); i++)
		ck_assert_uint_eq(execve_with(LOCKED, keys[i]), TOLD);
	copy_of(PLAIN);
	ck_assert_int_eq(filter_set_key(code, bpf_programs[PLAIN].length, NULL), 0);
}
END_TEST

START_TEST(a_key_has_no_place_elsewhere)
{
	static const int without[] = { PLAIN, INIT };
	static const uint64_t key = 5;

	for (size_t i = 0; i < COUNT(without); i++) {
		size_t length = bpf_programs[without[i]].length;

		copy_of(without[i]);
		ck_assert_int_eq(filter_set_key(code, length, &key), 0);
		ck_assert_int_eq(memcmp(code, bpf_programs[without[i]].code,
					length * sizeof(code[0])),
				 0);
	}
}
END_TEST

Suite *init_filter_words_suite(void)
{
	Suite *s = suite_create("init filter words");
	TCase *c = tcase_create("words");

	tcase_add_test(c, a_few_calls_in_words);
	tcase_add_test(c, locked_code_in_words);
	tcase_add_test(c, ip_sockets_in_words);
	tcase_add_test(c, set_id_files_are_never_made);
	tcase_add_test(c, limits_in_words);
	tcase_add_test(c, advice_is_for_own_memory);
	tcase_add_test(c, no_huge_page_is_the_hosts);
	tcase_add_loop_test(c, the_kernel_would_take_it, 0, PROGRAM_COUNT);
	tcase_add_test(c, a_key_takes_its_place);
	tcase_add_test(c, no_key_lets_nothing_through);
	tcase_add_test(c, a_key_has_no_place_elsewhere);
	suite_add_tcase(s, c);
	return s;
}
