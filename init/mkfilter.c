/* SPDX-License-Identifier: MIT */
/*
 * mkfilter.c - build-time generator: a table of rows becomes a BPF program in C
 *
 * usage: mkfilter > filter_NAME.h; mkfilter names > syscall_names.h
 *
 * Everything that no row allows fails with EPERM, so that code sees an ordinary
 * PermissionError. So does every call made through another architecture's entry (i386's
 * int 0x80, x32's numbers): their numbers mean other calls, so no row can speak for them.
 * A generator that is linked with refused_rows writes two variants and a table of names,
 * and then violations, other architectures among them, notify a listener.
 * See seccomp_init(3), seccomp_rule_add(3), seccomp_export_bpf(3).
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <seccomp.h>

#include "init/filter.h"

#define INSTRUCTIONS_MAX 4096 /* BPF_MAXINSNS */
#define NUMBERS 451           /* newer[] begins here */

/* glibc reads an argument of type int or unsigned int from a 64-bit register, and so does
 * the kernel: only the low half counts, and the high half must not decide. */
#define LOW_HALF 0xffffffffULL

/* a generator without these has no variants */
extern const struct refused_row refused_rows[] __attribute__((weak));
extern const struct refused_row locked_rows[] __attribute__((weak));
extern const size_t refused_row_count __attribute__((weak));
extern const size_t locked_row_count __attribute__((weak));

/* calls that are newer than this libseccomp; since 424, every architecture has the same
 * number. Kernel: scripts/syscall.tbl */
static const struct {
	const char *name;
	int nr;
} newer[] = {
	{ "cachestat", 451 },         { "fchmodat2", 452 },
	{ "map_shadow_stack", 453 },  { "futex_wake", 454 },
	{ "futex_wait", 455 },        { "futex_requeue", 456 },
	{ "statmount", 457 },         { "listmount", 458 },
	{ "lsm_get_self_attr", 459 }, { "lsm_set_self_attr", 460 },
	{ "lsm_list_modules", 461 },  { "mseal", 462 },
	{ "setxattrat", 463 },        { "getxattrat", 464 },
	{ "listxattrat", 465 },       { "removexattrat", 466 },
	{ "open_tree_attr", 467 },    { "file_getattr", 468 },
	{ "file_setattr", 469 },
};

/* A type or protocol that the kernel lacks makes it load a module, whoever asks. Stream,
 * datagram and raw are 1 to 3; flags begin at 0x800. AF_INET and AF_INET6 are 2 and 10,
 * and 0 and IPPROTO_ICMP are 0 and 1: one bit apart. */
static int allow_ip(scmp_filter_ctx ctx, int nr)
{
	static const uint64_t protocols[] = { 0, IPPROTO_TCP, IPPROTO_UDP,
					      IPPROTO_ICMPV6 };
	const uint64_t families = LOW_HALF & ~(uint64_t)(AF_INET ^ AF_INET6);
	int r = 0;

	for (size_t i = 0; r == 0 && i < COUNT(protocols); i++)
		r = seccomp_rule_add(
			ctx, SCMP_ACT_ALLOW, nr, 3,
			SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, families, AF_INET),
			SCMP_CMP64(1, SCMP_CMP_MASKED_EQ, 0x7fc, 0),
			SCMP_CMP64(2, SCMP_CMP_MASKED_EQ,
				   protocols[i] ? LOW_HALF : LOW_HALF & ~1ULL,
				   protocols[i]));
	return r;
}

/* RLIMIT_CORE is 4 on every architecture: any other of the 16 has another of the four
 * bits. Of prlimit(2), the argument before is a PID, where 0 is the caller, and the one
 * behind a new limit's address, where NULL only reads. */
static int allow_limit(scmp_filter_ctx ctx, const struct filter_row *row, int nr)
{
	static const struct {
		uint64_t bit, set;
	} others[] = { { 4, 0 }, { 1, 1 }, { 2, 2 }, { 8, 8 } };
	struct scmp_arg_cmp own = SCMP_CMP64(0, SCMP_CMP_MASKED_EQ, LOW_HALF, 0);
	bool has_pid = row->arg == 1;
	int r = 0;

	for (size_t i = 0; r == 0 && i < COUNT(others); i++)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, has_pid ? 2 : 1,
				     SCMP_CMP64(row->arg, SCMP_CMP_MASKED_EQ,
						others[i].bit, others[i].set),
				     own);
	if (r == 0 && has_pid)
		r = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, nr, 2, own,
				     SCMP_CMP64(2, SCMP_CMP_EQ, 0, 0));
	return r;
}

/*
 * Tests of which libseccomp, which has no "not", makes up to a hundred instructions, and
 * loading takes as long as there are instructions: here they are written by hand. For
 * libseccomp such a row returns a mark. In the array each mark becomes a jump to the
 * row's block, behind the end.
 */
#define LOW(arg)                                                                         \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                               \
		 (uint32_t)offsetof(struct seccomp_data, args[arg]))
