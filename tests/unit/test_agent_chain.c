/* SPDX-License-Identifier: MIT */
/*
 * test_agent_chain.c - chained lines, and every way to change them
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/record/read_transcript.h"
#include "tests/unit/suites.h"

#define SHORT_LINES 5
#define LONG_LINES 1500
#define LONG_EDITS 300

/* What the sanitizers look for differs with the place, and not with the value: there,
 * each bit of a byte is changed, and elsewhere it gets each other value. */
#ifdef __SANITIZE_ADDRESS__
#define NEXT_CHANGE(change) ((change)*2)
#else
#define NEXT_CHANGE(change) ((change) + 1)
#endif

/* lines as a run makes them; each of them ends with its newline */
struct lines {
	struct text *line;
	size_t count;
};

static void make(struct lines *l, size_t count, const char *what)
{
	struct chain chain;

	l->line = calloc(count, sizeof(*l->line));
	l->count = count;
	chain_begin(&chain);
	for (size_t i = 0; i < count; i++) {
		char members[100];

		(void)snprintf(members, sizeof(members),
			       "\"event\":\"%s\",\"format\":2,\"text\":\"%s %zu\"",
			       i == 0           ? "start"
			       : i == count - 1 ? "end"
						: "step",
			       what, i);
		chain_seal(&chain, members, &l->line[i]);
	}
}

static void drop(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		text_free(&l->line[i]);
	free(l->line);
}

static void join(const struct lines *l, struct text *all)
{
	text_clear(all);
	for (size_t i = 0; i < l->count; i++)
		text_add(all, l->line[i].bytes, l->line[i].length);
}

static int file_fd = -1;

/* how it reads */
static struct read_transcript reads(const char *bytes, size_t length)
{
	struct read_transcript r;
	struct err e;

	if (file_fd < 0)
		file_fd = memfd_create("transcript", MFD_CLOEXEC);
	HOLDS(ftruncate(file_fd, 0) == 0);
	HOLDS(pwrite(file_fd, bytes, length, 0) == (ssize_t)length);
	HOLDS(read_transcript_run(file_fd, NULL, NULL, &r, &e) == 0);
	return r;
}

static struct read_transcript reads_lines(const struct lines *l)
{
	cleanup_text struct text all = { 0 };

	join(l, &all);
	return reads(text_string(&all), all.length);
}

static void is_changed_at(const struct read_transcript *r, size_t line)
{
	if (r->end != READ_TRANSCRIPT_CHANGED || r->chain.lines != line)
		ck_abort_msg("end %d after %" PRIu64 " lines, not changed after %zu",
			     r->end, r->chain.lines, line);
	HOLDS(r->why.text[0]);
}

/* in which line is that byte */
static size_t line_of(const struct text *all, size_t at)
{
	size_t line = 0;

	for (size_t i = 0; i < at; i++)
		line += all->bytes[i] == '\n';
	return line;
}

START_TEST(whole_is_whole)
{
	struct lines l;
	struct read_transcript r;

	make(&l, SHORT_LINES, "a");
	r = reads_lines(&l);
	ck_assert_int_eq(r.end, READ_TRANSCRIPT_WHOLE);
	ck_assert_uint_eq(r.chain.lines, SHORT_LINES);
	ck_assert_uint_eq(r.steps, SHORT_LINES - 2);
	drop(&l);
	r = reads("", 0);
	ck_assert_int_eq(r.end, READ_TRANSCRIPT_CUT);
	ck_assert_uint_eq(r.chain.lines, 0);
}
END_TEST

/* as sha256sum has it for all bytes before the seal */
START_TEST(digest_is_sha256)
{
	struct text line = { 0 };
	struct chain chain;

	chain_begin(&chain);
	chain_seal(&chain, "\"event\":\"start\"", &line);
	ck_assert_str_eq(chain.digest, "41c1b91bfb9e944d449e0d9bcccd3a0c"
				       "e857cb0c2faf9c61138f1a474a77826b");
	ck_assert_ptr_nonnull(strstr(text_string(&line), chain.digest));
	text_free(&line);
}
END_TEST

