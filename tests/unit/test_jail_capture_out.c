/* SPDX-License-Identifier: MIT */
/*
 * test_jail_capture_out.c - where captured output goes: report, own stdout
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "init/io.h"
#include "tests/unit/captured.h"
#include "tests/unit/suites.h"

static cJSON *printed(size_t *size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, size);

	capture_print(&captured, out);
	ck_assert_int_eq(fclose(out), 0);

	cJSON *whole = cJSON_ParseWithOpts(text, NULL, 1);

	ck_assert_msg(whole != NULL, "%.100s", text);
	free(text);
	return whole;
}

static const cJSON *field(const cJSON *whole, const char *stream, const char *name)
{
	const cJSON *item = cJSON_GetObjectItem(cJSON_GetObjectItem(whole, stream), name);

	ck_assert_msg(item != NULL, "%s.%s", stream, name);
	return item;
}

START_TEST(the_object_tells_what_was_kept)
{
	static const unsigned char bytes[] = { 'a', 0, 0xff, '\n' };
	size_t size;

	captured_open();
	capture_add(&captured.stream[0], bytes, sizeof(bytes));
	captured_add_up_to(&captured.stream[1], CAPTURED_LIMIT + 100, 64);
	capture_end(&captured);

	cJSON *whole = printed(&size);

	ck_assert_int_eq(cJSON_GetArraySize(whole), 2);
	ck_assert_int_eq(field(whole, "stdout", "bytes")->valueint, 4);
	ck_assert_int_eq(field(whole, "stdout", "left_out")->valueint, 0);
	ck_assert_int_eq(field(whole, "stderr", "bytes")->valueint, CAPTURED_LIMIT + 100);
	ck_assert_int_eq(field(whole, "stderr", "left_out")->valueint, 100);
	ck_assert_str_eq(field(whole, "stdout", "tail")->valuestring, "");
	cJSON_Delete(whole);
}
END_TEST

START_TEST(the_object_is_null_without_capture)
{
	size_t size;

	/* whatever this program's own stdout is: a pipe would be passed on to */
	ck_assert_int_eq(dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO),
			 STDOUT_FILENO);
	captured_plan.capture = CAPTURE_NO;
	captured_open();
	ck_assert_uint_eq(capture_print_max(&captured_plan), 0);

	cJSON *whole = printed(&size);

	ck_assert(cJSON_IsNull(whole));
	cJSON_Delete(whole);

	captured_plan.capture = CAPTURE_STDERR;
	captured_open();
	whole = printed(&size);
	ck_assert(cJSON_IsNull(cJSON_GetObjectItem(whole, "stdout")));
	ck_assert_int_eq(field(whole, "stderr", "bytes")->valueint, 0);
	ck_assert_int_eq(captured_stdio[1], -1);
	cJSON_Delete(whole);
}
END_TEST

/* what is reserved for a report is enough, whatever the bytes are */
START_TEST(the_object_fits_what_was_promised)
{
	static const int worst[] = { 0, 0xff, 0x1b, '"', 0xc3, 0xf0, 0x80 };

	for (size_t i = 0; i < COUNT(worst); i++) {
		unsigned char bytes[3 * CAPTURED_LIMIT];
		size_t size;

		captured = (struct capture)CAPTURE_NONE;
		captured_open();
		memset(bytes, worst[i], sizeof(bytes));
		for (int k = 0; k < CAPTURE_STREAMS; k++) {
			captured.stream[k].bytes = (uint64_t)-1 - sizeof(bytes);
			capture_add(&captured.stream[k], bytes, sizeof(bytes));
			memset(captured.stream[k].kept, worst[i], CAPTURED_LIMIT);
		}
		capture_end(&captured);
		cJSON_Delete(printed(&size));
		ck_assert_uint_le(size, capture_print_max(&captured_plan));
	}
}
END_TEST

struct delivery {
	int out, err; /* become stdout and stderr */
	int want;     /* what capture_deliver() returns */
};

