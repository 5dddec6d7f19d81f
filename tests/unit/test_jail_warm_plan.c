/* SPDX-License-Identifier: MIT */
/*
 * test_jail_warm_plan.c - the struct by which a template is told its clones' plan: what
 * comes back of a plan, and that every field which cannot be is refused
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/plan/option.h"
#include "jail/serve/template/template.h"
#include "jail/walls/warm_plan.h"
#include "tests/unit/suites.h"

#define HOST "/srv/of-the-host"

static struct plan plan, back;
static struct parts parts;
static struct sources sources_back;
static struct warm_plan w;
static struct err e;

static int write_plan(void)
{
	char *options[] = { "--rootfs=" HOST "/tree",
			    "--bind=" HOST "/data.csv:/mnt/data",
			    "--bind-rw=" HOST "/out:/work/out",
			    "--allow-syscall=personality=0x40000",
			    "--lock-code=yes",
			    "--deterministic",
			    "--clock-start=2024-02-29",
			    "--allow-missing=audit",
			    "--require=landlock",
			    "--net=loopback",
			    "--chdir=/mnt",
			    "--hostname=jail7",
			    "--tmp-size=1M",
			    "--report=" HOST "/report",
			    NULL };
	int ends[2], memory;
	char byte;

	unit_lives_on();
	ck_assert_msg(option_parse(&plan, options, &e) == 0, "%s", e.text);
	parts.sources.root =
		(struct source){ HOST "/tree", NULL, 7, 1ULL << 40, -1, false };
	parts.sources.bind[0] = (struct source){ HOST, "data.csv", 8, 2, -1, true };
	parts.sources.bind[1] = (struct source){ HOST "/out", NULL, 9, 3, -1, false };
	parts.plan = &plan;
	parts.landlock_abi = 5;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	ck_assert_msg(template_plan_send(ends[0], &parts, &e) == 0, "%s", e.text);
	ck_assert_int_eq(fd_passing_receive(ends[1], &byte, 1, &memory, 1), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	ck_assert_int_eq(pread(memory, &w, sizeof(w), 0), sizeof(w));
	return memory;
}

START_TEST(what_the_stages_need_comes_back)
{
	cleanup_fd int memory = write_plan();
	const struct warm_plan *told = warm_plan_map(memory, &e);

	ck_assert_msg(told != NULL, "%s", e.text);
	ck_assert_mem_eq(told, &w, sizeof(w));
	ck_assert_uint_eq(told->landlock_abi, 5);
	warm_plan_read(told, &back, &sources_back);
	ck_assert_uint_eq(back.require, REQUIRE_LANDLOCK);
	ck_assert_uint_eq(back.allow_missing, PART_AUDIT);
	ck_assert_int_eq(back.net, NET_LOOPBACK);
	ck_assert_int_eq(back.proc, plan.proc);
	ck_assert_int_eq(back.lock_code, LOCK_YES);
	ck_assert_int_eq(back.deterministic, ANSWER_YES);
	ck_assert_int_eq(back.aslr, plan.aslr);
	ck_assert_ptr_nonnull(back.clock_start);
	ck_assert_str_eq(back.hostname, "jail7");
	ck_assert_str_eq(back.chdir, "/mnt");
	ck_assert_uint_eq(back.limit[LIMIT_TMP_BYTES], 1 << 20);
	ck_assert_uint_eq(back.limit[LIMIT_CPU_MS], NO_LIMIT);
	ck_assert_uint_eq(back.limit[LIMIT_FILES], plan.limit[LIMIT_FILES]);
	ck_assert_uint_eq(back.call_count, 1);
	ck_assert_int_eq(back.call[0].nr, plan.call[0].nr);
	ck_assert_int_eq(back.call[0].arg, 0);
	ck_assert_uint_eq(back.call[0].value, 0x40000);
	ck_assert_uint_eq(back.bind_count, 2);
	ck_assert_str_eq(back.bind[0].dst, "/mnt/data");
	ck_assert_str_eq(back.bind[1].dst, "/work/out");
	ck_assert(!back.bind[0].writable && back.bind[1].writable);
	ck_assert_uint_eq(sources_back.root.ino, 1ULL << 40);
	ck_assert_uint_eq(sources_back.root.dev, 7);
	ck_assert_str_eq(sources_back.bind[0].name, "data.csv");
	ck_assert(sources_back.bind[0].mapped && !sources_back.bind[1].mapped);
	ck_assert_ptr_null(sources_back.bind[1].name);
	ck_assert_uint_eq(sources_back.bind[1].dev, 9);
	ck_assert_uint_eq(sources_back.bind[1].ino, 3);
	ck_assert_int_eq(munmap((void *)(uintptr_t)told, sizeof(*told)), 0);
}
END_TEST

START_TEST(no_path_of_the_host_is_in_it)
{
	cleanup_fd int memory = write_plan();

	ck_assert_ptr_null(memmem(&w, sizeof(w), HOST, strlen(HOST)));
	ck_assert_ptr_nonnull(memmem(&w, sizeof(w), "data.csv", 9));
	/* and whoever has it cannot change it */
	ck_assert_int_lt(pwrite(memory, "x", 1, 0), 0);
	ck_assert_int_lt(ftruncate(memory, 0), 0);
}
END_TEST

