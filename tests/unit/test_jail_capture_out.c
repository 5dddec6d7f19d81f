/* SPDX-License-Identifier: MIT */
/*
 * test_jail_capture_out.c - where captured output goes: report, spill files, own stdout
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
	capture_end(&captured, true);

	cJSON *whole = printed(&size);

	ck_assert_int_eq(cJSON_GetArraySize(whole), 2);
	ck_assert_int_eq(field(whole, "stdout", "bytes")->valueint, 4);
	ck_assert_int_eq(field(whole, "stdout", "left_out")->valueint, 0);
	ck_assert_int_eq(field(whole, "stderr", "bytes")->valueint, CAPTURED_LIMIT + 100);
	ck_assert_int_eq(field(whole, "stderr", "left_out")->valueint, 100);
	ck_assert_str_eq(field(whole, "stdout", "tail")->valuestring, "");
	ck_assert(cJSON_IsNull(field(whole, "stdout", "spilled")));
	ck_assert(cJSON_IsNull(field(whole, "stdout", "spill_error")));
	cJSON_Delete(whole);
}
END_TEST

START_TEST(the_object_is_null_without_capture)
{
	size_t size;

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

	captured_plan.spill = unit_folder();
	for (size_t i = 0; i < COUNT(worst); i++) {
		unsigned char bytes[3 * CAPTURED_LIMIT];
		size_t size;

		captured_plan.spill = unit_folder();
		captured = (struct capture)CAPTURE_NONE;
		captured_open();
		memset(bytes, worst[i], sizeof(bytes));
		for (int k = 0; k < CAPTURE_STREAMS; k++) {
			captured.stream[k].bytes = (uint64_t)-1 - sizeof(bytes);
			captured.stream[k].spilled = (uint64_t)-2;
			capture_add(&captured.stream[k], bytes, sizeof(bytes));
			memset(captured.stream[k].kept, worst[i], CAPTURED_LIMIT);
		}
		capture_end(&captured, true);
		cJSON_Delete(printed(&size));
		ck_assert_uint_le(size, capture_print_max(&captured_plan));
	}
}
END_TEST

static void ck_file(const char *folder, const char *name, uint64_t length)
{
	static char text[70000];
	ssize_t n =
		io_read_file_at(AT_FDCWD, unit_path(folder, name), text, sizeof(text));

	ck_assert_int_eq(n, (ssize_t)length);
	for (ssize_t i = 0; i < n; i++)
		HOLDS((unsigned char)text[i] == captured_byte((uint64_t)i));
}

START_TEST(spill_files_are_whole)
{
	struct stat st;
	size_t size;

	captured_plan.spill = unit_folder();
	captured_open();
	captured_add_up_to(&captured.stream[0], 50000, 777);
	captured_add_up_to(&captured.stream[1], 5, 5);
	capture_end(&captured, true);
	ck_file(captured_plan.spill, "stdout", 50000);
	ck_file(captured_plan.spill, "stderr", 5);
	ck_assert_int_eq(stat(unit_path(captured_plan.spill, "stdout"), &st), 0);
	ck_assert_uint_eq(st.st_mode & 0777, 0600);

	cJSON *whole = printed(&size);

	ck_assert_int_eq(field(whole, "stdout", "spilled")->valueint, 50000);
	ck_assert(cJSON_IsNull(field(whole, "stdout", "spill_error")));
	cJSON_Delete(whole);
}
END_TEST

/* a folder on the way could be an earlier jail's link to one of the host's */
START_TEST(a_spill_folder_is_behind_no_symlink)
{
	static const char *const rows[] = { "link", "link/", "link/below" };
	const char *folder = unit_folder();
	struct err e;

	ck_assert_int_eq(mkdir(unit_path(folder, "real"), 0755), 0);
	ck_assert_int_eq(mkdir(unit_path(folder, "real/below"), 0755), 0);
	ck_assert_int_eq(symlink("real", unit_path(folder, "link")), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		captured = (struct capture)CAPTURE_NONE;
		captured_plan.spill = unit_path(folder, rows[i]);
		ck_assert_int_eq(
			capture_open(&captured, captured_stdio, &captured_plan, &e),
			-ELOOP);
		ck_assert_msg(strstr(e.text, "symlink") != NULL, "%s", e.text);
		capture_end(&captured, false);
		ck_assert_int_eq(access(unit_path(folder, "real/stdout"), F_OK), -1);
	}
}
END_TEST

