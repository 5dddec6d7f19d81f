/* SPDX-License-Identifier: MIT */
/*
 * policy.h - what is true of every plan that parses, for policy.c and options.c
 */
#pragma once

#include <stdint.h>

#include "jail/plan/option.h"
#include "tests/fuzz/fuzz.h"

/* sources of binds are copies that live as long as the process; here there are many */
static UNUSED void policy_forget(struct plan *p)
{
	for (size_t i = 0; i < p->bind_count; i++)
		free((void *)(uintptr_t)p->bind[i].src);
	p->bind_count = 0;
}

static UNUSED int policy_parse(struct plan *p, int fd, struct err *e)
{
	char path[40];
	char *words[] = { (char *)(uintptr_t) "--policy", path, NULL };
	int r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = option_parse(p, words, e);
	if (r < 0)
		fuzz_error(e, r);
	return r;
}

/* printed, it parses again; and what is printed then is the same */
static UNUSED void policy_round_trip(struct plan *p)
{
	char *first = NULL, *second = NULL;
	size_t first_size, second_size;
	FILE *out = open_memstream(&first, &first_size);
	struct err e;
	int fd;

	HOLDS(out);
	option_print_policy(p, out);
	HOLDS(fclose(out) == 0);
	policy_forget(p);

	fd = fuzz_file(first, first_size);
	if (first_size < 65536)
		HOLDS(policy_parse(p, fd, &e) == 0);
	(void)close(fd);
	if (first_size < 65536) {
		out = open_memstream(&second, &second_size);
		HOLDS(out);
		option_print_policy(p, out);
		HOLDS(fclose(out) == 0);
		HOLDS(strcmp(first, second) == 0);
	}
	free(first);
	free(second);
}