static void deliver_in_child(void *arg)
{
	const struct delivery *d = arg;
	struct err e = { 0 };

	(void)signal(SIGPIPE, SIG_IGN);
	MUST(dup2(d->out, 1) == 1 && dup2(d->err, 2) == 2);
	MUST(capture_deliver(&captured, &e) == d->want);
	MUST(d->want == 0 || strncmp(e.text, "--capture: ", 11) == 0);
	_exit(0);
}

static void ck_delivered(const char *path, const char *want)
{
	char text[4 * CAPTURED_LIMIT];

	ck_assert_int_ge(io_read_file_at(AT_FDCWD, path, text, sizeof(text)), 0);
	ck_assert_str_eq(text, want);
}

START_TEST(head_gap_and_tail_are_delivered)
{
	const char *folder = unit_folder();
	const char *out = unit_file(folder, "out", "", 0);
	const char *err = unit_file(folder, "err", "", 0);
	struct delivery d = { open(out, O_WRONLY), open(err, O_WRONLY), 0 };
	char bytes[3 * CAPTURED_LIMIT], want[3 * CAPTURED_LIMIT];

	captured_open();
	memset(bytes, 'm', sizeof(bytes));
	memset(bytes, 'h', CAPTURED_LIMIT / 2);
	memset(bytes + sizeof(bytes) - CAPTURED_LIMIT / 2, 't', CAPTURED_LIMIT / 2);
	capture_add(&captured.stream[0], (unsigned char *)bytes, sizeof(bytes));
	bytes[CAPTURED_LIMIT / 2 - 1] = '\n';
	capture_add(&captured.stream[1], (unsigned char *)bytes, sizeof(bytes));
	capture_end(&captured);
	unit_child(deliver_in_child, &d);
	(void)snprintf(want, sizeof(want), "%.*s\n[stepjail: 2048 bytes left out]\n%.*s",
		       CAPTURED_LIMIT / 2 - 1, bytes, CAPTURED_LIMIT / 2,
		       bytes + sizeof(bytes) - CAPTURED_LIMIT / 2);
	/* a head that ends its line gets no empty one */
	ck_delivered(err, want);
	(void)snprintf(want, sizeof(want), "%.*sh\n[stepjail: 2048 bytes left out]\n%.*s",
		       CAPTURED_LIMIT / 2 - 1, bytes, CAPTURED_LIMIT / 2,
		       bytes + sizeof(bytes) - CAPTURED_LIMIT / 2);
	ck_delivered(out, want);
}
END_TEST

START_TEST(a_whole_stream_is_delivered_as_it_was)
{
	const char *folder = unit_folder();
	const char *out = unit_file(folder, "out", "", 0);
	const char *err = unit_file(folder, "err", "", 0);
	struct delivery d = { open(out, O_WRONLY), open(err, O_WRONLY), 0 };

	captured_open();
	capture_add(&captured.stream[0], (const unsigned char *)"no newline", 10);
	capture_end(&captured);
	unit_child(deliver_in_child, &d);
	ck_delivered(out, "no newline");
	ck_delivered(err, "");
}
END_TEST

START_TEST(a_reader_that_is_gone_is_no_error)
{
	int ends[2], full = open("/dev/full", O_WRONLY);

	ck_assert_int_eq(pipe(ends), 0);
	(void)close(ends[0]);
	captured_open();
	captured_add_up_to(&captured.stream[0], 3000, 3000);
	capture_end(&captured);
	unit_child(deliver_in_child, &(struct delivery){ ends[1], full, 0 });
	/* a disk that is full is one */
	unit_child(deliver_in_child, &(struct delivery){ full, full, -ENOSPC });
}
END_TEST

Suite *jail_capture_out_suite(void)
{
	Suite *s = suite_create("jail capture out");
	TCase *c = tcase_create("capture out");

	tcase_add_checked_fixture(c, captured_start, NULL);
	tcase_add_test(c, the_object_tells_what_was_kept);
	tcase_add_test(c, the_object_is_null_without_capture);
	tcase_add_test(c, the_object_fits_what_was_promised);
	tcase_add_test(c, head_gap_and_tail_are_delivered);
	tcase_add_test(c, a_whole_stream_is_delivered_as_it_was);
	tcase_add_test(c, a_reader_that_is_gone_is_no_error);
	suite_add_tcase(s, c);
	return s;
}