START_TEST(a_spill_file_has_a_cap)
{
	static const struct {
		uint64_t total, spilled;
		bool told;
	} rows[] = {
		{ 1999, 1999, false },
		{ 2000, 2000, false },
		{ 2001, 2000, true },
		{ 9000, 2000, true },
	};

	captured_plan.limit[LIMIT_SPILL_BYTES] = 2000;
	for (size_t i = 0; i < COUNT(rows); i++) {
		captured_plan.spill = unit_folder();
		captured = (struct capture)CAPTURE_NONE;
		captured_open();
		captured_add_up_to(&captured.stream[0], rows[i].total, 300);
		capture_end(&captured, true);
		ck_assert_uint_eq(captured.stream[0].bytes, rows[i].total);
		ck_file(captured_plan.spill, "stdout", rows[i].spilled);
		ck_assert_uint_eq(captured.stream[0].spilled, rows[i].spilled);
		ck_assert_int_eq(captured.stream[0].spill_error != NULL, rows[i].told);
	}
}
END_TEST

START_TEST(a_full_disk_ends_the_spill_alone)
{
	captured_plan.spill = unit_folder();
	captured_open();
	captured_add_up_to(&captured.stream[0], 100, 100);
	ck_assert_int_eq(dup2(open("/dev/full", O_WRONLY), captured.stream[0].spill),
			 captured.stream[0].spill);
	captured_add_up_to(&captured.stream[0], 5000, 100);
	capture_end(&captured, true);
	ck_assert_uint_eq(captured.stream[0].bytes, 5000);
	ck_assert_uint_eq(captured.stream[0].spilled, 100);
	ck_assert_str_eq(captured.stream[0].spill_error, strerror(ENOSPC));
	ck_assert_ptr_null(captured.stream[1].spill_error);
}
END_TEST

START_TEST(bad_spill_folders_are_refused)
{
	const char *folder = unit_folder(), *taken = unit_folder(), *link = unit_folder();
	const struct {
		const char *folder;
		int errnum;
	} rows[] = {
		{ unit_path(folder, "missing"), ENOENT },
		{ unit_file(folder, "file", "x", 1), ENOTDIR },
		{ taken, EEXIST },
		{ link, EEXIST },
	};

	(void)unit_file(taken, "stderr", "mine", 4);
	ck_assert_int_eq(symlink("/nowhere", unit_path(link, "stdout")), 0);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct err e = { 0 };

		captured = (struct capture)CAPTURE_NONE;
		captured_plan.spill = rows[i].folder;
		ck_assert_int_eq(
			capture_open(&captured, captured_stdio, &captured_plan, &e),
			-rows[i].errnum);
		ck_assert_int_eq(strncmp(e.text, "--spill: ", 9), 0);
		ck_assert_ptr_nonnull(strstr(e.text, rows[i].folder));
		capture_end(&captured, false);
	}
	/* nothing was left where it failed, and nothing was taken away */
	ck_assert_int_eq(access(unit_path(taken, "stdout"), F_OK), -1);
	ck_assert_int_eq(access(unit_path(taken, "stderr"), F_OK), 0);
	ck_assert_int_eq(access("/nowhere", F_OK), -1);
}
END_TEST

START_TEST(a_program_that_never_ran_leaves_no_files)
{
	captured_plan.spill = unit_folder();
	captured_open();
	ck_assert_int_eq(access(unit_path(captured_plan.spill, "stderr"), F_OK), 0);
	capture_end(&captured, false);
	ck_assert_int_eq(rmdir(captured_plan.spill), 0);
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
	capture_end(&captured, true);
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
	captured.stream[1].spill_error = "reason";
	capture_end(&captured, true);
	unit_child(deliver_in_child, &d);
	ck_delivered(out, "no newline");
	/* what a spill file lacks is said where a person reads it, too */
	ck_delivered(err, "stepjail: warning: --spill: stderr has only the first 0 of 0 "
			  "bytes: reason\n");
}
END_TEST

START_TEST(a_reader_that_is_gone_is_no_error)
{
	int ends[2], full = open("/dev/full", O_WRONLY);

	ck_assert_int_eq(pipe(ends), 0);
	(void)close(ends[0]);
	captured_open();
	captured_add_up_to(&captured.stream[0], 3000, 3000);
	capture_end(&captured, true);
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
	tcase_add_test(c, spill_files_are_whole);
	tcase_add_test(c, a_spill_folder_is_behind_no_symlink);
	tcase_add_test(c, a_spill_file_has_a_cap);
	tcase_add_test(c, a_full_disk_ends_the_spill_alone);
	tcase_add_test(c, bad_spill_folders_are_refused);
	tcase_add_test(c, a_program_that_never_ran_leaves_no_files);
	tcase_add_test(c, head_gap_and_tail_are_delivered);
	tcase_add_test(c, a_whole_stream_is_delivered_as_it_was);
	tcase_add_test(c, a_reader_that_is_gone_is_no_error);
	suite_add_tcase(s, c);
	return s;
}
