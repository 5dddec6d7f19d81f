/* SPDX-License-Identifier: MIT */
/*
 * test_init_filter_code.c - the generated BPF programs do what the tables say
 *
 * A small interpreter of the classic BPF that seccomp runs; the tables are the oracle,
 * and libseccomp is only asked what number a name has. See seccomp(2),
 * linux/bpf_common.h; Kernel: kernel/seccomp.c, seccomp_check_filter()
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include "init/filter.h"
#include "tests/unit/suites.h"

#include "filter_init.h"
#include "filter_program.h"
#include "syscall_names.h"

#define NUMBERS 600 /* more than any kernel has; beyond is tried in steps */
#define X32_BIT 0x40000000u
#define ALLOWED SECCOMP_RET_ALLOW
#define TOLD SECCOMP_RET_USER_NOTIF
#define REFUSED(errnum) (SECCOMP_RET_ERRNO | (uint32_t)(errnum))

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#endif

extern const struct filter_row jail_filter_rows[], init_filter_rows[];
extern const size_t jail_filter_row_count, init_filter_row_count;

static const struct program {
	const struct filter_row *rows;
	const size_t *row_count;
	const struct sock_filter *code;
	size_t length;
	bool tells, locked, learns;
} programs[] = {
	{ jail_filter_rows, &jail_filter_row_count, filter_program, COUNT(filter_program),
	  true, false, false },
	{ jail_filter_rows, &jail_filter_row_count, filter_program_locked,
	  COUNT(filter_program_locked), true, true, false },
	{ jail_filter_rows, &jail_filter_row_count, filter_program_learn,
	  COUNT(filter_program_learn), true, false, true },
	{ jail_filter_rows, &jail_filter_row_count, filter_program_locked_learn,
	  COUNT(filter_program_locked_learn), true, true, true },
	{ init_filter_rows, &init_filter_row_count, filter_init, COUNT(filter_init),
	  false, false, false },
};
enum { PLAIN, LOCKED, LEARN, LOCKED_LEARN, INIT };

static uint32_t load(const struct seccomp_data *data, uint32_t offset)
{
	uint32_t word;

	HOLDS(offset % 4 == 0 && offset <= sizeof(*data) - 4);
	memcpy(&word, (const char *)data + offset, 4);
	return word;
}

static bool jumps(uint16_t code, uint32_t a, uint32_t k)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == k;
	case BPF_JGT:
		return a > k;
	case BPF_JGE:
		return a >= k;
	case BPF_JSET:
		return (a & k) != 0;
	default:
		ck_abort_msg("jump %#x is not one that libseccomp makes", code);
		return false;
	}
}

static uint32_t run(const struct program *p, const struct seccomp_data *data)
{
	uint32_t a = 0;

	for (size_t pc = 0; pc < p->length; pc++) {
		const struct sock_filter *i = &p->code[pc];

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			HOLDS(i->code == (BPF_LD | BPF_W | BPF_ABS));
			a = load(data, i->k);
			break;
		case BPF_ALU:
			HOLDS(i->code == (BPF_ALU | BPF_AND | BPF_K));
			a &= i->k;
			break;
		case BPF_RET:
			HOLDS(i->code == (BPF_RET | BPF_K));
			return i->k;
		default:
			HOLDS(BPF_CLASS(i->code) == BPF_JMP);
			if (i->code == (BPF_JMP | BPF_JA))
				pc += i->k;
			else
				pc += jumps(i->code, a, i->k) ? i->jt : i->jf;
		}
	}
	ck_abort_msg("the program runs past its end");
	return 0;
}

static bool holds(const struct filter_row *row, const struct seccomp_data *data)
{
	uint32_t low = (uint32_t)data->args[row->arg];

	return row->when == ALWAYS || row->when == NEVER ||
	       (row->when == ARG_EQ && low == (uint32_t)row->value) ||
	       (row->when == ARG_CLEAR && (data->args[row->arg] & row->value) == 0);
}

/* a row's system call number here, looked up once: there are very many questions */
static int number(const struct program *p, size_t row)
{
	static int numbers[COUNT(programs)][1024];
	int *n = &numbers[p - programs][row];

	HOLDS(row < COUNT(numbers[0]));
	if (*n == 0)
		*n = seccomp_syscall_resolve_name(p->rows[row].syscall) + 1;
	return *n - 1;
}

static bool refuses(const struct refused_row *row, const struct seccomp_data *data)
{
	uint64_t arg = data->args[row->arg];

	return row->when == REFUSED_ALWAYS ||
	       (row->when == REFUSED_EQ && (uint32_t)arg == row->value) ||
	       (row->when == REFUSED_BIT && (arg & row->value)) ||
	       (row->when == REFUSED_KEY && arg != FILTER_KEY);
}

static int refused_number(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	for (size_t i = 0; nr == __NR_SCMP_ERROR && i < COUNT(names_native); i++)
		if (names_native[i] && strcmp(names_native[i], name) == 0)
			nr = (int)i;
	HOLDS(nr != __NR_SCMP_ERROR);
	return nr;
}