/* each byte, each other value that it could have (but see NEXT_CHANGE) */
START_TEST(every_byte_counts)
{
	struct lines l;
	struct text all = { 0 };

	make(&l, 3, "a");
	join(&l, &all);
	for (size_t i = 0; i < all.length; i++) {
		char was = all.bytes[i];
		size_t line = line_of(&all, i);

		for (int change = 1; change < 256; change = NEXT_CHANGE(change)) {
			all.bytes[i] = (char)(was ^ change);

			struct read_transcript r = reads(all.bytes, all.length);

			is_changed_at(&r, line);
		}
		all.bytes[i] = was;
	}
	text_free(&all);
	drop(&l);
}
END_TEST

START_TEST(every_cut_is_told_apart)
{
	struct lines l;
	struct text all = { 0 };

	make(&l, SHORT_LINES, "a");
	join(&l, &all);
	for (size_t length = 0; length < all.length; length++) {
		struct read_transcript r = reads(all.bytes, length);

		HOLDS(r.end == READ_TRANSCRIPT_CUT);
		HOLDS(r.chain.lines == line_of(&all, length));
		HOLDS(r.half == (length && all.bytes[length - 1] != '\n'));
	}
	text_free(&all);
	drop(&l);
}
END_TEST

START_TEST(every_byte_that_is_added_or_removed_counts)
{
	struct lines l;
	struct text all = { 0 };
	struct text other = { 0 };

	make(&l, SHORT_LINES, "a");
	join(&l, &all);
	for (size_t i = 0; i < all.length; i++) {
		text_clear(&other);
		text_add(&other, all.bytes, i);
		text_add(&other, all.bytes + i + 1, all.length - i - 1);

		struct read_transcript r = reads(other.bytes, other.length);

		HOLDS(r.end != READ_TRANSCRIPT_WHOLE &&
		      r.chain.lines <= line_of(&all, i));
		HOLDS(r.end == READ_TRANSCRIPT_CHANGED || i == all.length - 1);
		for (const char *add = "x\n 0\""; *add; add++) {
			text_clear(&other);
			text_add(&other, all.bytes, i);
			text_add(&other, add, 1);
			text_add(&other, all.bytes + i, all.length - i);
			r = reads(other.bytes, other.length);
			/* an empty line comes behind a whole one */
			is_changed_at(&r, line_of(&all, i) +
						  (*add == '\n' && all.bytes[i] == '\n'));
		}
	}
	for (const char *add = "x\n 0\""; *add; add++) {
		text_clear(&other);
		text_add(&other, all.bytes, all.length);
		text_add(&other, add, 1);

		struct read_transcript r = reads(other.bytes, other.length);

		is_changed_at(&r, SHORT_LINES);
	}
	text_free(&other);
	text_free(&all);
	drop(&l);
}
END_TEST

START_TEST(every_line_counts)
{
	for (size_t i = 0; i < SHORT_LINES; i++)
		for (size_t k = 0; k <= SHORT_LINES; k++) {
			struct lines l;
			struct read_transcript r;

			/* line i once more, at k */
			make(&l, SHORT_LINES, "a");

			struct text *more = calloc(SHORT_LINES + 1, sizeof(*more));

			memcpy(more, l.line, k * sizeof(*more));
			more[k] = l.line[i];
			memcpy(more + k + 1, l.line + k,
			       (SHORT_LINES - k) * sizeof(*more));
			r = reads_lines(&(struct lines){ more, SHORT_LINES + 1 });
			is_changed_at(&r, k == i ? i + 1 : k);

			/* without line i */
			memcpy(more, l.line, i * sizeof(*more));
			memcpy(more + i, l.line + i + 1,
			       (SHORT_LINES - i - 1) * sizeof(*more));
			r = reads_lines(&(struct lines){ more, SHORT_LINES - 1 });
			if (i == SHORT_LINES - 1)
				HOLDS(r.end == READ_TRANSCRIPT_CUT && r.chain.lines == i);
			else
				is_changed_at(&r, i);

			/* i and k in each other's place */
			memcpy(more, l.line, SHORT_LINES * sizeof(*more));
			if (k < SHORT_LINES && k != i) {
				more[i] = l.line[k];
				more[k] = l.line[i];
				r = reads_lines(&(struct lines){ more, SHORT_LINES });
				is_changed_at(&r, i < k ? i : k);
			}
			free(more);
			drop(&l);
		}
}
END_TEST

