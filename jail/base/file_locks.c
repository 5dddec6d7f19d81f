/* SPDX-License-Identifier: MIT */
/*
 * file_locks.c - how many file locks the processes of a PID namespace hold: see
 * file_locks.h
 *
 * A line is "1: POSIX  ADVISORY  WRITE PID MAJOR:MINOR:INODE FROM TO". Locks of the host's
 * NFS and those without an owner (F_OFD_SETLK) are in the list of every namespace, and
 * their PID is negative: nothing else is behind a blank and a minus.
 */
#include <errno.h>
#include <unistd.h>

#include "jail/base/file_locks.h"

/* A file of the kernel's is a page at a time, and where the host's other locks come and go
 * between two reads, a line may be read twice: so what is too many is looked at again */
#define LOOKS 3

/* Return: 1 as soon as there are more than @most, 0 or -errno */
static int look(int list, int64_t most)
{
	char text[4096], last[2] = "";
	int64_t count = 0;
	ssize_t n = 0;

	if (lseek(list, 0, SEEK_SET) < 0)
		return -errno;
	/* a line that a read has cut is counted all the same */
	while (count <= most && (n = read(list, text, sizeof(text))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			count += text[i] == '\n';
			/* its line's end is still to come */
			count -= last[0] == ' ' && last[1] == '-' && text[i] != '>';
			last[0] = last[1];
			last[1] = text[i];
		}
	return n < 0 ? -errno : count > most;
}

int file_locks_exceed(int list, uint64_t limit)
{
	int r = list >= 0;

	for (int i = 0; i < LOOKS && r == 1; i++)
		r = look(list, limit < INT64_MAX ? (int64_t)limit : INT64_MAX);
	return r;
}
