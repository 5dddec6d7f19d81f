/* SPDX-License-Identifier: MIT */
/*
 * test_agent_inputs.c - files in: what is said of a folder, its digest, what comes by a
 * pipe
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/loop/prompt.h"
#include "agent/record/inputs.h"
#include "init/io.h"
#include "tests/unit/suites.h"

START_TEST(folders_are_said)
{
	struct input_file *f = calloc(1, sizeof(*f));
	const char *folder = unit_folder();
	struct text out = { 0 }, name = { 0 };
	struct err e = { 0 };

	(void)unit_file(folder, "b\x1b[2J", "x", 1);
	(void)unit_file(folder, "a", "x", 1);
	text_printf(&name, "%s//", folder);
	ck_assert_int_eq(input_file_look(text_string(&name), f, &e), 0);
	prompt_task("t", f, 1, &out);
	ck_assert_str_eq(f->name, strrchr(folder, '/') + 1);
	ck_assert_ptr_nonnull(strstr(out.bytes,
				     ", with 2 entries, of which the first are:\n"
				     "| a\n| b\\x1b[2J\n"));
	ck_assert_ptr_null(strstr(out.bytes, "more follows"));
	for (int i = 0; i < 100; i++) {
		char long_name[200];

		(void)snprintf(long_name, sizeof(long_name), "%0190d", i);
		(void)unit_file(folder, long_name, "x", 1);
	}
	ck_assert_int_eq(input_file_look(folder, f, &e), 0);
	text_clear(&out);
	prompt_task("t", f, 1, &out);
	ck_assert_ptr_nonnull(strstr(out.bytes, ", with 102 entries"));
	ck_assert_ptr_nonnull(strstr(out.bytes, "(more follows)\n"));
	text_free(&out);
	text_free(&name);
	free(f);
}
END_TEST

static void digest(const char *path, char hex[DIGEST_HEX])
{
	struct err e = { 0 };
	uint64_t bytes;

	ck_assert_int_eq(inputs_digest(path, NULL, hex, &bytes, &e), 0);
}

/* names, kinds, bytes and where links point to are in it; times and modes are not */
START_TEST(digest_tells_trees_apart)
{
	const char *folder = unit_folder();
	char path[400], link[400], inner[400];
	char was[DIGEST_HEX], now[DIGEST_HEX];

	(void)snprintf(path, sizeof(path), "%s", unit_file(folder, "a", "x", 1));
	(void)snprintf(link, sizeof(link), "%s/link", folder);
	(void)snprintf(inner, sizeof(inner), "%s/inner", folder);
	digest(folder, was);
	ck_assert_int_eq(chmod(path, 0600), 0);
	digest(folder, now);
	ck_assert_str_eq(was, now);
	(void)unit_file(folder, "a", "y", 1);
	digest(folder, now);
	ck_assert_str_ne(was, now);
	(void)unit_file(folder, "a", "x", 1);
	digest(folder, now);
	ck_assert_str_eq(was, now);
	ck_assert_int_eq(symlink("a", link), 0);
	digest(folder, was);
	ck_assert_str_ne(was, now);
	ck_assert_int_eq(unlink(link), 0);
	ck_assert_int_eq(symlink("b", link), 0);
	digest(folder, now);
	ck_assert_str_ne(was, now);
	ck_assert_int_eq(mkdir(inner, 0700), 0);
	digest(folder, was);
	ck_assert_str_ne(was, now);
	(void)unit_file(inner, "a", "x", 1);
	digest(folder, now);
	ck_assert_str_ne(was, now);
}
END_TEST

/* a process that waits in open(2) for a reader of the FIFO, and tells when it has one */
static pid_t await_reader(const char *fifo, int told)
{
	pid_t writer = fork();
	char path[64], state = 0;

	if (writer == 0) {
		(void)open(fifo, O_WRONLY | O_CLOEXEC);
		_exit(io_write_all(told, "x", 1) < 0);
	}
	ck_assert_int_gt(writer, 0);
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", writer);
	while (state != 'S') {
		FILE *f = fopen(path, "r");

		ck_assert_ptr_nonnull(f);
		ck_assert_int_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		(void)fclose(f);
	}
	return writer;
}

