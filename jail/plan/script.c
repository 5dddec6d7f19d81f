/* SPDX-License-Identifier: MIT */
/*
 * script.c - a program that the caller names as a file of the host: see plan.h
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "init/io.h"
#include "jail/base/path.h"
#include "jail/base/sys.h"
#include "jail/plan/plan.h"

#define WORK "/work"

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Does the jail have a file of its own there, in its tree or by a bind? Of a relative
 * path behind python3: could it? As a program, such a path names nothing in a jail */
static bool is_inside(const struct plan *p, plan_find_root *find, size_t at)
{
	const char *path = p->argv[at];
	char folder[PATH_MAX];
	struct err e; /* where there is no such tree, the launch says so */

	for (size_t i = 0; i < p->bind_count; i++)
		if (path[0] == '/' ? path_is_below(path, p->bind[i].dst)
				   : at && strcmp(p->bind[i].dst, WORK) == 0)
			return true;
	if (path[0] != '/')
		return at && strcmp(p->chdir, WORK) != 0;
	if (find(p->rootfs, folder, sizeof(folder), &e) < 0)
		return false;

	cleanup_fd int tree = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup_fd int fd = sys_openat2(tree, path, O_PATH, RESOLVE_IN_ROOT);

	return fd >= 0;
}

static bool is_script(const char *path)
{
	size_t n = strlen(path);

	/* a colon would end the bind's source */
	return n > 3 && strcmp(path + n - 3, ".py") == 0 &&
	       !strchr(basename(path), ':') && is_file(path);
}

int plan_take_script(struct plan *p, plan_find_root *find, struct err *e)
{
	static char python[] = "/bin/python3";
	size_t at = strcmp(basename(p->argv[0]), "python3") == 0;
	const char *given = p->argv[at];
	char path[PATH_MAX], *spec, **words;
	size_t count = 0;

	if (!given || !is_script(given) || is_inside(p, find, at))
		return 0;
	if (!realpath(given, path))
		return err_set(e, errno, "%.200s", given);
	while (p->argv[count])
		count++;
	/* for the rest of the process, as the plan is */
	words = calloc(count + 2, sizeof(*words));
	if (!words || asprintf(&spec, "%s:" WORK "/%s", path, basename(given)) < 0) {
		free(words);
		return err_set(e, ENOMEM, "%.200s", given);
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
