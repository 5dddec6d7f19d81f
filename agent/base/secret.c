/* SPDX-License-Identifier: MIT */
/*
 * secret.c - memory and variables for what must not get out: see secret.h
 */
#include <inttypes.h>
#include <nettle/base16.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "agent/base/secret.h"

const char *const secret_variables[] = { "STEPJAIL_API_KEY", "OPENAI_API_KEY",
					 "ANTHROPIC_API_KEY", NULL };

void secret_forget_variables(void)
{
	for (const char *const *name = secret_variables; *name; name++) {
		char *value = getenv(*name);

		if (value)
			explicit_bzero(value, strlen(value));
		(void)unsetenv(*name);
	}
}

void *secret_new(size_t bytes, struct err *e)
{
	void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED) {
		(void)err_set(e, errno, "memory for a secret");
		return NULL;
	}
	if (madvise(pages, bytes, MADV_DONTDUMP) < 0 ||
	    madvise(pages, bytes, MADV_WIPEONFORK) < 0) {
		(void)err_set(e, errno, "keep the key out of core dumps: madvise");
		(void)munmap(pages, bytes);
		return NULL;
	}
	/* beyond RLIMIT_MEMLOCK it may be swapped, which is told and is no failure */
	(void)mlock(pages, bytes);
	return pages;
}

int secret_nonce(char hex[SECRET_NONCE_HEX], struct err *e)
{
	unsigned char bytes[SECRET_NONCE_HEX / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return err_set(e, errno, "getrandom");
	base16_encode_update(hex, sizeof(bytes), bytes);
	hex[SECRET_NONCE_HEX - 1] = '\0';
	return 0;
}

int secret_look(const void *secret, size_t bytes, struct secret_facts *facts,
		struct err *e)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	uintptr_t first = (uintptr_t)secret, from, to;
	char line[512];
	size_t seen = 0;
	bool here = false;

	*facts = (struct secret_facts){ .locked = true };
	if (!smaps)
		return err_set(e, errno, "/proc/self/smaps");
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2) {
			here = from < first + bytes && to > first;
		} else if (here && strncmp(line, "VmFlags:", 8) == 0) {
			/* two letters each, a space on either side: proc(5) */
			facts->dumped |= !strstr(line, " dd ");
			facts->forked |= !strstr(line, " wf ");
			facts->locked &= strstr(line, " lo ") != NULL;
			seen++;
		}
	}
	(void)fclose(smaps);
	if (!seen)
		return err_say(e, ENOENT, "/proc/self/smaps tells nothing of a secret");
	return 0;
}
