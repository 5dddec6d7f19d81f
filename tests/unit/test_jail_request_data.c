/* SPDX-License-Identifier: MIT */
/*
 * test_jail_request_data.c - sources and files that a client of `serve` sends: what goes
 * into the jail, and when
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/unit/asker.h"
#include "tests/unit/suites.h"

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* the source that state 0 was asked to run as this step, or a failure */
static char *asked_source(uint32_t step, size_t *length)
{
	int fds[STEP_FDS];
	struct wire_header h = asker_take_asked(NULL, 0, fds, STEP_FDS);
	struct stat st;
	char *text;

	ck_assert_uint_eq(h.type, WIRE_RUN);
	ck_assert_uint_eq(h.step, step);
	ck_assert_int_eq(fcntl(fds[STEP_FD_SOURCE], F_GET_SEALS), ALL_SEALS);
	ck_assert_int_eq(fstat(fds[STEP_FD_SOURCE], &st), 0);
	*length = (size_t)st.st_size;
	text = malloc(*length + 1);
	ck_assert_int_eq(pread(fds[STEP_FD_SOURCE], text, *length, 0), (ssize_t)*length);
	text[*length] = '\0';
	for (size_t i = 0; i < STEP_FDS; i++)
		(void)close(fds[i]);
	return text;
}

/* as if its process had been heard of, and had gone */
static void forget_step(void)
{
	asker_session.states.branch[0].step = NULL;
}

START_TEST(pieces_are_one_source)
{
	/* any bytes: Python says what is wrong with them, in the jail */
	static const unsigned char odd[] = { 'x', 0, 0xff, 0xc3, '\n' };
	size_t length;
	char *text;

	asker_body(WIRE_CODE, "a = ", 4);
	asker_body(WIRE_CODE, "", 0);
	asker_body(WIRE_CODE, odd, sizeof(odd));
	asker_asked_nothing();
	asker_run(0, 0);
	text = asked_source(1, &length);
	ck_assert_uint_eq(length, 4 + sizeof(odd));
	ck_assert_mem_eq(text, "a = ", 4);
	ck_assert_mem_eq(text + 4, odd, sizeof(odd));

	/* while it runs, the next one's pieces may come, and no RUN */
	asker_body(WIRE_CODE, "b", 1);
	ck_assert(!asker_answered());
	asker_run(0, 0);
	asker_refused("branch 0 runs step 1: wait for its DONE, or KILL it");
	asker_state(WIRE_ROLLBACK, 0, 0);
	asker_refused("runs step 1");
	asker_at(WIRE_DROP, 0);
	asker_refused("runs step 1");
	/* they were used up by that RUN */
	forget_step();
	asker_run(0, 0);
	free(asked_source(2, &length));
	ck_assert_uint_eq(length, 0);
}
END_TEST

START_TEST(a_source_that_is_too_long_is_told_at_its_end)
{
	static const char spaces[1 << 15] = { 0 };
	size_t length;

	for (size_t n = 0; n < STEP_SOURCE_MAX; n += sizeof(spaces))
		asker_body(WIRE_CODE, spaces, sizeof(spaces));
	asker_run(0, 0);
	free(asked_source(1, &length));
	ck_assert_uint_eq(length, STEP_SOURCE_MAX);
	forget_step();

	for (size_t n = 0; n < STEP_SOURCE_MAX; n += sizeof(spaces))
		asker_body(WIRE_CODE, spaces, sizeof(spaces));
	asker_body(WIRE_CODE, "x", 1);
	asker_body(WIRE_CODE, "", 0);
	ck_assert(!asker_answered());
	asker_run(0, 0);
	asker_refused("a step has at most 1048576 bytes");
	asker_asked_nothing();
	asker_body(WIRE_CODE, "next", 4);
	asker_run(0, 0);
	free(asked_source(2, &length));
	ck_assert_uint_eq(length, 4);
}
END_TEST

START_TEST(limits_are_the_policys_at_the_most)
{
	size_t length;

	asker_run(60001, 0);
	asker_refused("more than --wall-time allows: 60000 ms");
	asker_run(0, UINT64_MAX);
	asker_refused("more than --cpu-time allows: 60000 ms");
	asker_asked_nothing();
	asker_run(60000, 1);
	free(asked_source(1, &length));
	ck_assert_uint_eq(asker_session.steps->limits.wall_ms, 60000);
	ck_assert_uint_eq(asker_session.steps->limits.cpu_ms, 1);
	forget_step();
	asker_run(0, 0);
	free(asked_source(2, &length));
	ck_assert_uint_eq(asker_session.steps->limits.wall_ms, 60000);
	ck_assert_uint_eq(asker_session.steps->limits.cpu_ms, 60000);
}
END_TEST

