/* SPDX-License-Identifier: MIT */
/*
 * test_init_filter_code.c - the generated BPF programs do what the tables say
 *
 * The tables are the oracle, and libseccomp is only asked what number a name has.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/seccomp.h>
#include <seccomp.h>

#include "tests/unit/bpf.h"
#include "tests/unit/suites.h"

#include "syscall_names.h"

#define NUMBERS 600 /* more than any kernel has; beyond is tried in steps */

static bool is_ip(uint32_t type, uint32_t protocol)
{
	/* SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, with flags */
	return (type & 0x7ff) <= SOCK_RAW &&
	       (protocol == 0 || protocol == IPPROTO_TCP || protocol == IPPROTO_UDP ||
		protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6);
}

static bool holds(const struct filter_row *row, const struct seccomp_data *data)
{
	uint32_t low = (uint32_t)data->args[row->arg];

	if (row->when == OWN_LIMIT && row->arg == 1 && (uint32_t)data->args[0] != 0)
		return false;
	if (row->when == OWN_LIMIT)
		return (data->args[row->arg] & 15) != RLIMIT_CORE ||
		       (row->arg == 1 && data->args[2] == 0);
	if (row->when == IP_SOCKET)
		return (low == AF_INET || low == AF_INET6) &&
		       is_ip((uint32_t)data->args[1], (uint32_t)data->args[2]);
	return row->when == ALWAYS || row->when == NEVER ||
	       (row->when == ARG_EQ && low == (uint32_t)row->value) ||
	       (row->when == NONE_OR_ALL && (low == 0 || low == UINT32_MAX)) ||
	       (row->when == NOT_INIT && low != 1 &&
		(row->arg == 0 || (uint32_t)data->args[0] == PRIO_PROCESS)) ||
	       (row->when == ARG_CLEAR && (data->args[row->arg] & row->value) == 0);
}

/* a row's system call number here, looked up once: there are very many questions */
static int number(const struct bpf_program *p, size_t row)
{
	static int numbers[PROGRAM_COUNT][1024];
	int *n = &numbers[p - bpf_programs][row];

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
	       (row->when == REFUSED_MIXED && ((uint32_t)arg & row->value) &&
		(uint32_t)arg != UINT32_MAX) ||
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

static bool by_lock(const struct seccomp_data *data)
{
	static int numbers[16];

	HOLDS(locked_row_count <= COUNT(numbers));
	(void)numbers_of(locked_rows, locked_row_count, numbers);
	for (size_t i = 0; i < locked_row_count; i++)
		if (numbers[i] == data->nr)
			return refuses(&locked_rows[i], data);
	return false;
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
static uint32_t expected(const struct bpf_program *p, const struct seccomp_data *data)
{
#if defined(__x86_64__)
	if (p->tells && (uint32_t)data->nr >= X32_BIT && data->nr != -1)
		return TOLD; /* x32's */
#endif
	if (p->locked && by_lock(data))
		return TOLD;
	for (size_t i = 0; i < *p->row_count; i++) {
		if (number(p, i) != data->nr || !holds(&p->rows[i], data))
			continue;
		return p->rows[i].when == NEVER ? REFUSED(p->rows[i].value) : ALLOWED;
	}
	return p->tells && is_violation(data) ? TOLD : REFUSED(EPERM);
}

static void ck_native(const struct bpf_program *p, struct seccomp_data *data)
{
	uint32_t want, got;

	data->arch = NATIVE;
	want = expected(p, data);
	got = bpf_run(p->code, p->length, data);
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
static void ck_argument(const struct bpf_program *p, int nr, unsigned int index,
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
	const struct bpf_program *p = &bpf_programs[_i];
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
	const struct bpf_program *p = &bpf_programs[_i];

	for (size_t i = 0; i < *p->row_count; i++)
		if (number(p, i) >= 0) /* else another architecture's */
			ck_argument(p, number(p, i), p->rows[i].arg, p->rows[i].value);
}
END_TEST

START_TEST(every_refused_row_obeys_its_condition)
{
	const struct bpf_program *p = &bpf_programs[_i];

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

/* a number means another call there: nothing at all is allowed, not even read */
START_TEST(other_entries_are_refused)
{
	const struct bpf_program *p = &bpf_programs[_i];
	uint32_t want = p->tells ? TOLD : REFUSED(EPERM);
	struct seccomp_data data = { 0 };

	for (size_t i = 0; i < BPF_ARCHS; i++) {
		data.arch = bpf_archs[i];
		if (data.arch == NATIVE)
			continue;
		for (data.nr = -1; data.nr <= NUMBERS; data.nr++)
			HOLDS(bpf_run(p->code, p->length, &data) == want);
	}
#if defined(__x86_64__)
	data.arch = NATIVE;
	for (uint32_t nr = 0; nr <= NUMBERS; nr++) {
		data.nr = (int)(nr | X32_BIT);
		HOLDS(bpf_run(p->code, p->length, &data) == want);
		data.nr = (int)(nr | 0x80000000u);
		HOLDS(bpf_run(p->code, p->length, &data) == want);
	}
#endif
}
END_TEST

Suite *init_filter_code_suite(void)
{
	Suite *s = suite_create("init filter code");
	TCase *c = tcase_create("code");

	tcase_add_loop_test(c, every_number_obeys_the_table, 0, PROGRAM_COUNT);
	tcase_add_loop_test(c, every_row_obeys_its_condition, 0, PROGRAM_COUNT);
	tcase_add_loop_test(c, every_refused_row_obeys_its_condition, 0, INIT);
	tcase_add_loop_test(c, other_entries_are_refused, 0, PROGRAM_COUNT);
	suite_add_tcase(s, c);
	return s;
}