/* to open a FIFO wakes who waits for its other end; a device may do anything */
START_TEST(only_files_and_folders_are_opened)
{
	struct input_file *f = calloc(1, sizeof(*f));
	const char *folder = unit_folder();
	char fifo[400], hex[DIGEST_HEX];
	struct pollfd p = { .events = POLLIN };
	struct err e = { 0 };
	uint64_t bytes;
	int ends[2];
	pid_t writer;

	(void)snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	ck_assert_int_eq(mkfifo(fifo, 0600), 0);
	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	writer = await_reader(fifo, ends[1]);
	ck_assert_int_eq(inputs_digest(fifo, NULL, hex, &bytes, &e), -EINVAL);
	ck_assert_ptr_nonnull(strstr(e.text, "is not a regular file"));
	ck_assert_int_eq(input_file_look(fifo, f, &e), -EINVAL);
	ck_assert_int_eq(inputs_digest(folder, NULL, hex, &bytes, &e), 0);
	p.fd = ends[0];
	ck_assert_int_eq(poll(&p, 1, 300), 0);
	ck_assert_int_eq(kill(writer, SIGKILL), 0);
	ck_assert_int_eq(waitpid(writer, NULL, 0), writer);
	ck_assert_int_eq(inputs_digest("/dev/null", NULL, hex, &bytes, &e), -EINVAL);
	ck_assert_int_eq(inputs_digest("/no/such/file", NULL, hex, &bytes, &e), -ENOENT);
	io_close_fd(&ends[0]);
	io_close_fd(&ends[1]);
	free(f);
}
END_TEST

START_TEST(digests_end_with_a_signal)
{
	const char *folder = unit_folder();
	const char *path = unit_file(folder, "a", "x", 1);
	char hex[DIGEST_HEX];
	struct stop stop;
	struct err e = { 0 };
	uint64_t bytes;

	ck_assert_int_eq(stop_open(&stop, &e), 0);
	ck_assert_int_eq(inputs_digest(path, &stop, hex, &bytes, &e), 0);
	ck_assert_int_eq(inputs_digest(folder, &stop, hex, &bytes, &e), 0);
	ck_assert_int_eq(raise(SIGINT), 0);
	ck_assert_int_eq(inputs_digest(path, &stop, hex, &bytes, &e), -EINTR);
	ck_assert_int_eq(inputs_digest(folder, &stop, hex, &bytes, &e), -EINTR);
	ck_assert_str_eq(e.text, "stopped by a signal");
	io_close_fd(&stop.fd);
}
END_TEST

static const struct {
	const char *path;
	const char *name; /* NULL: it is none */
} streams[] = {
	{ "-", "stdin" },         { "/dev/stdin", "stdin" }, { "/dev/fd/0", "stdin" },
	{ "/dev/fd/63", "fd63" }, { "/dev/zero", "zero" },   { "/dev/fd/", NULL },
	{ "/tmp", NULL },         { "/etc/passwd", NULL },   { "/no/such/file", NULL },
};

START_TEST(streams_have_names)
{
	char name[INPUT_FILE_NAME_BYTES];
	bool is = input_file_is_stream(streams[_i].path, name);

	ck_assert_int_eq(is, streams[_i].name != NULL);
	if (is)
		ck_assert_str_eq(name, streams[_i].name);
}
END_TEST

START_TEST(pipe_is_read_to_its_end)
{
	struct stop stop = { .fd = -1 };
	struct err e = { 0 };
	char path[64], bytes[16];
	int ends[2], fd;

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(io_write_all(ends[1], "hello", 5), 0);
	(void)snprintf(path, sizeof(path), "/dev/fd/%d", ends[0]);
	io_close_fd(&ends[1]);
	fd = input_file_take_stream(path, 5, &stop, &e);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(io_read_all(fd, bytes, sizeof(bytes)), 5);
	ck_assert_mem_eq(bytes, "hello", 5);
	io_close_fd(&fd);
	io_close_fd(&ends[0]);
	ck_assert_int_eq(input_file_take_stream("/dev/zero", 100, &stop, &e), -EFBIG);
	ck_assert_ptr_nonnull(strstr(e.text, "--file-limit"));
	ck_assert_int_eq(input_file_take_stream(path, 5, &stop, &e), -EBADF);
}
END_TEST

Suite *agent_inputs_suite(void)
{
	Suite *s = suite_create("agent/given");
	TCase *c = tcase_create("all");

	tcase_add_test(c, folders_are_said);
	tcase_add_test(c, digest_tells_trees_apart);
	tcase_add_test(c, only_files_and_folders_are_opened);
	tcase_add_test(c, digests_end_with_a_signal);
	tcase_add_loop_test(c, streams_have_names, 0, (int)COUNT(streams));
	tcase_add_test(c, pipe_is_read_to_its_end);
	suite_add_tcase(s, c);
	return s;
}