#define EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, action)
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)
#define UNLESS_ONE(arg)                                                                  \
	LOW(arg), EQUAL(1, 0, 1), ANSWER(REFUSE), ANSWER(SECCOMP_RET_ALLOW)
#define BLOCK_MAX 6

static const struct {
	enum filter_when when;
	unsigned int arg;
	struct sock_filter code[BLOCK_MAX]; /* zeros behind the last */
} blocks[] = {
	{ NOT_INIT, 0, { UNLESS_ONE(0) } }, /* of sched_setaffinity(2), setpriority(2) */
	{ NOT_INIT, 1, { LOW(0), EQUAL(PRIO_PROCESS, 0, 2), UNLESS_ONE(1) } },
	{ NONE_OR_ALL, /* of personality(2) */
	  0,
	  { LOW(0), EQUAL(0, 1, 0), EQUAL(UINT32_MAX, 0, 1), ANSWER(SECCOMP_RET_ALLOW),
	    ANSWER(SECCOMP_RET_USER_NOTIF) } },
};

static int mark_block(scmp_filter_ctx ctx, const struct filter_row *row, int nr)
{
	for (size_t i = 0; i < COUNT(blocks); i++)
		if (blocks[i].when == row->when && blocks[i].arg == row->arg)
			return seccomp_rule_add(ctx, SCMP_ACT_TRACE((uint16_t)i), nr, 0);
	return -EINVAL;
}

/* each mark of block @i becomes a jump to @end; were there any? */
static bool replace_mark(struct sock_filter *code, size_t count, size_t i, size_t end)
{
	bool found = false;

	for (size_t pc = 0; pc < count; pc++) {
		if (code[pc].code != (BPF_RET | BPF_K) ||
		    code[pc].k != (SECCOMP_RET_TRACE | i))
			continue;
		found = true;
		code[pc] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA,
							(uint32_t)(end - pc - 1));
	}
	return found;
}

/* @count: of instructions; Return: the same, with the blocks */
static size_t put_blocks(struct sock_filter *code, size_t count)
{
	size_t end = count;

	for (size_t i = 0; i < COUNT(blocks); i++)
		if (replace_mark(code, count, i, end))
			for (size_t n = 0; n < BLOCK_MAX && blocks[i].code[n].code; n++)
				code[end++] = blocks[i].code[n];
	return end;
}

/* with one argument compared: with one value, or, under a mask, with what it leaves */
static int rule(scmp_filter_ctx ctx, uint32_t action, int nr, unsigned int arg,
		enum scmp_compare how, uint64_t a, uint64_t b)
{
	return seccomp_rule_add(ctx, action, nr, 1, SCMP_CMP64(arg, how, a, b));
}

#define MASKED SCMP_CMP_MASKED_EQ
#define ALLOW SCMP_ACT_ALLOW
#define NOTIFY SCMP_ACT_NOTIFY

static int allow_row(scmp_filter_ctx ctx, const struct filter_row *row, int nr)
{
	switch (row->when) {
	case ALWAYS:
		return seccomp_rule_add(ctx, ALLOW, nr, 0);
	case ARG_EQ:
		return rule(ctx, ALLOW, nr, row->arg, MASKED, LOW_HALF, row->value);
	case ARG_CLEAR:
		return rule(ctx, ALLOW, nr, row->arg, MASKED, row->value, 0);
	case NOT_INIT:
	case NONE_OR_ALL:
		return mark_block(ctx, row, nr);
	case IP_SOCKET:
		return allow_ip(ctx, nr);
	case OWN_LIMIT:
		return allow_limit(ctx, row, nr);
	case NEVER:
		return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(row->value), nr, 0);
	}
	return -EINVAL;
}

/* what the lock leaves of a row that the allow list has for the same call */
static int allow_locked(scmp_filter_ctx ctx, const struct filter_row *row,
			const struct refused_row *lock, int nr)
{
	struct scmp_arg_cmp both[] = { SCMP_CMP64(lock->arg, MASKED, lock->value, 0),
				       SCMP_CMP64(row->arg, MASKED, row->value, 0) };

	switch (lock->when) {
	case REFUSED_BIT: /* of a row that is ALWAYS or ARG_CLEAR */
		return seccomp_rule_add_array(ctx, ALLOW, nr,
					      row->when == ARG_CLEAR ? 2 : 1, both);
	case REFUSED_KEY:
		return rule(ctx, ALLOW, nr, lock->arg, SCMP_CMP_EQ, FILTER_KEY, 0);
	default:
		return 0;
	}
}

static int notify_row(scmp_filter_ctx ctx, const struct refused_row *row, int nr)
{
	switch (row->when) {
	case REFUSED_ALWAYS:
		return seccomp_rule_add(ctx, NOTIFY, nr, 0);
	case REFUSED_EQ:
		return rule(ctx, NOTIFY, nr, row->arg, MASKED, LOW_HALF, row->value);
	case REFUSED_BIT:
		return rule(ctx, NOTIFY, nr, row->arg, MASKED, row->value, row->value);
	case REFUSED_KEY:
		return rule(ctx, NOTIFY, nr, row->arg, SCMP_CMP_NE, FILTER_KEY, 0);
	case REFUSED_MIXED: /* the call's one row is NONE_OR_ALL, which tells of it */
		return 0;
	}
	return -EINVAL;
}

