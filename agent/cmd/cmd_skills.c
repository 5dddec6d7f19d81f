/* SPDX-License-Identifier: MIT */
/*
 * cmd_skills.c - stepjail-agent skills: which functions a folder holds, and whether they
 * fit
 */
#include <unistd.h>

#include "agent/cmd/commands.h"
#include "agent/confine/confined.h"
#include "agent/record/record.h"
#include "agent/skills/skills.h"

#define WHOLE SKILL_WORDS_MAX

struct skills_options {
	bool json;
	bool require_confinement;
};

#define ROW(kind, field) OPT_ROW(kind, struct skills_options, field)

static const struct opt opts[] = {
	{ "json", NULL, NULL, "Print one JSON object.", ROW(FLAG, json) },
	CONFINE_OPT(struct skills_options),
	{ .name = NULL },
};
OPT_ROWS_FIT(opts);

static void add_words(const struct skill *one, struct text *out)
{
	skills_string(one, false, "signature", WHOLE, out);
	text_puts(out, "\n    ");
	skills_string(one, false, "doc", WHOLE, out);
	text_printf(out, "\n    fits, sha256 %s\n    saved ", one->sha256);
	skills_string(one, true, "time", WHOLE, out);
	text_puts(out, " in the task \"");
	skills_string(one, true, "task", WHOLE, out);
	text_puts(out, "\", ");
	skills_string(one, true, "model", WHOLE, out);
	text_puts(out, "\n    transcript ");
	skills_string(one, true, "transcript", WHOLE, out);
	text_puts(out, " sha256 ");
	skills_string(one, true, "transcript_sha256", WHOLE, out);
	text_puts(out, "\n");
}

static void add_all(const struct skills *s, struct text *out)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].state == SKILL_FITS)
			add_words(&s->list[i], out);
	text_add(out, s->notes.bytes, s->notes.length);
}

static int add_json(const struct skills *s, struct text *out, struct err *e)
{
	static const char *const members[] = { "signature", "doc", "examples", "origin" };
	cJSON *o = cJSON_CreateObject();
	cJSON *list = cJSON_AddArrayToObject(o, "skills");

	record_string(o, "dir", text_string(&s->dir), s->dir.length);
	for (size_t i = 0; list && i < s->count; i++) {
		const struct skill *one = &s->list[i];
		cJSON *entry = one->state == SKILL_GONE ? NULL : cJSON_CreateObject();

		if (!entry)
			continue;
		(void)cJSON_AddItemToArray(list, entry);
		(void)cJSON_AddStringToObject(entry, "name", one->name);
		(void)cJSON_AddStringToObject(entry, "state",
					      skill_state_name(one->state));
		(void)cJSON_AddStringToObject(entry, "sha256", one->sha256);
		for (size_t k = 0; k < sizeof(members) / sizeof(members[0]); k++)
			(void)cJSON_AddItemToObject(
				entry, members[k],
				cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(
							one->told, members[k]),
						true));
	}
	(void)cJSON_AddNumberToObject(o, "misfits", (double)s->misfits);
	record_string(o, "notes", text_string(&s->notes), s->notes.length);

	int r = record_print(o, out, e);

	cJSON_Delete(o);
	text_puts(out, "\n");
	return r;
}

static int list_all(struct skills *s, const struct skills_options *o, const char *dir,
		    struct text *out, struct err *e)
{
	struct confine_policy policy = { .required = o->require_confinement };
	struct confine_facts facts;
	int r = skills_find(s, dir, false, e);

	/* what the index says is read by one that can do nothing else any more */
	if (r == 0)
		r = confine_self(&policy, &facts, e);
	if (r == 0)
		r = skills_read(s, e);
	if (r < 0)
		return r;
	if (o->json)
		r = add_json(s, out, e);
	else
		add_all(s, out);
	return r < 0 ? r : text_check(out, "the list", e);
}

static int skills_run(const void *options, const char *operand, struct stop *stop,
		      struct err *e)
{
	struct skills s = SKILLS_NONE;
	cleanup_text struct text out = { 0 };
	int r = list_all(&s, options, operand, &out, e);
	int status = s.misfits ? 1 : 0;

	skills_free(&s);
	if (r == 0)
		r = stop_write(stop, STDOUT_FILENO, out.bytes, out.length);
	else
		return r;
	return r < 0 ? err_set(e, -r, "cannot write to stdout") : status;
}

const struct command command_skills = {
	.name = "skills",
	.operand = "DIR",
	.summary = "List the functions that solve --skills DIR has saved.",
	.about =
		"Each with its signature, the first line of its docstring, the digest of its file, and where it comes from: task, model, time, transcript. A file that is not what was saved, one that is not in the index and a line of the index that was changed are told, and solve offers none of them; exit status 1.\n\n"
		"DIR/NAME.py is a function, DIR/index.jsonl has a line for each, with a digest of its own. To forget a function, delete its file.",
	.opts = opts,
	.opts_bytes = sizeof(struct skills_options),
	.run = skills_run,
};