/* a field, what it becomes, and what is said of that */
#define SET(field, to, says)                                                             \
	{                                                                                \
		offsetof(struct warm_plan, field), sizeof(w.field), (uint64_t)(to), says \
	}
#define LIMIT(which, to, says) SET(limit[which], to, says " cannot be")

static const struct {
	size_t at, bytes;
	uint64_t value;
	const char *says;
} refused[] = {
	SET(version, WARM_PLAN_VERSION + 1, "build the root tree"),
	SET(version, 0, "build the root tree"),
	SET(bytes, sizeof(struct warm_plan) - 1, "build the root tree"),
	SET(landlock_abi, UINT32_MAX, "landlock_abi cannot be"),
	SET(require, REQUIRE_LANDLOCK << 1, "require cannot be"),
	SET(allow_missing, PART_AUDIT << 1, "allow_missing cannot be"),
	SET(net, NET_LOOPBACK + 1, "net cannot be"),
	SET(proc, PROC_NONE + 1, "proc cannot be"),
	SET(locked, 2, "locked cannot be"),
	SET(deterministic, ANSWER_YES + 1, "deterministic cannot be"),
	SET(aslr, ASLR_NO + 1, "aslr cannot be"),
	SET(own_clock, 2, "own_clock cannot be"),
	SET(bind_count, PLAN_BINDS_MAX + 1, "bind_count cannot be"),
	SET(call_count, PLAN_CALLS_MAX + 1, "call_count cannot be"),
	LIMIT(LIMIT_TMP_BYTES, 0, "tmp-size"),
	LIMIT(LIMIT_TMP_BYTES, NO_LIMIT, "tmp-size"),
	LIMIT(LIMIT_WORK_BYTES, 0, "work-size"),
	LIMIT(LIMIT_WORK_BYTES, 1ULL << 63, "work-size"),
	LIMIT(LIMIT_INODES, 0, "inodes"),
	LIMIT(LIMIT_MEMORY_BYTES, NO_LIMIT, "memory"),
	LIMIT(LIMIT_PIDS, NO_LIMIT, "pids"),
	LIMIT(LIMIT_FILES, NO_LIMIT, "files"),
	LIMIT(LIMIT_CPU_MS, 0, "cpu-time"),
	LIMIT(LIMIT_CPU_MS, NO_LIMIT - 1, "cpu-time"),
	LIMIT(LIMIT_FILE_BYTES, 1ULL << 63, "file-size"),
	SET(call[0].nr, -1, "call.nr[0] cannot be"),
	SET(call[0].nr, 1024, "call.nr[0] cannot be"),
	SET(call[0].arg, -2, "call.arg[0] cannot be"),
	SET(call[0].arg, 6, "call.arg[0] cannot be"),
	SET(bind[1].writable, 2, "bind.writable[1] cannot be"),
	SET(bind[0].mapped, 2, "bind.mapped[0] cannot be"),
	SET(bind[0].name[4], '/', "bind.name[0] cannot be"),
	SET(bind[0].dst[0], 'm', "bind.dst[0] cannot be"),
	SET(bind[1].dst[1], '\0', "bind.dst[1] cannot be"),
	SET(chdir[0], '\0', "chdir is no clean path"),
};

