/* SPDX-License-Identifier: MIT */
/*
 * take.c - a command whose plan says --wall vm becomes stepjail-vm: see take.h
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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
	/* it was there: what its first line names is not */
	if (errno == ENOENT)
		return err_say(
			e, ENOENT,
			"--wall vm: %s needs /usr/bin/python3, which is missing: as root: apt-get install python3",
			path);
	return err_set(e, errno, "--wall vm: start %s", path);
}

int vm_take(const char *command, const struct plan *p, char *const *words, struct err *e)
{
	static char *const none[] = { NULL };
	const char **all;
	char number[16];
	size_t count = 0;
	int fd, r;

	if (p->wall != WALL_VM)
		return 0;
	fd = write_plan(p, e);
	if (fd < 0)
		return fd;
	if (!words)
		words = none;
	while (words[count])
		count++;
	all = calloc(count + WORDS_BEFORE, sizeof(*all));
	if (!all)
		return err_set(e, ENOMEM, "--wall vm");
	(void)snprintf(number, sizeof(number), "%d", fd);
	all[1] = command;
	all[2] = number;
	memcpy(all + WORDS_BEFORE - 1, words, count * sizeof(*words));
	r = become(all, e);
	free(all);
	return r;
}

int command_vm(char *const *argv, struct err *e)
{
	const char *words[] = { NULL, argv[0] ? argv[0] : "--help",
				argv[0] ? argv[1] : NULL, NULL };

	return become(words, e);
}