/* numbers of the rows of a table, looked up once */
static int *numbers_of(const struct refused_row *rows, size_t count, int *numbers)
{
	if (!numbers[0])
		for (size_t i = 0; i < count; i++)
			numbers[i] = refused_number(rows[i].syscall);
	return numbers;
}

/* Return: 1 told of, 0 let through, -1 the lock has no word on it */
static int by_lock(const struct seccomp_data *data)
{
	static int numbers[16];

	HOLDS(locked_row_count <= COUNT(numbers));
	(void)numbers_of(locked_rows, locked_row_count, numbers);
	for (size_t i = 0; i < locked_row_count; i++)
		if (numbers[i] == data->nr)
			return refuses(&locked_rows[i], data);
	return -1;
}

static bool is_violation(const struct seccomp_data *data)
{
	static int numbers[512];

	HOLDS(refused_row_count <= COUNT(numbers));
	(void)numbers_of(refused_rows, refused_row_count, numbers);
	for (size_t i = 0; i < refused_row_count; i++)
		if (numbers[i] == data->nr && refused_rows[i].violation &&
		    refuses(&refused_rows[i], data))
			return true;
	return false;
}

/* what the tables say about a call through the native entry */
static uint32_t expected(const struct program *p, const struct seccomp_data *data)
{
	int lock = p->locked ? by_lock(data) : -1;

#if defined(__x86_64__)
	if (p->tells && (uint32_t)data->nr >= X32_BIT && data->nr != -1)
		return TOLD; /* x32's */
#endif
	if (lock >= 0)
		return lock ? TOLD : ALLOWED;
	for (size_t i = 0; i < *p->row_count; i++) {
		if (number(p, i) != data->nr || !holds(&p->rows[i], data))
			continue;
		return p->rows[i].when == NEVER ? REFUSED(p->rows[i].value) : ALLOWED;
	}
	return p->tells && (p->learns || is_violation(data)) ? TOLD : REFUSED(EPERM);
}

static void ck_native(const struct program *p, struct seccomp_data *data)
{
	uint32_t want, got;

	data->arch = NATIVE;
	want = expected(p, data);
	got = run(p, data);
	if (got != want)
		ck_abort_msg("nr %d args %#llx %#llx: %#x, not %#x", data->nr,
			     (unsigned long long)data->args[0],
			     (unsigned long long)data->args[1], got, want);
}

static void fill(struct seccomp_data *data, uint64_t value)
{
	for (size_t i = 0; i < 6; i++)
		data->args[i] = value;
}

/* the value, its neighbours and its single bits, in both halves of the word */
static void ck_argument(const struct program *p, int nr, unsigned int index,
			uint64_t value)
{
	struct seccomp_data data = { .nr = nr };
	__u64 *arg = &data.args[index];

	fill(&data, 0x0123456789abcdef);
	for (uint64_t high = 0; high < 3; high++) {
		*arg = value | high << 32;
		ck_native(p, &data);
		*arg = (value + 1) | high << 63;
		ck_native(p, &data);
		*arg = (value - 1) | high << 40;
		ck_native(p, &data);
		*arg = ~value;
		ck_native(p, &data);
		for (unsigned int bit = 0; bit < 64; bit++) {
			*arg = value ^ 1ULL << bit;
			ck_native(p, &data);
			*arg = 1ULL << bit;
			ck_native(p, &data);
		}
	}
}

START_TEST(every_number_obeys_the_table)
{
	static const uint64_t values[] = { 0,          1,           2,
					   0x5401,     0xffffffff,  UINT64_MAX,
					   0x7e020000, 0x100000000, 0xdeadbeef00000000 };
	const struct program *p = &programs[_i];
	struct seccomp_data data = { 0 };

	for (size_t k = 0; k < COUNT(values); k++) {
		fill(&data, values[k]);
		for (data.nr = 0; data.nr <= NUMBERS; data.nr++)
			ck_native(p, &data);
	}
	for (int64_t nr = NUMBERS; nr <= UINT32_MAX; nr += 99991) {
		data.nr = (int)(uint32_t)nr;
		ck_native(p, &data);
	}
	data.nr = -1;
	ck_native(p, &data);
}
END_TEST

START_TEST(every_row_obeys_its_condition)
{
	const struct program *p = &programs[_i];

	for (size_t i = 0; i < *p->row_count; i++)
		if (number(p, i) >= 0) /* else another architecture's */
			ck_argument(p, number(p, i), p->rows[i].arg, p->rows[i].value);
}
END_TEST

START_TEST(every_refused_row_obeys_its_condition)
{
	const struct program *p = &programs[_i];

	for (size_t i = 0; i < refused_row_count; i++)
		ck_argument(p, refused_number(refused_rows[i].syscall),
			    refused_rows[i].arg, refused_rows[i].value);
	for (size_t i = 0; i < locked_row_count; i++) {
		const struct refused_row *row = &locked_rows[i];

		ck_argument(p, refused_number(row->syscall), row->arg,
			    row->when == REFUSED_KEY ? FILTER_KEY : row->value);
	}
}
END_TEST

