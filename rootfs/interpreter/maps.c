/* SPDX-License-Identifier: MIT */
/*
 * maps.c - modules of a template in fewer mappings: see maps.h
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "rootfs/interpreter/maps.h"

#define LINE_BYTES 8192 /* of /proc/self/maps: a path has at most 4,096 */

struct mapping {
	uintptr_t start, end;
	uint64_t offset;
	char rights[5];
	unsigned long inode;
};

/* behind @before in the file as in memory */
static bool follows(const struct mapping *m, const struct mapping *before)
{
	return m->inode == before->inode && m->start == before->end &&
	       m->offset == before->offset + (before->end - before->start);
}

static bool has(const struct mapping *m, const char *rights)
{
	return strcmp(m->rights, rights) == 0;
}

static void join(const struct mapping *first, const struct mapping *last, int rights)
{
	(void)mprotect((void *)first->start, last->end - first->start, rights);
}

void maps_join(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	struct mapping m, a = { 0 }, b = { 0 }; /* each behind the other */
	unsigned long program = 0;
	char line[LINE_BYTES];

	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %" SCNx64 " %*s %lu", &m.start,
		      &m.end, m.rights, &m.offset, &m.inode) == 5) {
		if (!program)
			program = m.inode;
		/* constants, code, constants; what only the loader wrote to, and data */
		if (m.inode != program && m.inode && follows(&m, &b)) {
			if (has(&a, "r--p") && has(&b, "r-xp") && has(&m, "r--p") &&
			    follows(&b, &a))
				join(&a, &m, PROT_READ | PROT_EXEC);
			else if (has(&b, "r--p") && has(&m, "rw-p"))
				join(&b, &m, PROT_READ | PROT_WRITE);
		}
		a = b;
		b = m;
	}
	if (file)
		(void)fclose(file);
}
