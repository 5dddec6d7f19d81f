/* SPDX-License-Identifier: MIT */
/*
 * take.c - a command whose plan says --wall vm becomes stepjail-vm: see take.h
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "init/io.h"
#include "jail/base/command.h"
#include "jail/base/sys.h"
#include "jail/launch/shipped.h"
#include "jail/plan/option.h"
#include "jail/vm/take.h"

#define WORDS_BEFORE 4

/* a file without a name, which stepjail-vm inherits */
static int write_plan(const struct plan *p, struct err *e)
{
	int fd = memfd_create("plan", 0), copy;
	FILE *out;

	if (fd < 0 || (copy = dup(fd)) < 0)
		return err_set(e, errno, "--wall vm: keep the plan");
	out = fdopen(copy, "w");
	if (!out)
		return err_set(e, errno, "--wall vm: keep the plan");
	option_print_policy(p, out);
	if (fclose(out) != 0 || lseek(fd, 0, SEEK_SET) < 0)
		return err_set(e, errno, "--wall vm: keep the plan");
	return fd;
}

/* @words: behind stepjail-vm; the first of the array is free for its path */
static int become(const char **words, struct err *e)
{
	char path[PATH_MAX];
	int r = shipped_program("stepjail-vm", path, sizeof(path), e);

	if (r < 0)
		return err_within(e, "--wall vm: ");
	(void)close(r);
	words[0] = path;
	(void)execv(path, (char *const *)(uintptr_t)words);
	return err_set(e, errno, "--wall vm: start %s", path);
}

static int become_guest(const char *command, const struct plan *p, struct err *e)
{
	static char *const none[] = { NULL };
	char *const *program = p->argv ? p->argv : none;
	const char **words;
	char number[16];
	size_t count = 0;
	int fd = write_plan(p, e), r;

	if (fd < 0)
		return fd;
	while (program[count])
		count++;
	words = calloc(count + WORDS_BEFORE, sizeof(*words));
	if (!words)
		return err_set(e, ENOMEM, "--wall vm");
	(void)snprintf(number, sizeof(number), "%d", fd);
	words[1] = command;
	words[2] = number;
	memcpy(words + WORDS_BEFORE - 1, program, count * sizeof(*words));
	r = become(words, e);
	free(words);
	return r;
}

int command_vm(char *const *argv, struct err *e)
{
	const char *words[] = { NULL, argv[0] ? argv[0] : "--help",
				argv[0] ? argv[1] : NULL, NULL };

	return become(words, e);
}

/* check has one word of its own */
static bool drop_json(char *const *argv, char **words)
{
	bool json = false;

	for (; *argv; argv++) {
		if (strcmp(*argv, "--json") == 0)
			json = true;
		else
			*words++ = *argv;
	}
	*words = NULL;
	return json;
}

int vm_take(const char *command, char *const *argv, struct err *e)
{
	static char json[] = "--json", *only_json[] = { json, NULL };
	static struct plan plan;
	bool run = strcmp(command, "run") == 0, check = strcmp(command, "check") == 0;
	size_t count = 1;
	int r;

	if (!run && !check && strcmp(command, "serve") != 0)
		return 0;
	while (argv[count - 1])
		count++;

	/* the plan points into it */
	char **words = calloc(count, sizeof(*words));

	if (!words)
		return err_set(e, ENOMEM, "options");
	memcpy(words, argv, count * sizeof(*words));
	if (check)
		(void)drop_json(argv, words);
	r = option_parse(&plan, words, e);
	/* the command itself tells of help, and of a program too much or too few */
	if (r != 0 || plan.wall != WALL_VM || run != (plan.argv != NULL) ||
	    (run && plan.serve_option))
		return r < 0 ? r : 0;
	if (run)
		r = plan_take_script(&plan, shipped_root, e);
	if (check && drop_json(argv, words))
		plan.argv = only_json;
	return r < 0 ? r : become_guest(command, &plan, e);
}
