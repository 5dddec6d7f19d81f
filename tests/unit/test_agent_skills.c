/* SPDX-License-Identifier: MIT */
/*
 * test_agent_skills.c - saved functions: names, lines of an index, and storing at once
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/skills/skills_save.h"
#include "init/io.h"
#include "tests/unit/suites.h"

START_TEST(names_are_plain)
{
	static const char *const good[] = { "a",     "mean", "f2",   "a_b",
					    "match", "json", "def_", "selfish" };
	static const char *const bad[] = { "",    "A",        "_a",    "1a",      "a-b",
					   "a.b", "a/b",      "class", "or",      "yield",
					   "a b", "\xc3\xa9", "..",    "__init__" };
	char longest[SKILL_NAME_MAX + 1];

	for (size_t i = 0; i < COUNT(good); i++)
		ck_assert_msg(skill_name_good(good[i], strlen(good[i])), "%s", good[i]);
	for (size_t i = 0; i < COUNT(bad); i++)
		ck_assert_msg(!skill_name_good(bad[i], strlen(bad[i])), "%s", bad[i]);
	memset(longest, 'a', sizeof(longest));
	ck_assert(skill_name_good(longest, SKILL_NAME_MAX));
	ck_assert(!skill_name_good(longest, SKILL_NAME_MAX + 1));
	ck_assert(!skill_name_good("a\0b", 3));
}
END_TEST

/* an index's line about a file of these bytes */
static void add_line(const char *name, const char *file, struct text *index)
{
	cleanup_text struct text line = { 0 };
	cJSON *o = cJSON_CreateObject();
	struct err e = { 0 };
	char hex[CHAIN_HEX];

	chain_digest(file, strlen(file), hex);
	(void)cJSON_AddStringToObject(o, "signature", "f(\x1b[2J)");
	(void)cJSON_AddStringToObject(cJSON_AddObjectToObject(o, "origin"), "task",
				      "two\nlines");
	ck_assert_int_eq(skills_line(name, hex, o, &line, &e), 0);
	cJSON_Delete(o);
	text_add(index, line.bytes, line.length);
}

static void expect(const char *folder, const char *names, size_t misfits)
{
	struct skills s = SKILLS_NONE;
	cleanup_text struct text got = { 0 };
	struct err e = { 0 };

	ck_assert_msg(skills_find(&s, folder, false, &e) == 0, "%s", e.text);
	ck_assert_int_eq(skills_read(&s, &e), 0);
	for (size_t i = 0; i < s.count; i++)
		if (s.list[i].offered)
			text_printf(&got, "%s ", s.list[i].name);
	ck_assert_str_eq(text_string(&got), names);
	ck_assert_msg(s.misfits == misfits, "%zu: %s", s.misfits, text_string(&s.notes));
	ck_assert_int_eq(misfits == 0, s.notes.length == 0);
	skills_free(&s);
}

START_TEST(lines_and_files_belong_together)
{
	const char *folder = unit_folder();
	cleanup_text struct text index = { 0 };

	expect(folder, "", 0);
	(void)unit_file(folder, "b.py", "one", 3);
	expect(folder, "", 1);
	add_line("a", "one", &index);
	add_line("b", "another", &index);
	(void)unit_file(folder, SKILLS_INDEX, index.bytes, index.length);
	expect(folder, "", 1);
	/* of several lines the one that fits counts, wherever it stands */
	add_line("b", "one", &index);
	add_line("b", "a third", &index);
	(void)unit_file(folder, SKILLS_INDEX, index.bytes, index.length);
	expect(folder, "b ", 0);
	(void)unit_file(folder, "a.py", "one", 3);
	expect(folder, "a b ", 0);
	/* another's line says nothing of this one */
	(void)unit_file(folder, "c.py", "one", 3);
	expect(folder, "a b ", 1);
}
END_TEST

START_TEST(no_byte_of_a_line_can_be_changed)
{
	const char *folder = unit_folder();
	cleanup_text struct text index = { 0 };

	(void)unit_file(folder, "a.py", "one", 3);
	add_line("a", "one", &index);
	for (size_t i = 0; i + 1 < index.length; i++) {
		char was = index.bytes[i];

		index.bytes[i] = (char)(was ^ 1);
		(void)unit_file(folder, SKILLS_INDEX, index.bytes, index.length);
		expect(folder, "", 2);
		index.bytes[i] = was;
	}
	/* nor left out at its end */
	for (size_t n = 1; n + 1 < index.length; n += 7) {
		(void)unit_file(folder, SKILLS_INDEX, index.bytes, n);
		expect(folder, "", 2);
	}
	(void)unit_file(folder, SKILLS_INDEX, index.bytes, index.length - 1);
	expect(folder, "a ", 0);
}
END_TEST

