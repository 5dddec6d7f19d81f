/* SPDX-License-Identifier: MIT */
/*
 * test_agent_peek.c - arguments handed over by a process that a stranger's file may have
 * taken
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/chain.h"
#include "agent/replay/peek.h"
#include "tests/unit/suites.h"

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GOOD "--rootfs=core\0--step-time=60000ms\0"
#define WORDS(list) list, sizeof(list) - 1

#define EVENT                                                                            \
	"\"event\":\"start\",\"format\":2,\"inputs\":{\"rootfs\":\"core\",\"step_ms\":"  \
	"100,\"options\":{}}"

/* in memory of its exact size, so that a sanitizer sees what is read behind it */
static int take(struct peek *p, char **copy, const char *words, size_t length,
		struct err *e)
{
	*copy = memcpy(malloc(length), words, length);
	*p = (struct peek){ 0 };
	return peek_take(p, *copy, length, e);
}

START_TEST(a_start_line_comes_back)
{
	static const char json[] =
		"{\"format\":2,\"command\":\"repl\",\"inputs\":{\"rootfs\":\"/a tree\","
		"\"step_ms\":1500,\"stateless\":true,\"out\":true,\"options\":{\"memory\":"
		"\"1G\",\"deterministic\":\"yes\",\"allow-missing\":\"cgroup\"},\"files\":["
		"{\"path\":\"/x/a b\",\"name\":\"a b\",\"sha256\":\"" DIGEST "\"},"
		"{\"path\":\"stdin\",\"name\":\"stdin\",\"sha256\":\"" DIGEST
		"\",\"stream\":true}],\"tests\":[{\"path\":\"/t.py\",\"name\":\"t.py\","
		"\"sha256\":\"" DIGEST
		"\"}],\"skills\":{\"dir\":\"/s\",\"sha256\":\"" DIGEST "\"}}}";
	cleanup_text struct text words = { 0 };
	struct peek p;
	struct err e = { 0 };
	cJSON *start = cJSON_Parse(json);
	char *copy;

	ck_assert_ptr_nonnull(start);
	peek_words(start, &words);
	cJSON_Delete(start);
	ck_assert_msg(take(&p, &copy, words.bytes, words.length, &e) == 0, "%s", e.text);
	ck_assert_str_eq(p.jail.rootfs, "/a tree");
	ck_assert_uint_eq(p.jail.step_ms, 1500);
	ck_assert(p.stateless && p.out && p.repl);
	ck_assert_uint_eq(p.jail.pass.count, 4);
	ck_assert_str_eq(p.jail.pass.items[0], "memory");
	ck_assert_str_eq(p.jail.pass.items[1], "1G");
	ck_assert_str_eq(p.jail.pass.items[2], "deterministic");
	ck_assert_str_eq(p.jail.pass.items[3], "yes");
	ck_assert_uint_eq(p.jail.files.count, 2);
	ck_assert_str_eq(p.jail.files.items[0], DIGEST ":/x/a b");
	ck_assert_str_eq(p.jail.files.items[1], DIGEST ":stdin");
	ck_assert_str_eq(p.tests.items[0], DIGEST ":/t.py");
	ck_assert_str_eq(p.skills, DIGEST ":/s");
	ck_assert_ptr_null(p.jail.stepjail);
	free(copy);
}
END_TEST

static const struct {
	const char *words;
	size_t length;
	const char *says; /* NULL: it is good */
} taken[] = {
	{ WORDS(GOOD), NULL },
	{ WORDS(GOOD "--file=" DIGEST ":/a\0"), NULL },
	{ WORDS(GOOD "--file=" DIGEST ":a\0"), NULL },
	{ WORDS("\0"), "one operand too many" },
	{ WORDS("--help\0"), "an option is missing" },
	{ WORDS(GOOD "--help\0"), "an option is missing" },
	{ WORDS(GOOD "--help=all\0"), "no such option" },
	{ WORDS("--step-time=1s\0"), "an option is missing" },
	{ WORDS("--rootfs=core\0"), "an option is missing" },
	{ WORDS(GOOD "--rootfs=core\0"), "given twice" },
	{ WORDS(GOOD "/bin/sh\0"), "one operand too many" },
	{ WORDS(GOOD "--\0--repl\0"), "one operand too many" },
	{ WORDS(GOOD "--stepjail=/bin/sh\0"), "no such option" },
	{ WORDS(GOOD "--allow-missing=cgroup\0"), "no such option" },
	{ WORDS(GOOD "--bind-rw=/:/\0"), "no such option" },
	{ WORDS(GOOD "--net=host\0"), "no such option" },
	{ WORDS(GOOD "--memory\0--allow-missing=cgroup\0"), "looks like an option" },
	{ WORDS(GOOD "--memory\0"), "needs a value" },
	{ WORDS(GOOD "--file=/a\0"), "is invalid" },
	{ WORDS(GOOD "--file=" DIGEST "\0"), "is invalid" },
	{ WORDS(GOOD "--file=" DIGEST ":\0"), "is invalid" },
	{ WORDS(GOOD "--file=" DIGEST "x/a\0"), "is invalid" },
	{ WORDS(GOOD "--file=" DIGEST ":a/b\0"), "is invalid" },
	{ WORDS(GOOD "--file=" DIGEST ":../b\0"), "is invalid" },
	{ WORDS(GOOD "--test=" DIGEST ":a/b\0"), "is invalid" },
	{ WORDS(GOOD "--skills=/s\0"), "an option is missing" },
};