/* in words, so that an error in the oracle above would be seen as well */
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
		{ SYS_prctl, PR_SET_NAME, 0, ALLOWED },
		{ SYS_prctl, PR_SET_SECCOMP, 2, REFUSED(EPERM) },
		{ SYS_prlimit64, 0, 0, ALLOWED },
		{ SYS_prlimit64, 1, 0, REFUSED(EPERM) },
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
		{ SYS_sync, 0, 0, REFUSED(EPERM) },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct seccomp_data data = {
			.nr = (int)rows[i].nr,
			.arch = NATIVE,
			.args = { rows[i].arg0, rows[i].arg1 },
		};

		ck_assert_msg(run(&programs[PLAIN], &data) == rows[i].answer, "row %zu",
			      i);
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
		{ SYS_read, 4, 0, ALLOWED },
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct seccomp_data data = {
			.nr = (int)rows[i].nr,
			.arch = NATIVE,
			.args = { 0, 0, rows[i].arg2, rows[i].arg3 },
		};

		ck_assert_msg(run(&programs[LOCKED], &data) == rows[i].answer, "row %zu",
			      i);
		ck_assert_msg(run(&programs[LOCKED_LEARN], &data) == rows[i].answer,
			      "row %zu, learning", i);
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
		struct seccomp_data data = {
			.nr = SYS_openat,
			.arch = NATIVE,
			.args = { 3, 0, (unsigned int)rows[i].flags, rows[i].mode },
		};

		ck_assert_msg(run(&programs[PLAIN], &data) == rows[i].answer, "row %zu",
			      i);
		data.args[3] |= 0xffffffff00000000;
		ck_assert_msg(run(&programs[PLAIN], &data) == rows[i].answer, "row %zu",
			      i);
	}
}
END_TEST

/* a number means another call there: nothing at all is allowed, not even read */
START_TEST(other_entries_are_refused)
{
	static const uint32_t others[] = { AUDIT_ARCH_I386,    AUDIT_ARCH_X86_64,
					   AUDIT_ARCH_AARCH64, AUDIT_ARCH_ARM,
					   AUDIT_ARCH_PPC64LE, AUDIT_ARCH_S390X,
					   AUDIT_ARCH_MIPS,    0,
					   UINT32_MAX,         NATIVE ^ 1 };
	const struct program *p = &programs[_i];
	uint32_t want = p->tells ? TOLD : REFUSED(EPERM);
	struct seccomp_data data = { 0 };

	for (size_t i = 0; i < COUNT(others); i++) {
		data.arch = others[i];
		if (data.arch == NATIVE)
			continue;
		for (data.nr = -1; data.nr <= NUMBERS; data.nr++)
			HOLDS(run(p, &data) == want);
	}
#if defined(__x86_64__)
	data.arch = NATIVE;
	for (uint32_t nr = 0; nr <= NUMBERS; nr++) {
		data.nr = (int)(nr | X32_BIT);
		HOLDS(run(p, &data) == want);
		data.nr = (int)(nr | 0x80000000u);
		HOLDS(run(p, &data) == want);
	}
#endif
}
END_TEST

/* the kernel's own conditions, but for the ones that run() checks on its way */
START_TEST(the_kernel_would_take_it)
{
	const struct program *p = &programs[_i];

	ck_assert_uint_gt(p->length, 0);
	ck_assert_uint_le(p->length, BPF_MAXINSNS);
	ck_assert_uint_eq(BPF_CLASS(p->code[p->length - 1].code), BPF_RET);
	for (size_t pc = 0; pc < p->length; pc++) {
		const struct sock_filter *i = &p->code[pc];

		if (BPF_CLASS(i->code) != BPF_JMP)
			continue;
		if (BPF_OP(i->code) == BPF_JA)
			ck_assert_uint_lt(i->k, p->length - pc - 1);
		else
			ck_assert(pc + i->jt + 1 < p->length &&
				  pc + i->jf + 1 < p->length);
	}
}
END_TEST

Suite *init_filter_code_suite(void)
{
	Suite *s = suite_create("init filter code");
	TCase *c = tcase_create("code");

	tcase_add_loop_test(c, every_number_obeys_the_table, 0, (int)COUNT(programs));
	tcase_add_loop_test(c, every_row_obeys_its_condition, 0, (int)COUNT(programs));
	tcase_add_loop_test(c, every_refused_row_obeys_its_condition, 0, INIT);
	tcase_add_loop_test(c, other_entries_are_refused, 0, (int)COUNT(programs));
	tcase_add_loop_test(c, the_kernel_would_take_it, 0, (int)COUNT(programs));
	tcase_add_test(c, a_few_calls_in_words);
	tcase_add_test(c, locked_code_in_words);
	tcase_add_test(c, set_id_files_are_never_made);
	suite_add_tcase(s, c);
	return s;
}