static const struct refused_row *find_lock(const char *syscall)
{
	for (size_t i = 0; i < locked_row_count; i++)
		if (strcmp(locked_rows[i].syscall, syscall) == 0)
			return &locked_rows[i];
	return NULL;
}

/* Return: 0, or negative, said; a call of another architecture is passed over */
static int number(const char *syscall, int *nr)
{
	*nr = seccomp_syscall_resolve_name(syscall);
	for (size_t i = 0; i < COUNT(newer); i++)
		if (strcmp(newer[i].name, syscall) == 0)
			*nr = newer[i].nr;
	if (*nr != __NR_SCMP_ERROR)
		return 0;
	(void)fprintf(stderr, "mkfilter: no syscall is named '%s'\n", syscall);
	return -EINVAL;
}

static int add_allowed(scmp_filter_ctx ctx, bool locked)
{
	for (size_t i = 0; i < filter_row_count; i++) {
		const struct filter_row *row = &filter_rows[i];
		const struct refused_row *lock = locked ? find_lock(row->syscall) : NULL;
		int nr, r = number(row->syscall, &nr);

		if (r == 0 && nr >= 0)
			r = lock ? allow_locked(ctx, row, lock, nr)
				 : allow_row(ctx, row, nr);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_notifying(scmp_filter_ctx ctx, const struct refused_row *rows,
			 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int nr, r = number(rows[i].syscall, &nr);

		if (r == 0 && nr >= 0 && rows[i].violation)
			r = notify_row(ctx, &rows[i], nr);
		if (r < 0)
			return r;
	}
	return 0;
}

/* the exported program comes through a file, not a pipe: it can be longer than a pipe */
static int write_array(scmp_filter_ctx ctx, const char *suffix)
{
	static struct sock_filter code[INSTRUCTIONS_MAX + COUNT(blocks) * BLOCK_MAX];
	FILE *file = tmpfile();

	if (!file || seccomp_export_bpf(ctx, fileno(file)) < 0)
		return -EIO;
	rewind(file);

	size_t count = fread(code, sizeof(code[0]), INSTRUCTIONS_MAX, file);

	(void)fclose(file);
	if (count == 0)
		return -EIO;
	count = put_blocks(code, count);
	printf("static const struct sock_filter %s%s[] = {\n", filter_name, suffix);
	for (size_t i = 0; i < count; i++)
		printf("\t{ 0x%04x, %u, %u, 0x%08x },\n", code[i].code, code[i].jt,
		       code[i].jf, code[i].k);
	printf("};\n");
	return fflush(stdout) == 0 ? 0 : -EIO;
}

static int write_program(const char *suffix, bool locked)
{
	bool notifies = &refused_row_count != NULL;
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = ctx ? seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				       notifies ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(EPERM))
		    : -ENOMEM;

	if (r == 0)
		r = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (r == 0)
		r = add_allowed(ctx, locked);
	if (r == 0 && notifies)
		r = add_notifying(ctx, refused_rows, refused_row_count);
	if (r == 0 && locked)
		r = add_notifying(ctx, locked_rows, locked_row_count);
	if (r == 0)
		r = write_array(ctx, suffix);
	seccomp_release(ctx);
	return r;
}

#ifdef __aarch64__
#define COMPAT SCMP_ARCH_ARM
#else
#define COMPAT SCMP_ARCH_X86
#endif

static void write_names(const char *array, uint32_t arch)
{
	printf("static const char *const %s[] = {\n", array);
	for (int nr = 0; nr < NUMBERS; nr++) {
		char *name = seccomp_syscall_resolve_num_arch(arch, nr);

		if (name)
			printf("\t[%d] = \"%s\",\n", nr, name);
		free(name);
	}
	for (size_t i = 0; i < COUNT(newer); i++)
		printf("\t[%d] = \"%s\",\n", newer[i].nr, newer[i].name);
	printf("};\n");
}

static int write_programs(void)
{
	static const char *const suffixes[] = { "", "_locked" };
	size_t count = &refused_row_count ? 2 : 1;

	printf("/* generated by init/mkfilter.c from a table of %zu rows */\n",
	       filter_row_count);
	for (size_t i = 0; i < count; i++) {
		int r = write_program(suffixes[i], i == 1);

		if (r < 0) {
			(void)fprintf(stderr, "mkfilter: %s%s: %s\n", filter_name,
				      suffixes[i], strerror(-r));
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "names") != 0)
		return write_programs();
	printf("/* generated by init/mkfilter.c: the calls by number */\n");
	write_names("names_native", seccomp_arch_native());
	write_names("names_compat", COMPAT);
	return 0;
}
