/* SPDX-License-Identifier: MIT */
/*
 * tests_take.c - the model's files, as bytes, out of its jail and into the judge's: see
 * tests.h
 *
 * Names and bytes are hostile. They go from one jail to another and are looked at by
 * nobody in between but for their number and size; what a name may be is for stepjail to
 * say.
 */

#include "agent/judge/tests.h"

#define JUDGED "judged" /* as in tests.py: no name in /work is the solution's */
#define LISTING_BYTES ((size_t)1 << 18)

cJSON *tests_tell(cJSON *list, const char *name, const char *hex)
{
	cJSON *one = json_append(list);

	json_add(one, "name", name);
	json_add(one, "sha256", hex);
	return one;
}

int tests_failed(struct tests *t, int r, const char *what, const char *why)
{
	if (r == -EINTR || r == -ENOMEM)
		return r;
	text_puts(t->words, "Your answer does not stand: your files cannot be judged: ");
	escape_name(t->words, what, strlen(what));
	escape_quote(t->words, why);
	text_puts(t->words, ".");
	return 0;
}

/* what is not the model's own text */
static bool left_out(const char *name, bool top)
{
	return strcmp(name, "__pycache__") == 0 ||
	       (top && (strcmp(name, "in") == 0 || strcmp(name, "tests") == 0 ||
			strcmp(name, "out") == 0));
}

static int take_file(struct tests *t, const char *path, struct err *e)
{
	cleanup_text struct text bytes = { 0 };
	cleanup_text struct text to = { 0 };
	char hex[DIGEST_HEX];

	if (cJSON_GetArraySize(t->taken) == TESTS_TAKEN_FILES) {
		text_printf(
			t->words,
			"There are more than %d files in /work, which is as many as are taken for the tests: remove some.",
			TESTS_TAKEN_FILES);
		return 0;
	}
	bytes.max = TESTS_TAKEN_BYTES - t->taken_bytes + 1;

	int r = session_get_text(&t->task->session, SESSION_FILE, path, &bytes, e);

	t->taken_bytes += bytes.length;
	/* one byte more than fits is the file's own bound, and none is 0: see text.h */
	if (r == -E2BIG || t->taken_bytes > TESTS_TAKEN_BYTES) {
		text_printf(
			t->words,
			"The files in /work are larger than %zu MiB together, which is as much as is taken for the tests: remove some.",
			TESTS_TAKEN_BYTES >> 20);
		return 0;
	}
	if (r < 0)
		return tests_failed(t, r, path, e->text);
	digest_bytes(text_string(&bytes), bytes.length, hex);
	json_add(tests_tell(t->taken, path, hex), "bytes", bytes.length);
	text_printf(&to, JUDGED "/%s", path);
	r = session_put_bytes(&t->judge.session, &bytes, text_string(&to), e);
	return r == -EPERM ? tests_failed(t, r, path, e->text) : r < 0 ? r : 1;
}

/* all that is in a folder below /work, "" for that; 1, 0 with words, or -errno */
static int take_folder(struct tests *t, const char *folder, int depth, struct err *e)
{
	cleanup_text struct text list = { .max = LISTING_BYTES };
	const char *shown = *folder ? folder : "/work";
	struct session_entry entry;
	size_t at = 0;
	int r, more = 1;

	if (depth > TESTS_TAKEN_DEPTH)
		return tests_failed(t, 0, folder, "folders are nested too deep");
	r = session_get_text(&t->task->session, SESSION_FOLDER, *folder ? folder : ".",
			     &list, e);
	if (r < 0)
		return tests_failed(t, r, shown, e->text);
	for (r = 1; r > 0 && (more = session_entry_next(&list, &at, &entry)) > 0;) {
		cleanup_text struct text path = { 0 };

		if (left_out(entry.name, depth == 0))
			continue;
		text_printf(&path, "%s%s%s", folder, *folder ? "/" : "", entry.name);
		/* links and the like are not followed */
		if (entry.kind == 'd')
			r = take_folder(t, text_string(&path), depth + 1, e);
		else if (entry.kind == '-')
			r = take_file(t, text_string(&path), e);
	}
	return more < 0 ? tests_failed(t, more, shown, "its list of entries is invalid")
			: r;
}

int tests_take(struct tests *t, struct err *e)
{
	cJSON_Delete(t->taken);
	t->taken = cJSON_CreateArray();
	t->taken_bytes = 0;

	int r = take_folder(t, "", 0, e);

	if (r > 0 && !t->taken->child) {
		text_puts(
			t->words,
			"Your answer does not stand: there is no file of yours to run the tests with. Write the solution into files.");
		r = 0;
	}
	return r;
}
