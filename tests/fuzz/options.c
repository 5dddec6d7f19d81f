/* SPDX-License-Identifier: MIT */
/*
 * options.c - any bytes as a command line: words that end in NULs
 *
 * No --policy: policy.c reads those, and a name made up here could be any file's.
 */
#include "tests/fuzz/policy.h"

#define WORDS_MAX 600

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char *argv[WORDS_MAX + 1];
	static struct plan plan;
	char *words = malloc(size + 1);
	size_t count = 0;
	struct err e;
	bool policy = false;
	int r;

	HOLDS(words);
	(void)memcpy(words, bytes, size);
	words[size] = '\0';
	for (size_t at = 0; at < size && count < WORDS_MAX;
	     at += strlen(words + at) + 1) {
		argv[count++] = words + at;
		policy = policy || strncmp(words + at, "--policy", 8) == 0;
	}
	argv[count] = NULL;
	r = policy ? 1 : option_parse(&plan, argv, &e);
	if (r < 0)
		fuzz_error(&e, r);
	if (r == 0) {
		HOLDS(!plan.argv || plan.argv[0]);
		policy_round_trip(&plan);
	}
	if (!policy)
		policy_forget(&plan);
	free(words);
	return 0;
}
