/* SPDX-License-Identifier: MIT */
/*
 * tests.c - the user's tests judge the answer: see tests.h
 */

#include "agent/base/file.h"
#include "agent/base/path.h"
#include "agent/base/source.h"
#include "agent/judge/tests.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "init/io.h"

SOURCE(tests_source,
       SOURCE_FILE("agent/judge/tests.py") SOURCE_FILE("agent/judge/cases.py"));

/* digits, letters and _ in front of .py: it is a module's name */
static bool is_module(const char *name)
{
	size_t n = strspn(name, TEXT_WORD);

	return n && (name[0] < '0' || name[0] > '9') && strcmp(name + n, ".py") == 0;
}

static bool is_cases(const char *name)
{
	const char *end = strrchr(name, '.');

	return end && (strcmp(end, ".json") == 0 || strcmp(end, ".jsonl") == 0);
}

static int open_file(struct tests *t, struct tests_file *f, struct jail_binds *b,
		     struct err *e)
{
	uint64_t bytes;

	f->fd = file_open(f->path, "--tests: ", e);
	if (f->fd < 0)
		return f->fd;
	if (!is_module(f->name) && !is_cases(f->name))
		return err_say(
			e, EINVAL,
			"--tests: %s is neither a Python file that can be imported, called like test_sums.py, nor cases in a .json or .jsonl file",
			f->path);
	for (const struct tests_file *k = t->files; k < f; k++)
		if (strcmp(k->name, f->name) == 0)
			return err_say(e, EEXIST, "--tests: two files are called %s",
				       f->name);
		else if (is_cases(k->name) != is_cases(f->name))
			return err_say(
				e, EINVAL,
				"--tests: %s and %s are of two kinds: give Python files, or files of cases",
				k->name, f->name);
	t->cases = is_cases(f->name);
	if (inputs_fd(f->fd, f->path, NULL, f->hex, &bytes, e) < 0)
		return err_within(e, "--tests: ");
	return t->cases ? 0 : jail_binds_more(b, f->path, TESTS_FOLDER, f->name, e);
}

int tests_open(struct tests *t, const struct opt_list *paths, struct jail_binds *b,
	       struct err *e)
{
	if (paths->count > TESTS_MAX)
		return err_say(e, E2BIG, "--tests: at most %d files", TESTS_MAX);
	for (size_t i = 0; i < paths->count; i++) {
		struct tests_file *f = &t->files[t->count++];

		*f = (struct tests_file){ .path = paths->items[i],
					  .name = path_last(paths->items[i]) };
		if (open_file(t, f, b, e) < 0)
			return -e->errnum;
	}
	return 0;
}

int tests_record(const struct tests *t, cJSON *given, struct stop *stop, struct err *e)
{
	/* a jail that is made from these has no cases either */
	cJSON *list = cJSON_AddArrayToObject(given, t->cases ? "cases" : "tests");

	int r = 0;

	for (size_t i = 0; r == 0 && i < t->count; i++)
		r = inputs_file(json_append(list), t->files[i].path, t->files[i].name, -1,
				stop, e);
	return r;
}

/* the value of the step's last expression; whoever runs in it can forge that */
static cJSON *read_verdict(const struct step *step)
{
	cleanup_text struct text head = { 0 }, tail = { 0 };
	bool cut = clip_take(&step->result, &head, &tail) > 0 || tail.length;

	if (step->facts.verdict != VERDICT_COMPLETED || cut)
		return NULL;
	return json_parse(text_string(&head), head.length);
}

int tests_run(struct tests *t, const char *function, bool files, struct step *step,
	      cJSON **verdict, struct err *e)
{
	cleanup_text struct text order = { 0 };
	cleanup_text struct text call = { 0 };
	cleanup_json cJSON *o = cJSON_CreateObject();

	for (size_t i = 0; files && i < t->count; i++)
		json_add(o, t->files[i].name, t->files[i].hex);
	json_print(o, &order);
	text_printf(&call, "judge(%s, ", function);
	*verdict = NULL;
	if (judge_run(&t->judge, tests_source, text_string(&call), order.bytes,
		      order.length, step, e) < 0)
		return -e->errnum;
	*verdict = read_verdict(step);
	return 0;
}

/* what was found before the model has said a word */
static int learn(struct tests *t, const cJSON *verdict, struct err *e)
{
	if (*json_text(verdict, "problem"))
		return err_say(e, EINVAL, "--tests: %s", json_text(verdict, "problem"));
	if (!json_count(verdict, "count", &t->number) || !t->number) {
		cleanup_text struct text words = { 0 };

		verdict_cause(&t->judge.step.facts, &words);
		return err_say(e, EPROTO, "--tests: the jail cannot list the tests: %s",
			       text_string(&words));
	}
	for (const cJSON *one = json_first(json_get(verdict, "names")); one;
	     one = one->next)
		if (cJSON_IsString(one))
			text_printf(&t->names, "%s%s%s", t->names.length ? ", " : "",
				    one->valuestring, t->cases ? "" : ".py");
	if (!t->names.length)
		text_puts(&t->names, "solution.py");
	return text_check(&t->names, "--tests", e);
}

