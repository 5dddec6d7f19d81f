/* SPDX-License-Identifier: MIT */
/*
 * template.c - an interpreter that warm jails are cloned from: see jail/walls/warm.h
 *
 * What a clone must have done before and after is Python's own: PyOS_BeforeFork() once,
 * for all of them, because the template runs no Python again. It holds the import lock
 * from there on, which PyOS_AfterFork_Child() makes anew in each clone.
 * Libraries go by the process id: OpenSSL draws fresh randomness where it is another than
 * before. A clone's process is the second of its jail, so a template must not be.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/walls/warm.h"
#include "rootfs/interpreter/fork.h"
#include "rootfs/interpreter/python.h"
#include "rootfs/interpreter/state.h"

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

/*
 * Make two mappings of each module's file, where the loader made five: fork(2) copies
 * every mapping, and a template of the tree data has those of 290 files. A file's
 * constants become executable with its code, and what the loader wrote to stays writable:
 * nothing is both. A step could do as much. The program's own mappings stay as they are,
 * and so does what fails.
 */
static void join_maps(void)
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

int template_begin(void)
{
	pid_t pid = fork();
	int status = 0;

	if (pid <= 0)
		return pid < 0 ? -errno : 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		(void)raise(WTERMSIG(status));
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

int template_wait(int channel)
{
	struct err e;
	int r;

	join_maps();
	/* here for all clones; state 0 says why it cannot be */
	(void)fork_prepare(&e);
	PyOS_BeforeFork();
	r = warm_serve(channel, &e);
	if (r != 1)
		_exit(r < 0);
	PyOS_AfterFork_Child();
	return STDIN_FILENO;
}
