/* SPDX-License-Identifier: MIT */
/*
 * checks_plan.c - command lines of the checks, and their files: see checks.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/file.h"
#include "agent/base/json.h"
#include "agent/base/memory.h"
#include "agent/base/path.h"
#include "agent/judge/checks.h"
#include "agent/record/inputs.h"
#include "agent/record/record.h"
#include "init/io.h"

static const char blanks[] = " \t\n";

int split_words(const char *line, struct split *w, const char *what, struct err *e)
{
	*w = (struct split){ .count = 0 };
	for (const char *at = line + strspn(line, blanks); *at;
	     at += strspn(at, blanks)) {
		cleanup_text struct text word = { 0 };
		char quote = '\0'; /* that is open */

		for (; *at && (quote || !strchr(blanks, *at)); at++) {
			/* between double quotes one stays, but before what it quotes */
			bool escape = *at == '\\' && quote != '\'' &&
				      (!quote || (at[1] && strchr("\"\\$`\n", at[1])));

			if (escape && !at[1])
				return err_say(e, EINVAL, "%s: it ends with a backslash",
					       what);
			if (!escape && quote && *at == quote)
				quote = '\0';
			else if (!escape && !quote && strchr("'\"", *at))
				quote = *at;
			else if (!escape || *++at != '\n')
				text_add(&word, at, 1);
		}
		if (quote)
			return err_say(e, EINVAL, "%s: a quote is not closed", what);
		if (w->count == SPLIT_WORDS_MAX)
			return err_say(e, E2BIG, "%s: more than %d words", what,
				       SPLIT_WORDS_MAX);
		w->words[w->count++] = memory_string(text_string(&word));
	}
	return w->count ? 0 : err_say(e, EINVAL, "%s: it is empty", what);
}

void split_free(struct split *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->words[i]);
	w->count = 0;
}

static int look_at(const struct opt_list *files, size_t i, struct err *e)
{
	const char *path = files->items[i];
	cleanup_fd int fd = file_open(path, "--check-file: ", e);

	if (fd < 0)
		return fd;
	/* stepjail splits SRC:DST at its last colon */
	if (strchr(path_last(path), ':'))
		return err_say(
			e, EINVAL,
			"--check-file: %s: its name holds a colon; give it another one",
			path);
	for (size_t k = 0; k < i; k++)
		if (strcmp(path_last(files->items[k]), path_last(path)) == 0)
			return err_say(
				e, EEXIST,
				"--check-file: two files are called %s; the checks' " CHECKS_FOLDER
				" holds one",
				path_last(path));
	return 0;
}

static void add_files(struct launch_args *a, const struct opt_list *files,
		      const struct jail_binds *binds)
{
	for (size_t i = 0; i < binds->count; i++)
		launch_add(a, "--bind=%s", binds->list[i]);
	for (size_t i = 0; i < files->count; i++) {
		cleanup_text struct text path = { 0 };

		path_absolute(files->items[i], &path);
		launch_add(a, "--bind=%s:" CHECKS_FOLDER "/%s", text_string(&path),
			   path_last(files->items[i]));
		if (path.failed)
			a->failed = path.failed;
	}
}

/* a judge whose file is not there would refuse whatever it is given */
static int check_words(const struct split *w, const struct opt_list *files,
		       const char *option, struct err *e)
{
	const size_t begin = strlen(CHECKS_FOLDER "/");

	for (size_t i = 0; i < w->count; i++) {
		const char *word = w->words[i];
		size_t k = 0;

		if (strncmp(word, CHECKS_FOLDER "/", begin) != 0 || !word[begin])
			continue;
		while (k < files->count &&
		       strcmp(path_last(files->items[k]), word + begin) != 0)
			k++;
		if (k == files->count)
			return err_say(e, ENOENT,
				       "%s: there is no %s: give --check-file .../%s",
				       option, word, word + begin);
	}
	return 0;
}

int checks_plan(struct checks *v, const struct checks_options *o, struct err *e)
{
	const struct session_plan *plan = &v->task->plan;

	v->o = o;
	for (size_t i = 0; i < o->files.count; i++)
		if (look_at(&o->files, i, e) < 0)
			return -e->errnum;
	for (size_t kind = 0; kind < CHECKS_KINDS; kind++) {
		struct launch_args *a = &v->args[kind];
		cleanup_split struct split words = { .count = 0 };

		if (!o->command[kind])
			continue;
		if (split_words(o->command[kind], &words, checks_rows[kind].option, e) <
			    0 ||
		    check_words(&words, &o->files, checks_rows[kind].option, e) < 0)
			return -e->errnum;
		launch_add_run(a, plan->jail->rootfs, o->time_ms, &plan->jail->pass);
		add_files(a, &o->files, plan->binds);
		launch_add(a, "--");
		for (size_t i = 0; i < words.count; i++)
			launch_add(a, "%s", words.words[i]);
		if (a->failed)
			return err_set(e, a->failed, "%s", checks_rows[kind].option);
		v->line[kind] = broker_add(&v->task->confined.broker, a, e);
		if (v->line[kind] < 0)
			return v->line[kind];
	}
	return 0;
}

cJSON *checks_record(const struct checks *v, struct err *e)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *files = cJSON_AddArrayToObject(o, "files");

	for (size_t i = 0; i < CHECKS_KINDS; i++)
		if (v->line[i])
			record_string(o, checks_rows[i].name, v->o->command[i],
				      strlen(v->o->command[i]));
	for (size_t i = 0; i < v->o->files.count; i++) {
		const char *path = v->o->files.items[i];

		if (inputs_file(json_append(files), path, path_last(path), -1,
				v->task->stop, e) == 0)
			continue;
		cJSON_Delete(o);
		return NULL;
	}
	return o;
}

cJSON *checks_json(const struct checks *v)
{
	cJSON *o = NULL;

	for (size_t i = 0; i < CHECKS_KINDS; i++) {
		cJSON *one;

		if (!v->line[i])
			continue;
		o = o ? o : cJSON_CreateObject();
		one = cJSON_AddObjectToObject(o, checks_rows[i].name);
		(void)cJSON_AddNumberToObject(one, "asked", (double)v->asked[i]);
		(void)cJSON_AddNumberToObject(one, "refused", (double)v->refused[i]);
	}
	return o;
}

void checks_free(struct checks *v)
{
	for (size_t i = 0; i < CHECKS_KINDS; i++)
		launch_args_free(&v->args[i]);
}
