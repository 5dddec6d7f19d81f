/* SPDX-License-Identifier: MIT */
/*
 * evalshow.c - an evaluation's progress and results: see evalshow.h
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/units.h"
#include "agent/eval/evalshow.h"
#include "agent/record/record.h"

#define BAR_COLUMNS 30
#define LINES_PER_RUN 8 /* without a terminal: so many lines of progress */
#define LEAST_GAP 10

static const uint32_t ks[] = { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000 };
#define KS (sizeof(ks) / sizeof(ks[0]))

size_t evalshow_passed(const struct evalbook *b)
{
	size_t passed = 0;

	for (size_t t = 0; t < b->set->count; t++)
		passed += evalbook_passed(b, t);
	return passed;
}

static size_t count_ran(const struct evalbook *b)
{
	size_t ran = 0;

	for (size_t i = 0; i < b->count; i++)
		ran += b->samples[i].ran;
	return ran;
}

static void say_progress(const struct evalshow *v, struct text *line)
{
	text_printf(line, "%zu of %zu %s, %zu not passed", v->ended, v->all, v->doing,
		    count_ran(v->book) - evalshow_passed(v->book));
}

static void draw_bar(struct evalshow *v)
{
	cleanup_text struct text line = { 0 };
	size_t full = v->ended * BAR_COLUMNS / v->all;

	/* back to the line's start, and clear what was there: only ever on a terminal */
	text_puts(&line, "\r\x1b[K[");
	for (size_t i = 0; i < BAR_COLUMNS; i++)
		text_puts(&line, i < full ? "#" : ".");
	text_puts(&line, "] ");
	say_progress(v, &line);
	if (!v->show->failed)
		v->show->failed = -stop_write(v->show->stop, v->show->fd,
					      text_string(&line), line.length);
}

int evalshow_step(struct evalshow *v, struct err *e)
{
	size_t gap = v->all / LINES_PER_RUN;

	v->ended++;
	if (v->bar) {
		draw_bar(v);
	} else if (v->ended % (gap > LEAST_GAP ? gap : LEAST_GAP) == 0) {
		cleanup_text struct text line = { 0 };

		say_progress(v, &line);
		show_note(v->show, text_string(&line));
	}
	if (v->show->failed == EINTR)
		return err_say(e, EINTR, "stopped by a signal");
	return v->show->failed ? err_set(e, v->show->failed, "cannot write progress") : 0;
}

void evalshow_end(struct evalshow *v)
{
	if (v->bar && v->ended)
		show_line(v->show, "");
	v->ended = 0;
}

/* failed by the test, or ended by the jail: the table's rows */
static bool by_test(const struct eval_sample *s)
{
	return !s->result.passed && (s->result.verdict == VERDICT_COMPLETED ||
				     s->result.verdict == VERDICT_EXITED);
}

static size_t count_verdict(const struct evalbook *b, enum verdict verdict)
{
	size_t count = 0;

	for (size_t i = 0; i < b->count; i++)
		count += !b->samples[i].result.passed && !by_test(&b->samples[i]) &&
			 b->samples[i].result.verdict == verdict;
	return count;
}

static size_t count_failed(const struct evalbook *b)
{
	size_t count = 0;

	for (size_t i = 0; i < b->count; i++)
		count += by_test(&b->samples[i]);
	return count;
}

static void row(struct evalshow *v, const char *name, size_t count)
{
	char line[80];

	(void)snprintf(line, sizeof(line), "%-14s %5zu", name, count);
	show_line(v->show, line);
}

/* of each task that none of its samples passed, the last one's end */
static void show_failures(struct evalshow *v)
{
	const struct evalbook *b = v->book;
	char line[EVALRUN_ERROR_BYTES + 160];

	for (size_t t = 0; t < b->set->count; t++) {
		const struct eval_sample *s = &b->samples[(t + 1) * b->each - 1];
		char times[40] = "";

		if (evalbook_passed(b, t))
			continue;
		if (b->each > 1)
			(void)snprintf(times, sizeof(times), "none of %u passed, ",
				       b->each);
		(void)snprintf(line, sizeof(line), "%.60s: %s%s: %s", b->set->tasks[t].id,
			       times,
			       by_test(s) ? "failed" : verdict_name(s->result.verdict),
			       s->result.error);
		show_note(v->show, line);
	}
}

int evalshow_table(struct evalshow *v, struct err *e)
{
	const struct evalbook *b = v->book;
	char line[160];
	char time[32];

	evalshow_end(v);
	show_failures(v);
	show_line(v->show, "");
	row(v, "passed", evalshow_passed(b));
	row(v, "failed", count_failed(b));
	for (int i = 0; i < VERDICT_COUNT; i++)
		if (count_verdict(b, (enum verdict)i))
			row(v, verdict_name((enum verdict)i),
			    count_verdict(b, (enum verdict)i));
	row(v, "all", b->count);
	for (size_t i = 0; b->each > 1 && i < KS && ks[i] <= b->each; i++) {
		(void)snprintf(line, sizeof(line), "pass@%-9u %.4f", ks[i],
			       evalbook_pass_at(b, ks[i]));
		show_line(v->show, line);
	}
	(void)snprintf(
		line, sizeof(line), "%zu of %zu passed, each in a jail of its own, in %s",
		evalshow_passed(b), b->count,
		units_say_time(units_now_ms() - v->started_ms, time, sizeof(time)));
	show_line(v->show, line);
	return v->show->failed ? err_set(e, v->show->failed, "cannot write to stdout")
			       : 0;
}

static cJSON *sample_object(const struct evalbook *b, const struct eval_sample *s)
{
	const char *id = b->set->tasks[s->task].id;
	cJSON *one = cJSON_CreateObject();

	record_string(one, "task_id", id, strlen(id));
	(void)cJSON_AddNumberToObject(one, "sample", s->number);
	(void)cJSON_AddBoolToObject(one, "passed", s->result.passed);
	(void)cJSON_AddStringToObject(one, "verdict", verdict_name(s->result.verdict));
	(void)cJSON_AddNumberToObject(one, "wall_ms", (double)s->result.wall_ms);
	record_string(one, "error", s->result.error, strlen(s->result.error));
	return one;
}

int evalshow_json(struct evalshow *v, struct err *e)
{
	const struct evalbook *b = v->book;
	cJSON *o = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(o, "tasks");
	cJSON *chances = cJSON_AddObjectToObject(o, "pass_at");
	cleanup_text struct text line = { 0 };

	for (size_t i = 0; i < b->count; i++)
		(void)cJSON_AddItemToArray(list, sample_object(b, &b->samples[i]));
	for (size_t i = 0; i < KS && ks[i] <= b->each; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%u", ks[i]);
		(void)cJSON_AddNumberToObject(chances, name, evalbook_pass_at(b, ks[i]));
	}
	(void)cJSON_AddNumberToObject(o, "passed", (double)evalshow_passed(b));
	(void)cJSON_AddNumberToObject(o, "failed", (double)count_failed(b));
	(void)cJSON_AddNumberToObject(o, "all", (double)b->count);
	(void)cJSON_AddNumberToObject(o, "wall_ms",
				      (double)(units_now_ms() - v->started_ms));
	(void)cJSON_AddItemToObject(o, "confinement", confined_json(v->confined));

	int r = record_print(o, &line, e);

	cJSON_Delete(o);
	text_puts(&line, "\n");
	if (r == 0)
		r = text_check(&line, "--json", e);
	if (r < 0)
		return r;
	r = stop_write(v->show->stop, STDOUT_FILENO, line.bytes, line.length);
	return r < 0 ? err_set(e, -r, "cannot write to stdout") : 0;
}
