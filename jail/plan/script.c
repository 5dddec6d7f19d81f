/* SPDX-License-Identifier: MIT */
/*
 * script.c - a program that the caller names as a file of the host: see plan.h
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/plan/plan.h"

#define WORK "/work"

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool is_script(const char *path)
{
	size_t n = strlen(path);

	/* a colon would end the bind's source */
	return path[0] != '/' && n > 3 && strcmp(path + n - 3, ".py") == 0 &&
	       !strchr(basename(path), ':') && is_file(path);
}

/* Could the jail have a file of its own there? */
static bool is_shown(const struct plan *p)
{
	for (size_t i = 0; i < p->bind_count; i++)
		if (strcmp(p->bind[i].dst, WORK) == 0)
			return true;
	return strcmp(p->chdir, WORK) != 0;
}

int plan_take_script(struct plan *p, struct err *e)
{
	static char python[] = "/bin/python3";
	size_t at = strcmp(basename(p->argv[0]), "python3") == 0 && !is_shown(p);
	char path[PATH_MAX], *spec, **words;
	size_t count = 0;

	if (!p->argv[at] || !is_script(p->argv[at]))
		return 0;
	if (!realpath(p->argv[at], path))
		return err_set(e, errno, "%.200s", p->argv[at]);
	while (p->argv[count])
		count++;
	/* for the rest of the process, as the plan is */
	words = calloc(count + 2, sizeof(*words));
	if (!words ||
	    asprintf(&spec, "%s:" WORK "/%s", path, basename(p->argv[at])) < 0) {
		free(words);
		return err_set(e, ENOMEM, "%.200s", p->argv[at]);
	}
	words[0] = at ? p->argv[0] : python;
	words[1] = strrchr(spec, ':') + 1;
	memcpy(words + 2, p->argv + at + 1, (count - at - 1) * sizeof(*words));
	p->argv = words;
	return plan_add_bind(p, spec, false, e);
}

bool plan_is_on_host(const char *program)
{
	const char *path = strchr(program, '/') ? NULL : getenv("PATH");
	char file[PATH_MAX];

	if (is_file(program))
		return true;
	for (size_t n; path && *path; path += n + (path[n] == ':')) {
		n = strcspn(path, ":");
		(void)snprintf(file, sizeof(file), "%.*s/%s", (int)n, path, program);
		if (n && is_file(file))
			return true;
	}
	return false;
}