START_TEST(arguments_are_those_of_a_table)
{
	struct peek p;
	struct err e = { 0 };
	char *copy;
	int r = take(&p, &copy, taken[_i].words, taken[_i].length, &e);

	if (!taken[_i].says)
		ck_assert_msg(r == 0, "%s", e.text);
	else
		ck_assert_msg(r < 0 && strstr(e.text, taken[_i].says), "%d %s", r,
			      e.text);
	free(copy);
}
END_TEST

START_TEST(length_and_number_are_bounded)
{
	cleanup_text struct text words = { 0 };
	struct peek p;
	struct err e = { 0 };
	char *copy;

	text_add(&words, WORDS(GOOD));
	text_puts(&words, "--file=" DIGEST ":/");
	for (int i = 0; i < 5000; i++)
		text_puts(&words, "x");
	text_add(&words, "", 1);
	ck_assert_int_lt(take(&p, &copy, words.bytes, words.length, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "is invalid"));
	free(copy);
	text_clear(&words);
	for (int i = 0; i < 5000; i++)
		text_add(&words, WORDS("--memory\0"));
	ck_assert_int_lt(take(&p, &copy, words.bytes, words.length, &e), 0);
	free(copy);
	text_clear(&words);
	text_add(&words, WORDS(GOOD));
	for (int i = 0; i < 257; i++)
		text_add(&words, WORDS("--file=" DIGEST ":/a\0"));
	ck_assert_int_lt(take(&p, &copy, words.bytes, words.length, &e), 0);
	ck_assert_ptr_nonnull(strstr(e.text, "more than 256 times"));
	free(copy);
}
END_TEST

static const struct {
	int lines; /* that are chained, the first a start */
	const char *behind;
	int r;
	const char *says; /* of an error; NULL: a start is there; "": there is none */
} files[] = {
	{ 1, "", 0, NULL },
	{ 2, "", 0, NULL },
	{ 1, "{\"line\":2", 0, NULL },
	{ 0, "", 0, "" },
	{ 0, "{\"line\":1", 0, "" },
	{ 1, "x\n", -EBADMSG, "t: line 2 is wrong: it does not end with its SHA-256" },
	{ 0, "\x1b[2J\n", -EBADMSG, "t: line 1 is wrong" },
};

START_TEST(a_child_reads_the_file)
{
	cleanup_text struct text file = { 0 };
	cleanup_text struct text line = { 0 };
	struct chain chain;
	struct err e = { 0 };
	struct stop stop = { .fd = -1 };
	struct peek p;

	chain_begin(&chain);
	for (int i = 0; i < files[_i].lines; i++) {
		chain_seal(&chain, i ? "\"event\":\"reply\"" : EVENT, &line);
		text_puts(&file, text_string(&line));
	}
	text_puts(&file, files[_i].behind);

	int fd = open(unit_file(unit_folder(), "t", text_string(&file), file.length),
		      O_RDONLY | O_CLOEXEC);
	int r = peek_run(fd, "t", &stop, &p, &e);

	ck_assert_msg(r == files[_i].r, "%d %s", r, e.text);
	ck_assert_int_eq(p.jail.rootfs != NULL, files[_i].says == NULL);
	if (r < 0)
		ck_assert_msg(strncmp(e.text, files[_i].says, strlen(files[_i].says)) ==
				      0,
			      "%s", e.text);
	if (p.jail.rootfs)
		ck_assert_str_eq(p.jail.rootfs, "core");
	(void)close(fd);
}
END_TEST

Suite *agent_peek_suite(void)
{
	Suite *s = suite_create("agent peek");
	TCase *c = tcase_create("peek");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, a_start_line_comes_back);
	tcase_add_loop_test(c, arguments_are_those_of_a_table, 0, (int)COUNT(taken));
	tcase_add_test(c, length_and_number_are_bounded);
	tcase_add_loop_test(c, a_child_reads_the_file, 0, (int)COUNT(files));
	suite_add_tcase(s, c);
	return s;
}
