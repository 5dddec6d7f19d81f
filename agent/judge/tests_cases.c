/* SPDX-License-Identifier: MIT */
/*
 * tests_cases.c - plain cases: their files' way, and what goes from jail to jail: see
 * tests.h
 *
 * The cases are put into jails in which nothing of the model's runs; there and back go
 * lines of JSON that are hostile, and that nobody looks at here.
 */
#include "agent/judge/tests.h"
#include "agent/record/record.h"

#define CASES "cases" /* as in tests.py: no name in /work is the solution's */

static int put_cases(struct tests *t, struct err *e)
{
	int r = 0;

	for (size_t i = 0; i < t->count && r == 0; i++) {
		const struct tests_file *f = &t->files[i];
		cleanup_text struct text path = { 0 };

		text_printf(&path, CASES "/%s", f->name);
		r = session_put(&t->judge.session, f->fd, text_string(&path), e);
		if (r < 0)
			return err_within(e, "--tests: %s: ", f->path);
	}
	return r;
}

int tests_cases_look(struct tests *t, cJSON **verdict, struct err *e)
{
	if (put_cases(t, e) < 0 ||
	    tests_run(t, "look_at_cases", true, &t->judge.step, verdict, e) < 0)
		return -e->errnum;
	return json_get(*verdict, "count")
		       ? session_get_text(&t->judge.session, SESSION_FILE, CASES "/calls",
					  &t->calls, e)
		       : 0;
}

/* in a jail that neither the solution nor its calls have been in */
static int compare(struct tests *t, const struct text *replies, cJSON **verdict,
		   struct err *e)
{
	cJSON_Delete(t->ran);
	t->ran = record_step(0, NULL, &t->judge.step, NULL);
	if (session_renew(&t->judge.session, e) < 0 || put_cases(t, e) < 0 ||
	    session_put_bytes(&t->judge.session, replies, CASES "/replies", e) < 0 ||
	    tests_run(t, "compare_cases", true, &t->compared, verdict, e) < 0)
		return -e->errnum;
	t->has_compared = true;
	budget_judged(&t->task->budget, &t->compared);
	return 0;
}

int tests_cases_judge(struct tests *t, cJSON **verdict, struct err *e)
{
	cleanup_text struct text replies = { .max = TESTS_TAKEN_BYTES };
	cleanup_json cJSON *called = NULL;
	int r = session_put_bytes(&t->judge.session, &t->calls, CASES "/calls", e);

	if (r == 0)
		r = tests_run(t, "call_cases", false, &t->judge.step, &called, e);
	/* a step that did not end well has no value; what else it may say is of no use */
	if (r < 0 || !called)
		return r;
	r = session_get_text(&t->judge.session, SESSION_FILE, CASES "/replies", &replies,
			     e);
	if (r == 0)
		return compare(t, &replies, verdict, e);
	return tests_failed(t, r, "what your functions returned", e->text);
}
