/* SPDX-License-Identifier: MIT */
/*
 * test_agent_peek.c - values handed over by a process that a stranger's file may have
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

#define EVENT                                                                            \
	"\"event\":\"start\",\"format\":1,\"jail\":{\"rootfs\":\"core\",\"step_ms\":"    \
	"100}"

static const char json[] =
	"{\"a\":[1,-2.5,1e300,true,false,null,\"\"],\"o\":{\"\":{},\"\\u00e9\\n\":[[]]},"
	"\"s\":\"0123456789012345678901234567890123456789\",\"z\":0}";

static void pack(struct text *out)
{
	cJSON *value = cJSON_Parse(json);

	ck_assert_ptr_nonnull(value);
	peek_pack(value, out);
	cJSON_Delete(value);
}

START_TEST(values_come_back)
{
	cleanup_text struct text packed = { 0 };

	pack(&packed);

	cJSON *back = peek_unpack(packed.bytes, packed.length);
	char *printed = cJSON_PrintUnformatted(back);
	cJSON *value = cJSON_Parse(json);

	ck_assert(cJSON_Compare(value, back, true));
	ck_assert_ptr_nonnull(printed);
	cJSON_free(printed);
	cJSON_Delete(value);
	cJSON_Delete(back);
}
END_TEST

/* in memory of its exact size, so that a sanitizer sees what is read behind it */
static cJSON *unpack(const char *bytes, size_t length)
{
	char *copy = malloc(length ? length : 1);

	memcpy(copy, bytes, length);

	cJSON *value = peek_unpack(copy, length);

	free(copy);
	return value;
}

START_TEST(what_was_cut_or_is_longer_is_none)
{
	cleanup_text struct text packed = { 0 };

	pack(&packed);
	for (size_t i = 0; i < packed.length; i++)
		ck_assert_ptr_null(unpack(packed.bytes, i));
	text_add(&packed, "z", 1);
	ck_assert_ptr_null(unpack(packed.bytes, packed.length));
}
END_TEST

/* every byte, set to what counts and lengths stumble on; whatever comes back is a
 * value */
START_TEST(changed_bytes_do_no_harm)
{
	static const char bytes[] = "\x00\x01\x7f\x80\xff"
				    "oasdtfz";
	cleanup_text struct text packed = { 0 };
	size_t good = 0;

	pack(&packed);
	for (size_t i = 0; i < packed.length; i++) {
		char was = packed.bytes[i];

		for (size_t k = 0; k < sizeof(bytes) - 1; k++) {
			packed.bytes[i] = bytes[k];

			cJSON *value = unpack(packed.bytes, packed.length);
			char *printed = cJSON_PrintUnformatted(value);

			good += printed != NULL;
			cJSON_free(printed);
			cJSON_Delete(value);
		}
		packed.bytes[i] = was;
	}
	ck_assert_uint_gt(good, 100);
}
END_TEST

START_TEST(depth_and_number_are_bounded)
{
	cleanup_text struct text deep = { 0 };
	cleanup_text struct text many = { 0 };
	const uint64_t one = 1, all = PEEK_VALUES_MAX;

	for (int i = 0; i < PEEK_DEPTH_MAX; i++) {
		text_puts(&deep, "a");
		text_add(&deep, &one, sizeof(one));
	}
	text_puts(&deep, "z");
	ck_assert_ptr_null(unpack(deep.bytes, deep.length));
	/* one less */
	cJSON *value = unpack(deep.bytes + 9, deep.length - 9);

	ck_assert_ptr_nonnull(value);
	cJSON_Delete(value);
	text_puts(&many, "a");
	text_add(&many, &all, sizeof(all));
	for (int i = 0; i < PEEK_VALUES_MAX; i++)
		text_puts(&many, "z");
	ck_assert_ptr_null(unpack(many.bytes, many.length));
}
END_TEST

static const struct {
	int lines; /* that are chained, the first a start */
	const char *behind;
	int r;
	const char *says; /* of an error; NULL: a start is there */
} files[] = {
	{ 1, "", 0, NULL },
	{ 2, "", 0, NULL },
	{ 1, "{\"line\":2", 0, NULL },
	{ 0, "", 0, "" },
	{ 0, "{\"line\":1", 0, "" },
	{ 1, "x\n", -EBADMSG, "t: line 2 does not fit: it does not end in a digest" },
	{ 0, "\x1b[2J\n", -EBADMSG, "t: line 1 does not fit" },
};

START_TEST(first_line_is_handed_over)
{
	cleanup_text struct text file = { 0 };
	cleanup_text struct text line = { 0 };
	struct chain chain;
	struct err e = { 0 };
	struct stop stop = { .fd = -1 };
	cJSON *start;

	chain_begin(&chain);
	for (int i = 0; i < files[_i].lines; i++) {
		chain_seal(&chain, i ? "\"event\":\"reply\"" : EVENT, &line);
		text_puts(&file, text_string(&line));
	}
	text_puts(&file, files[_i].behind);

	int fd = open(unit_file(unit_folder(), "t", text_string(&file), file.length),
		      O_RDONLY | O_CLOEXEC);
	int r = peek_start(fd, "t", &stop, &start, &e);

	ck_assert_msg(r == files[_i].r, "%d %s", r, e.text);
	ck_assert_int_eq(start == NULL, files[_i].says != NULL);
	if (r < 0)
		ck_assert_msg(strncmp(e.text, files[_i].says, strlen(files[_i].says)) ==
				      0,
			      "%s", e.text);
	if (start)
		ck_assert_str_eq(
			cJSON_GetObjectItem(cJSON_GetObjectItem(start, "jail"), "rootfs")
				->valuestring,
			"core");
	cJSON_Delete(start);
	(void)close(fd);
}
END_TEST

Suite *agent_peek_suite(void)
{
	Suite *s = suite_create("agent peek");
	TCase *c = tcase_create("peek");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, values_come_back);
	tcase_add_test(c, what_was_cut_or_is_longer_is_none);
	tcase_add_test(c, changed_bytes_do_no_harm);
	tcase_add_test(c, depth_and_number_are_bounded);
	tcase_add_loop_test(c, first_line_is_handed_over, 0,
			    (int)(sizeof(files) / sizeof(files[0])));
	suite_add_tcase(s, c);
	return s;
}
