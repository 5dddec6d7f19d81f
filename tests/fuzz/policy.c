/* SPDX-License-Identifier: MIT */
/*
 * policy.c - any bytes as a policy file
 */
#include "tests/fuzz/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct plan plan;
	struct err e;
	int fd = fuzz_file(bytes, size);
	int r = policy_parse(&plan, fd, &e);

	(void)close(fd);
	if (r == 0)
		policy_round_trip(&plan);
	policy_forget(&plan);
	return 0;
}
