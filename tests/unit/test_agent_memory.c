/* SPDX-License-Identifier: MIT */
/*
 * test_agent_memory.c - memory that runs out ends the process, and leaves no half record
 *
 * Each allocation of a step's record fails once. What is in the transcript then is the
 * line before it, and nothing of it; and the process has ended with status 125.
 */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/base/json.h"
#include "agent/base/memory.h"
#include "agent/record/record.h"
#include "agent/record/transcript.h"
#include "init/io.h"
#include "tests/unit/suites.h"

#define ALLOCATIONS_MAX 2000 /* more than a record needs */

static unsigned int fails_at; /* counts down; 0: none fails */

static bool fails(void)
{
	return fails_at && --fails_at == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);

void *__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
	return fails() ? NULL : __real_realloc(old, bytes);
}

/* a transcript of two lines, in whose second one an allocation fails; does not return */
static void write_record(const char *path, unsigned int at)
{
	static struct step step = { .facts = { .verdict = VERDICT_EXCEPTION } };
	static const char printed[] = "a line\n";
	const struct text code = { .bytes = (char[]){ "1/0\n" }, .length = 4 };
	struct transcript t;
	struct err e;
	cJSON *o;

	json_memory();
	clip_clear(&step.out);
	clip_clear(&step.err);
	clip_clear(&step.trace);
	clip_clear(&step.result);
	clip_add(&step.out, printed, sizeof(printed) - 1);
	if (transcript_open(&t, path, "solve", NULL, &e) < 0 ||
	    transcript_add(&t, NULL, "start", cJSON_CreateObject(), &e) < 0)
		_exit(1);
	fails_at = at;
	o = record_step(1, &code, &step, &code);
	if (transcript_add(&t, NULL, "step", o, &e) < 0)
		_exit(1);
	_exit(fails_at ? 0 : 1); /* 1: an allocation failed, and nobody minded */
}

/* how it ends; what it wrote to the file and to stderr */
static int run_record(unsigned int at, char *file, size_t size, char *said,
		      size_t said_size)
{
	const char *path = unit_path(unit_folder(), "t.jsonl");
	cleanup_fd int heard = -1, told = -1;
	int both[2], status = 0;
	ssize_t n;
	pid_t pid;

	ck_assert_int_eq(pipe2(both, O_CLOEXEC), 0);
	heard = both[0];
	told = both[1];
	pid = fork();
	if (pid == 0) {
		(void)dup2(told, STDERR_FILENO);
		write_record(path, at);
	}
	ck_assert_int_gt(pid, 0);
	io_close_fd(&told);
	n = io_read_all(heard, said, said_size - 1);
	ck_assert_int_ge(n, 0);
	said[n] = '\0';
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_ge(io_read_file_at(AT_FDCWD, path, file, size), 0);
	return WEXITSTATUS(status);
}

START_TEST(no_record_lacks_a_member)
{
	static char whole[65536], file[65536];
	char said[512];
	unsigned int at = 1;

	ck_assert_int_eq(
		run_record(ALLOCATIONS_MAX, whole, sizeof(whole), said, sizeof(said)), 0);
	ck_assert_ptr_nonnull(strstr(whole, "\"observation\""));
	ck_assert_str_eq(said, "");

	size_t first = strcspn(whole, "\n") + 1;

	for (;; at++) {
		int status = run_record(at, file, sizeof(file), said, sizeof(said));

		if (status == 0)
			break;
		ck_assert_msg(status == 125, "allocation %u: status %d", at, status);
		ck_assert_msg(strcspn(file, "\n") + 1 == strlen(file),
			      "allocation %u: %s", at, file);
		ck_assert_uint_eq(strlen(file), first);
		ck_assert_str_eq(
			said,
			"stepjail-agent: out of memory: the run ends here, and its transcript after its last whole line; give it less to do, or more memory\n");
	}
	/* a record is many allocations, and each has failed */
	ck_assert_uint_gt(at, 50);
	ck_assert_uint_lt(at, ALLOCATIONS_MAX);
}
END_TEST

/* all that is asked of memory.h, apart */
static void ask(int how)
{
	json_memory();
	fails_at = 1;
	switch (how) {
	case 0:
		(void)memory_grow(NULL, 1);
		break;
	case 1:
		(void)memory_zeroed(1, 1);
		break;
	case 2:
		(void)memory_string("x");
		break;
	case 3:
		(void)cJSON_CreateNull();
		break;
	default:
		(void)json_parse("[]", 2);
	}
	_exit(0);
}

START_TEST(each_kind_of_memory_ends_the_process)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		(void)close(
			STDERR_FILENO); /* nobody hears it, and it ends all the same */
		ask(_i);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 125);
}
END_TEST

Suite *agent_memory_suite(void)
{
	Suite *s = suite_create("agent memory");
	TCase *t = tcase_create("memory");

	tcase_set_timeout(t, 120);
	tcase_add_test(t, no_record_lacks_a_member);
	tcase_add_loop_test(t, each_kind_of_memory_ends_the_process, 0, 5);
	suite_add_tcase(s, t);
	return s;
}
