/* SPDX-License-Identifier: MIT */
/*
 * walk.c - a visit to every process of a jail: see walk.h
 */
#include <stdlib.h>

#include "jail/serve/session/walk.h"

/* the children of a process, and, in the same place of another list, whose they are */
static int find_with(struct walk *k, pid_t pid)
{
	int r = found_add_children(&k->found, pid);

	while (r == 0 && k->above.count < k->found.count)
		r = found_add(&k->above, pid);
	return r;
}

int walk_each(struct walk *k, pid_t init, unsigned int most,
	      bool (*visit)(void *owner, pid_t pid, pid_t above), void *owner,
	      struct err *e)
{
	int r = 0;

	if (k->at == 0) {
		k->found.count = k->above.count = 0;
		r = found_add(&k->found, init);
		if (r == 0)
			r = find_with(k, init);
		k->at = 1;
	}
	for (; r == 0 && most > 0 && k->at < k->found.count; most--) {
		pid_t pid = k->found.pid[k->at];

		if (visit(owner, pid, k->above.pid[k->at++]))
			r = find_with(k, pid);
	}
	return r < 0 ? err_set(e, -r, "watch: find the jail's processes")
		     : k->at < k->found.count;
}

void walk_end(struct walk *k)
{
	free(k->found.pid);
	free(k->above.pid);
	*k = (struct walk){ 0 };
}