START_TEST(what_cannot_be_is_refused)
{
	cleanup_fd int memory = write_plan();

	ck_assert_int_eq(warm_plan_check(&w, &e), 0);
	memcpy((char *)&w + refused[_i].at, &refused[_i].value, refused[_i].bytes);
	ck_assert_int_eq(warm_plan_check(&w, &e), -EBADMSG);
	ck_assert_msg(strstr(e.text, refused[_i].says) != NULL, "%s", e.text);
	ck_assert_ptr_null(strchr(e.text, '\n'));
}
END_TEST

/* every string without an end, and parts that lead upwards */
START_TEST(texts_are_clean_and_have_an_end)
{
	static const struct {
		size_t at, bytes;
		const char *text; /* NULL: no end */
		const char *says;
	} rows[] = {
		{ offsetof(struct warm_plan, hostname), sizeof(w.hostname), NULL,
		  "hostname has no end" },
		{ offsetof(struct warm_plan, chdir), sizeof(w.chdir), NULL,
		  "chdir is no clean path" },
		{ offsetof(struct warm_plan, chdir), 0, "/a/../b",
		  "chdir is no clean path" },
		{ offsetof(struct warm_plan, bind[0].name), sizeof(w.bind[0].name), NULL,
		  "bind.name[0] cannot be" },
		{ offsetof(struct warm_plan, bind[0].name), 0, "..",
		  "bind.name[0] cannot be" },
		{ offsetof(struct warm_plan, bind[1].dst), sizeof(w.bind[1].dst), NULL,
		  "bind.dst[1] cannot be" },
		{ offsetof(struct warm_plan, bind[1].dst), 0, "/work/../..",
		  "bind.dst[1] cannot be" },
	};
	char *at = (char *)&w + rows[_i].at;
	cleanup_fd int memory = write_plan();

	if (rows[_i].text)
		(void)strcpy(at, rows[_i].text);
	else
		memset(at, 'x', rows[_i].bytes);
	ck_assert_int_eq(warm_plan_check(&w, &e), -EBADMSG);
	ck_assert_msg(strstr(e.text, rows[_i].says) != NULL, "%s", e.text);
}
END_TEST

START_TEST(a_plan_of_another_size_is_refused)
{
	cleanup_fd int memory = memfd_create("plan", MFD_CLOEXEC);

	ck_assert_int_eq(ftruncate(memory, sizeof(w) + 1), 0);
	ck_assert_ptr_null(warm_plan_map(memory, &e));
	ck_assert_int_eq(e.errnum, EBADMSG);
	ck_assert_ptr_nonnull(strstr(e.text, "build the root tree"));
	ck_assert_int_eq(ftruncate(memory, 0), 0);
	ck_assert_ptr_null(warm_plan_map(memory, &e));
	/* of the right size, but empty */
	ck_assert_int_eq(ftruncate(memory, sizeof(w)), 0);
	ck_assert_ptr_null(warm_plan_map(memory, &e));
	ck_assert_int_eq(e.errnum, EBADMSG);
}
END_TEST

Suite *jail_warm_plan_suite(void)
{
	Suite *s = suite_create("jail warm_plan");
	TCase *c = tcase_create("core");

	tcase_add_test(c, what_the_stages_need_comes_back);
	tcase_add_test(c, no_path_of_the_host_is_in_it);
	tcase_add_loop_test(c, what_cannot_be_is_refused, 0, COUNT(refused));
	tcase_add_loop_test(c, texts_are_clean_and_have_an_end, 0, 7);
	tcase_add_test(c, a_plan_of_another_size_is_refused);
	suite_add_tcase(s, c);
	return s;
}
