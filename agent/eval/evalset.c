/* SPDX-License-Identifier: MIT */
/*
 * evalset.c - a set of tasks: see evalset.h
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/eval/evalset.h"
#include "init/io.h"

static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	{ "task_id", offsetof(struct eval_task, id) },
	{ "prompt", offsetof(struct eval_task, prompt) },
	{ "entry_point", offsetof(struct eval_task, entry_point) },
	{ "canonical_solution", offsetof(struct eval_task, canonical) },
	{ "test", offsetof(struct eval_task, test) },
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static char **field(const struct eval_task *t, size_t i)
{
	return (char **)(void *)((char *)(uintptr_t)t + fields[i].offset);
}

static void free_task(struct eval_task *t)
{
	for (size_t i = 0; i < FIELDS; i++)
		free(*field(t, i));
}

static int take_fields(const cJSON *root, struct eval_task *t, struct err *e)
{
	for (size_t i = 0; i < FIELDS; i++) {
		const cJSON *value =
			cJSON_GetObjectItemCaseSensitive(root, fields[i].name);

		if (!cJSON_IsString(value))
			return err_say(e, EINVAL, "no string called \"%s\"",
				       fields[i].name);
		*field(t, i) = strdup(value->valuestring);
		if (!*field(t, i))
			return err_set(e, ENOMEM, "a task");
	}
	return 0;
}

int evalset_add(struct evalset *set, const char *line, size_t length, struct err *e)
{
	struct eval_task task = { 0 };

	if (set->count == EVALSET_MAX_TASKS)
		return err_say(e, E2BIG, "more than %d tasks", EVALSET_MAX_TASKS);
	if (set->count == set->room) {
		size_t room = set->room ? set->room * 2 : 64;
		struct eval_task *tasks = realloc(set->tasks, room * sizeof(*tasks));

		if (!tasks)
			return err_set(e, ENOMEM, "the tasks");
		set->tasks = tasks;
		set->room = room;
	}

	cJSON *root = cJSON_ParseWithLength(line, length);
	int r = cJSON_IsObject(root) ? take_fields(root, &task, e)
				     : err_say(e, EINVAL, "not a JSON object");

	cJSON_Delete(root);
	/* results are kept and found by it */
	for (size_t i = 0; r == 0 && task.id && i < set->count; i++)
		if (strcmp(set->tasks[i].id, task.id) == 0)
			r = err_say(e, EEXIST, "there is a task %.100s already", task.id);
	if (r < 0)
		free_task(&task);
	else
		set->tasks[set->count++] = task;
	return r;
}

static int read_all(const char *path, struct text *all, struct err *e)
{
	cleanup_fd int opened = -1;
	int fd = STDIN_FILENO;
	char bytes[65536];
	ssize_t n;

	if (strcmp(path, "-") != 0) {
		opened = open(path, O_RDONLY | O_CLOEXEC);
		fd = opened;
	}
	if (fd < 0)
		return err_set(e, errno, "%s", path);
	all->max = EVALSET_MAX_BYTES;
	while ((n = io_read_all(fd, bytes, sizeof(bytes))) > 0)
		text_add(all, bytes, (size_t)n);
	if (n < 0)
		return err_set(e, (int)-n, "%s", path);
	if (all->length >= 2 && memcmp(all->bytes, "\x1f\x8b", 2) == 0)
		return err_say(e, EINVAL,
			       "%s is compressed: zcat %s | stepjail-agent eval -", path,
			       path);
	return text_check(all, path, e);
}

int evalset_read(const char *path, struct evalset *set, struct err *e)
{
	cleanup_text struct text all = { 0 };
	int r = read_all(path, &all, e);
	const char *at = text_string(&all);
	const char *end = at + all.length;

	*set = (struct evalset){ 0 };
	for (size_t number = 1; r == 0 && at < end; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t length = (size_t)((newline ? newline : end) - at);
		struct err why;

		if (strspn(at, " \t\r") < length) {
			r = evalset_add(set, at, length, &why);
			if (r < 0)
				(void)err_say(e, -r, "%s:%zu: %s", path, number,
					      why.text);
		}
		at += length + 1;
	}
	if (r == 0 && !set->count)
		r = err_say(e, EINVAL, "%s holds no task", path);
	return r;
}

int evalset_input(const struct eval_task *t, enum eval_body body, const char *secret,
		  struct text *out, struct err *e)
{
	cleanup_text struct text solution = { 0 };
	cJSON *o = cJSON_CreateObject();

	text_puts(&solution, t->prompt);
	/* behind the prompt's own helpers, and in place of its function */
	text_puts(&solution, body == EVAL_CANONICAL ? "" : "    pass\n");
	text_puts(&solution, body == EVAL_BROKEN ? "" : t->canonical);
	(void)cJSON_AddStringToObject(o, "prompt", t->prompt);
	(void)cJSON_AddStringToObject(o, "entry_point", t->entry_point);
	(void)cJSON_AddStringToObject(o, "test", t->test);
	(void)cJSON_AddStringToObject(o, "solution", text_string(&solution));

	char *json = cJSON_PrintUnformatted(o);
	bool whole = json && cJSON_GetArraySize(o) == 4 && !solution.failed;

	cJSON_Delete(o);
	if (whole)
		text_printf(out, "%zu\n%s%s\n", strlen(json), json, secret);
	cJSON_free(json);
	return whole ? text_check(out, "a task", e) : err_set(e, ENOMEM, "a task");
}

void evalset_free(struct evalset *set)
{
	for (size_t i = 0; i < set->count; i++)
		free_task(&set->tasks[i]);
	free(set->tasks);
	*set = (struct evalset){ 0 };
}