START_TEST(what_it_says_is_harmless)
{
	const char *folder = unit_folder();
	struct skills s = SKILLS_NONE;
	cleanup_text struct text index = { 0 };
	cleanup_text struct text said = { 0 };
	struct err e = { 0 };

	(void)unit_file(folder, "a.py", "one", 3);
	add_line("a", "one", &index);
	(void)unit_file(folder, SKILLS_INDEX, index.bytes, index.length);
	ck_assert_int_eq(skills_find(&s, folder, false, &e), 0);
	ck_assert_ptr_null(s.list[0].told); /* nothing of it has been read so far */
	ck_assert_int_eq(skills_read(&s, &e), 0);
	skills_prompt(&s, true, &said);
	ck_assert(strstr(text_string(&said), "| f(\\x1b[2J)\n"));
	ck_assert(strstr(text_string(&said), "\"two\\nlines\""));
	ck_assert(
		!strstr(text_string(&said), "skills_new")); /* it was not opened to add */
	skills_free(&s);
}
END_TEST

#define STORERS 4
#define EACH 20

/* each stores its own, and one that all of them want; its status is how often that was
 * so */
static int store_many(const char *folder, int who)
{
	const struct text source = { .bytes = (char[]){ "one" }, .length = 3 };
	struct skills s = SKILLS_NONE;
	struct err e = { 0 };
	int got = 0;

	MUST(skills_find(&s, folder, true, &e) == 0);
	for (int i = 0; i < EACH; i++) {
		cleanup_text struct text line = { 0 };
		char name[40];

		(void)snprintf(name, sizeof(name), "own%d_%d", who, i);
		add_line(name, "one", &line);
		MUST(skills_store(&s, name, &source, &line, &e) == 0);
		(void)snprintf(name, sizeof(name), "all%d", i);
		text_clear(&line);
		add_line(name, "one", &line);

		int r = skills_store(&s, name, &source, &line, &e);

		MUST(r == 0 || r == -EEXIST);
		got += r == 0;
	}
	skills_free(&s);
	return got;
}

START_TEST(storing_at_once_spoils_nothing)
{
	const char *folder = unit_folder();
	struct skills s = SKILLS_NONE;
	struct err e = { 0 };
	int got = 0, status;

	for (int who = 0; who < STORERS; who++)
		if (fork() == 0)
			_exit(store_many(folder, who));
	for (int who = 0; who < STORERS; who++) {
		ck_assert_int_gt(wait(&status), 0);
		ck_assert(WIFEXITED(status));
		got += WEXITSTATUS(status);
	}
	ck_assert_int_eq(got, EACH);
	ck_assert_int_eq(skills_find(&s, folder, false, &e), 0);
	ck_assert_uint_eq(s.count, EACH * (STORERS + 1));
	ck_assert_uint_eq(s.fitted, EACH * (STORERS + 1));
	ck_assert_uint_eq(s.misfits, 0);
	ck_assert_uint_eq(s.bind_count, SKILLS_OFFERED_MAX);
	skills_free(&s);
}
END_TEST

START_TEST(storing_that_fails_leaves_nothing)
{
	const char *folder = unit_folder();
	const struct text source = { .bytes = (char[]){ "one" }, .length = 3 };
	struct skills s = SKILLS_NONE;
	cleanup_text struct text line = { 0 };
	struct err e = { 0 };

	ck_assert_int_eq(skills_find(&s, folder, true, &e), 0);
	add_line("a", "one", &line);
	/* there is an index, but it is not the one that would be read */
	ck_assert_int_eq(unlink(unit_path(folder, SKILLS_INDEX)), 0);
	ck_assert_int_eq(skills_store(&s, "a", &source, &line, &e), -ESTALE);
	ck_assert_int_eq(rmdir(folder), 0);
	ck_assert_int_eq(skills_store(&s, "a", &source, &line, &e), -ENOENT);
	ck_assert_int_eq(mkdir(folder, 0755), 0);
	skills_free(&s);
}
END_TEST

Suite *agent_skills_suite(void)
{
	Suite *s = suite_create("agent skills");
	TCase *t = tcase_create("skills");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, names_are_plain);
	tcase_add_test(t, lines_and_files_belong_together);
	tcase_add_test(t, no_byte_of_a_line_can_be_changed);
	tcase_add_test(t, what_it_says_is_harmless);
	tcase_add_test(t, storing_at_once_spoils_nothing);
	tcase_add_test(t, storing_that_fails_leaves_nothing);
	suite_add_tcase(s, t);
	return s;
}