START_TEST(a_lost_branch_runs_nothing)
{
	size_t length;

	asker_session.states.branch[0].lost = true;
	asker_body(WIRE_CODE, "x", 1);
	asker_run(0, 0);
	asker_refused("was lost");
	asker_state(WIRE_ROLLBACK, 0, 0);
	asker_told();
	asker_run(0, 0);
	free(asked_source(1, &length));
	ck_assert_uint_eq(length, 0);
}
END_TEST

/* jails that the spawner is asked for */
static int jails_asked_for(void)
{
	struct spawn_request q;
	int count = 0;

	while (recv(asker_spawner, &q, sizeof(q), MSG_DONTWAIT) == sizeof(q))
		count += q.kind == SPAWN_OPEN;
	return count;
}

START_TEST(a_session_of_one_step_begins_with_its_source)
{
	struct session *s;
	char got[16];

	asker_ask(8, WIRE_ONCE,
		  asker_fill(0, sizeof(struct serve_limits), 0, "print(1)", 8));
	ck_assert(!asker_answered());
	s = session_find(&asker_serve, 8);
	ck_assert(s && s->once.is && s->phase == PHASE_STARTING);
	ck_assert_int_eq(fcntl(s->once.source, F_GET_SEALS), ALL_SEALS);
	ck_assert_int_eq(pread(s->once.source, got, sizeof(got), 0), 8);
	ck_assert_mem_eq(got, "print(1)", 8);
	ck_assert_uint_eq(asker_serve.sessions, 2);
	ck_assert_int_eq(jails_asked_for(), 1);
	/* there may be no third one */
	asker_ask(9, WIRE_OPEN, asker_fill(0, sizeof(struct serve_at), 0, NULL, 0));
	asker_refused("2 sessions are open");
	ck_assert_ptr_null(session_find(&asker_serve, 9));
	ck_assert_int_eq(jails_asked_for(), 0);
}
END_TEST

static char long_path[STEP_PATH_MAX + 1];

static const struct {
	const char *path;
	size_t length;
} no_paths[] = {
	{ "", 0 },
	{ "\0", 1 },
	{ "a\0b", 3 },
	{ "a\0", 2 },
	{ long_path, STEP_PATH_MAX + 1 },
};

START_TEST(a_path_is_some_bytes_without_a_nul)
{
	memset(long_path, 'n', sizeof(long_path));
	for (size_t i = 0; i < COUNT(no_paths); i++) {
		asker_file(WIRE_GET, 0, no_paths[i].path, no_paths[i].length);
		asker_refused("a path has 1 to 4096 bytes, and no NUL among them");
		asker_file(WIRE_LIST, 0, no_paths[i].path, no_paths[i].length);
		asker_refused("a path has");
		/* a PUT has one answer, at its end */
		asker_file(WIRE_PUT, 0, no_paths[i].path, no_paths[i].length);
		asker_body(WIRE_DATA, "x", 1);
		ck_assert(!asker_answered());
		asker_at(WIRE_END, 0);
		asker_refused("a path has");
	}
	asker_asked_nothing();
	ck_assert_int_eq(asker_session.put.file.fd, -1);
}
END_TEST

/* the jail looks at it, and not who is outside: ".." is its own to refuse */
static const struct {
	const char *path;
	size_t length;
} paths[] = {
	{ "a", 1 },           { "../../etc/passwd", 16 },
	{ "new\nline", 8 },   { "\xff\xfe", 2 },
	{ "/etc/x", 6 },      { long_path, STEP_PATH_MAX },
	{ "\x1b[2J\"\\", 6 },
};

START_TEST(a_path_goes_to_the_jail_as_it_is)
{
	unsigned char bytes[sizeof(struct step_file) + STEP_PATH_MAX];
	const uint16_t types[] = { WIRE_GET, WIRE_LIST };
	const uint32_t ops[] = { STEP_FILE_GET, STEP_FILE_LIST };
	uint32_t number = 0;

	memset(long_path, 'n', sizeof(long_path));
	for (size_t i = 0; i < COUNT(paths); i++)
		for (size_t k = 0; k < COUNT(types); k++) {
			int fds[STEP_FILE_FDS];
			struct step_file f;
			struct wire_header h;

			asker_file(types[k], 0, paths[i].path, paths[i].length);
			h = asker_take_asked(bytes, sizeof(f) + paths[i].length, fds,
					     STEP_FILE_FDS);
			memcpy(&f, bytes, sizeof(f));
			ck_assert_uint_eq(h.type, WIRE_FILE);
			ck_assert_uint_eq(h.step, ++number);
			ck_assert_uint_eq(f.op, ops[k]);
			ck_assert_uint_eq(f.max_bytes, ASKER_WORK_BYTES);
			ck_assert_mem_eq(bytes + sizeof(f), paths[i].path,
					 paths[i].length);
			for (size_t n = 0; n < STEP_FILE_FDS; n++)
				(void)close(fds[n]);
		}
}
END_TEST