int tests_start(struct tests *t, struct task *task, struct err *e)
{
	cleanup_json cJSON *verdict = NULL;

	t->task = task;
	if (judge_open(&t->judge, task, task->plan.binds, task->plan.step_ms, e) < 0 ||
	    (t->cases ? tests_cases_look(t, &verdict, e)
		      : tests_run(t, "look_at_tests", true, &t->judge.step, &verdict,
				  e)) < 0)
		return -e->errnum;
	return learn(t, verdict, e);
}

void tests_words(const struct tests *t, struct text *out)
{
	if (t->cases) {
		text_printf(
			out,
			"\nYour solution is judged by its functions' results: of %s. Write each module into a file of its name in /work. When you are done, your files, and nothing else of yours, are put into a fresh sandbox, where the functions are called with plain values, %" PRIu64
			" calls in all. What they return or raise is compared with what is right, which you are not shown.\n",
			text_string(&t->names), t->number);
		return;
	}
	text_puts(out, "\nYour solution is judged by tests: ");
	for (size_t i = 0; i < t->count; i++)
		text_printf(out, "%s" TESTS_FOLDER "/%s", i ? ", " : "",
			    t->files[i].name);
	text_printf(
		out,
		" (read-only: read them first). Write the solution into files in /work: %s. The tests import it from there. When you are done, your files, and nothing else of yours, are put into a fresh sandbox, where all tests, %" PRIu64
		" in number, must pass; a test that is skipped has not passed. Nothing you do to the tests here counts there.\n",
		text_string(&t->names), t->number);
}

static void add_words(const struct tests *t, const cJSON *verdict)
{
	struct text *words = t->words;
	const char *why = json_text(verdict, "why");

	text_puts(
		words,
		"Your answer does not stand: the tests did not pass with your files in a fresh sandbox: ");
	if (verdict) {
		escape_name(words, why, strlen(why));
	} else {
		text_puts(words, "the test runner ended before it could report: ");
		verdict_cause(t->has_compared ? &t->compared.facts : &t->judge.step.facts,
			      words);
	}
	text_puts(words, ".\n");
	clip_titled(t->cases ? "What your functions printed" : "What the tests printed",
		    &t->judge.step.out, &t->judge.step.err, words);
	clip_titled("Error", &t->judge.step.trace, NULL, words);
	text_puts(words, "Correct your files, then answer again.");
}

static int record(struct tests *t, const cJSON *verdict, bool stands, struct err *e)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *tests = cJSON_AddArrayToObject(o, "tests");

	for (size_t i = 0; i < t->count; i++)
		(void)tests_tell(tests, t->files[i].name, t->files[i].hex);
	json_add(o, "files", t->taken);
	t->taken = NULL;
	json_add(o, "count", t->number);
	json_add(o, "stands", stands);
	json_add(o, "why", json_text(verdict, "why"));
	json_add(o, "jail", record_session(&t->judge.session));
	json_add(o, "run", t->ran ? t->ran : record_step(0, NULL, &t->judge.step, NULL));
	t->ran = NULL;
	if (t->has_compared)
		json_add(o, "compared", record_step(0, NULL, &t->compared, NULL));
	return task_record(t->task, "tests", o, e);
}

static int judge_taken(struct tests *t, struct err *e)
{
	cleanup_json cJSON *verdict = NULL;
	cleanup_text struct text why = { 0 };

	t->has_compared = false;

	int r = t->cases ? tests_cases_judge(t, &verdict, e)
			 : tests_run(t, "run_tests", true, &t->judge.step, &verdict, e);

	budget_judged(&t->task->budget, &t->judge.step);
	if (r < 0)
		return r;

	const char *problem = json_text(verdict, "problem");

	if (*problem) { /* the files are not what they were; a solution may say so, too */
		escape_name(&why, problem, strlen(problem));
		return err_say(e, ESTALE, "--tests: %s", text_string(&why));
	}

	bool stands = cJSON_IsTrue(json_get(verdict, "stands"));

	if (record(t, verdict, stands, e) < 0)
		return -e->errnum;
	if (!stands && !t->words->length)
		add_words(t, verdict);
	return stands;
}

int tests_ask(struct tests *t, struct text *words, struct err *e)
{
	struct session *asked = &t->task->session;
	int r = session_renew(&t->judge.session, e);

	t->words = words;
	if (r == 0)
		r = tests_take(t, e);
	if (r > 0)
		r = judge_taken(t, e);
	/* the model's own session may have gone while it was asked for the files */
	if (r == 0 && !asked->open)
		r = session_renew(asked, e);
	return r;
}

void tests_close(struct tests *t)
{
	session_close(&t->judge.session);
	cJSON_Delete(t->taken);
	cJSON_Delete(t->ran);
	text_free(&t->names);
	text_free(&t->calls);
	for (size_t i = 0; i < t->count; i++)
		io_close_fd(&t->files[i].fd);
}