START_TEST(a_line_of_another_run_does_not_fit)
{
	for (size_t i = 0; i < SHORT_LINES; i++) {
		struct lines l, other;

		make(&l, SHORT_LINES, "a");
		make(&other, SHORT_LINES, "b");

		struct text was = l.line[i];

		l.line[i] = other.line[i];

		struct read_transcript r = reads_lines(&l);

		/* good in itself, it is the next one that does not follow it */
		if (i == 0)
			is_changed_at(&r, 1);
		else
			is_changed_at(&r, i);
		l.line[i] = was;
		drop(&l);
		drop(&other);
	}
}
END_TEST

/* what a chain cannot do, and the last digest can */
START_TEST(made_anew_it_has_another_digest)
{
	struct lines l, other;
	struct read_transcript r, s;

	make(&l, SHORT_LINES, "a");
	make(&other, SHORT_LINES, "b");
	r = reads_lines(&l);
	s = reads_lines(&other);
	ck_assert_int_eq(s.end, READ_TRANSCRIPT_WHOLE);
	ck_assert_str_ne(r.chain.digest, s.chain.digest);
	drop(&l);
	drop(&other);
}
END_TEST

static const struct {
	const char *events[4];
	uint64_t lines; /* that fit */
	const char *why;
} orders[] = {
	{ { "step", "end" }, 0, "one start line" },
	{ { "start", "start", "end" }, 1, "one start line" },
	{ { "start", "end", "step" }, 2, "after the end line" },
	{ { "start", "end", "end" }, 2, "after the end line" },
	{ { "start", "", "end" }, 1, "not a JSON object with an event" },
};

START_TEST(a_run_has_a_beginning_and_an_end)
{
	struct text all = { 0 };
	struct text line = { 0 };
	struct chain chain;

	chain_begin(&chain);
	for (size_t i = 0; i < 4 && orders[_i].events[i]; i++) {
		char members[40];

		(void)snprintf(members, sizeof(members), "\"event\":\"%s\",\"format\":2",
			       orders[_i].events[i]);
		chain_seal(&chain, members, &line);
		text_add(&all, line.bytes, line.length);
	}

	struct read_transcript r = reads(all.bytes, all.length);

	is_changed_at(&r, orders[_i].lines);
	ck_assert_ptr_nonnull(strstr(r.why.text, orders[_i].why));
	text_free(&all);
	text_free(&line);
}
END_TEST

START_TEST(any_edit_of_a_long_one_is_found)
{
	struct lines l;
	struct text all = { 0 };

	srandom(20);
	make(&l, LONG_LINES, "long");
	join(&l, &all);
	for (int n = 0; n < LONG_EDITS; n++) {
		size_t at = (size_t)random() % all.length;
		char was = all.bytes[at];

		all.bytes[at] = (char)(was ^ (1 + random() % 255));

		struct read_transcript r = reads(all.bytes, all.length);

		all.bytes[at] = was;
		is_changed_at(&r, line_of(&all, at));
	}
	text_free(&all);
	drop(&l);
}
END_TEST

Suite *agent_chain_suite(void)
{
	Suite *s = suite_create("agent chain");
	TCase *c = tcase_create("chain");

	tcase_set_timeout(c, 300);
	tcase_add_test(c, whole_is_whole);
	tcase_add_test(c, digest_is_sha256);
	tcase_add_test(c, every_byte_counts);
	tcase_add_test(c, every_cut_is_told_apart);
	tcase_add_test(c, every_byte_that_is_added_or_removed_counts);
	tcase_add_test(c, every_line_counts);
	tcase_add_test(c, a_line_of_another_run_does_not_fit);
	tcase_add_test(c, made_anew_it_has_another_digest);
	tcase_add_loop_test(c, a_run_has_a_beginning_and_an_end, 0, (int)COUNT(orders));
	tcase_add_test(c, any_edit_of_a_long_one_is_found);
	suite_add_tcase(s, c);
	return s;
}