/* what a PUT of these modes came to: the memfd that goes to the jail */
static int asked_put(uint32_t mode)
{
	unsigned char bytes[sizeof(struct step_file) + 1];
	int fds[STEP_FILE_FDS];
	struct step_file f;

	(void)asker_take_asked(bytes, sizeof(bytes), fds, STEP_FILE_FDS);
	memcpy(&f, bytes, sizeof(f));
	ck_assert_uint_eq(f.op, STEP_FILE_PUT);
	ck_assert_uint_eq(f.mode, mode);
	ck_assert_uint_eq(bytes[sizeof(f)], 'p');
	ck_assert_int_eq(asker_session.put.file.fd, -1);
	(void)close(fds[STEP_FD_CHANNEL]);
	return fds[STEP_FD_DATA];
}

static void put(uint32_t mode, const void *bytes, size_t length)
{
	asker_file(WIRE_PUT, mode, "p", 1);
	asker_body(WIRE_DATA, bytes, length);
	asker_at(WIRE_END, 0);
}

START_TEST(a_file_goes_in_when_it_is_whole)
{
	static const char bytes[ASKER_WORK_BYTES + 1] = "data";
	char got[16];
	int fd;

	asker_file(WIRE_PUT, 0, "p", 1);
	asker_body(WIRE_DATA, "one ", 4);
	asker_body(WIRE_DATA, "", 0);
	asker_asked_nothing();
	/* a second one is refused, and the first goes on */
	asker_file(WIRE_PUT, 0, "q", 1);
	asker_refused("PUT: another one is under way: END it first");
	asker_body(WIRE_DATA, "two", 3);
	asker_at(WIRE_END, 0);
	fd = asked_put(0644);
	ck_assert_int_eq(pread(fd, got, sizeof(got), 0), 7);
	ck_assert_mem_eq(got, "one two", 7);
	(void)close(fd);

	put(0750, bytes, ASKER_WORK_BYTES);
	(void)close(asked_put(0750));
	put(0, bytes, ASKER_WORK_BYTES + 1);
	asker_refused("more than 1000 bytes");
	for (size_t i = 0; i < 3; i++) {
		put((uint32_t[]){ 01000, 04755, UINT32_MAX }[i], bytes, 1);
		asker_refused("a mode is 0 to 0777");
	}
	asker_asked_nothing();
	/* and nothing of them is left */
	put(0600, NULL, 0);
	fd = asked_put(0600);
	ck_assert_int_eq(pread(fd, got, sizeof(got), 0), 0);
	(void)close(fd);
}
END_TEST

START_TEST(input_waits_up_to_a_bound)
{
	static const char bytes[1 << 15] = { 0 };
	size_t most = STDIN_BYTES_MAX / sizeof(bytes);
	int fds[STEP_FDS], refused = 0;

	asker_run(0, 0);
	(void)asker_take_asked(NULL, 0, fds, STEP_FDS);
	/* nobody reads: the pipe is full, and then the buffer */
	for (size_t i = 0; i < 2 * most; i++) {
		asker_body(WIRE_STDIN, bytes, sizeof(bytes));
		if (asker_answered()) {
			asker_refused("1048576 bytes wait for the step to read them");
			refused++;
		}
	}
	ck_assert_int_ge(refused, (int)most - 4);
	ck_assert_uint_le(asker_session.steps->input_bytes, STDIN_BYTES_MAX);
	asker_body(WIRE_STDIN, NULL, 0);
	ck_assert(!asker_answered());
	asker_body(WIRE_STDIN, "x", 1);
	asker_refused("STDIN: its end was sent before");
}
END_TEST

Suite *jail_request_data_suite(void)
{
	Suite *s = suite_create("jail request data");
	TCase *c = tcase_create("request data");

	tcase_add_checked_fixture(c, asker_start, NULL);
	tcase_add_test(c, pieces_are_one_source);
	tcase_add_test(c, a_source_that_is_too_long_is_told_at_its_end);
	tcase_add_test(c, limits_are_the_policys_at_the_most);
	tcase_add_test(c, a_lost_branch_runs_nothing);
	tcase_add_test(c, a_session_of_one_step_begins_with_its_source);
	tcase_add_test(c, a_path_is_some_bytes_without_a_nul);
	tcase_add_test(c, a_path_goes_to_the_jail_as_it_is);
	tcase_add_test(c, a_file_goes_in_when_it_is_whole);
	tcase_add_test(c, input_waits_up_to_a_bound);
	suite_add_tcase(s, c);
	return s;
}
