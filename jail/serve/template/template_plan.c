/* SPDX-License-Identifier: MIT */
/*
 * template_plan.c - tell a template its clones' plan: see warm_plan.h
 */
#include <sys/mman.h>

#include "init/io.h"
#include "jail/base/fd_passing.h"
#include "jail/base/sys.h"
#include "jail/serve/template/template.h"
#include "jail/walls/warm_plan.h"

static void fill(struct warm_plan *w, const struct plan *p, const struct sources *s)
{
	static const enum limit told[] = { WARM_PLAN_LIMITS };

	w->version = WARM_PLAN_VERSION;
	w->bytes = sizeof(*w);
	w->require = p->require;
	w->allow_missing = p->allow_missing;
	w->net = p->net;
	w->proc = p->proc;
	w->locked = p->lock_code == LOCK_YES;
	w->deterministic = p->deterministic;
	w->aslr = p->aslr;
	w->own_clock = p->clock_start != NULL;
	w->bind_count = (uint32_t)p->bind_count;
	w->call_count = (uint32_t)p->call_count;
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		w->limit[i] = NO_LIMIT;
	for (size_t i = 0; i < COUNT(told); i++)
		w->limit[told[i]] = p->limit[told[i]];
	w->root_dev = s->root.dev;
	w->root_ino = s->root.ino;
	for (size_t i = 0; i < p->call_count; i++) {
		w->call[i].nr = p->call[i].nr;
		w->call[i].arg = p->call[i].arg;
		w->call[i].value = p->call[i].value;
	}
	(void)snprintf(w->hostname, sizeof(w->hostname), "%s", p->hostname);
	(void)snprintf(w->chdir, sizeof(w->chdir), "%s", p->chdir);
	for (size_t i = 0; i < p->bind_count; i++) {
		const struct source *from = &s->bind[i];

		w->bind[i].dev = from->dev;
		w->bind[i].ino = from->ino;
		w->bind[i].writable = p->bind[i].writable;
		w->bind[i].mapped = from->mapped;
		(void)snprintf(w->bind[i].name, sizeof(w->bind[i].name), "%s",
			       from->name ? from->name : "");
		(void)snprintf(w->bind[i].dst, sizeof(w->bind[i].dst), "%s",
			       p->bind[i].dst);
	}
}

int template_plan_send(int channel, const struct parts *parts, struct err *e)
{
	cleanup_fd int memory = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct warm_plan *w = MAP_FAILED;
	int r;

	if (memory >= 0 && ftruncate(memory, sizeof(*w)) == 0)
		w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
	if (w == MAP_FAILED)
		return err_set(e, errno, "template: make room for its plan");
	fill(w, parts->plan, &parts->sources);
	w->landlock_abi = (uint32_t)parts->landlock_abi;
	(void)munmap(w, sizeof(*w));
	r = sys_seal(memory);
	if (r == 0)
		r = fd_passing_send(channel, "", 1, &memory, 1);
	return r < 0 ? fd_passing_failed(-r, "template: send its plan", e) : 0;
}
