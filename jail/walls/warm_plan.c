/* SPDX-License-Identifier: MIT */
/*
 * warm_plan.c - what a template is told of its clones' plan: see warm_plan.h
 *
 * To tell a template more: add a field, a row of numbers[] or limits[] that says what it
 * may be, and a line to warm_plan_read() and to fill() of template_plan.c. A limit goes
 * into WARM_PLAN_LIMITS, too.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "jail/base/path.h"
#include "jail/walls/warm_plan.h"

#define ABI_MAX 1000 /* far beyond any kernel's */
#define CALL_MAX 1023
#define ARGS_MAX 6

#define NUMBER(field, most)                                                              \
	{                                                                                \
#field, offsetof(struct warm_plan, field), most                          \
	}

static const struct {
	const char *name;
	size_t at;
	uint32_t max;
} numbers[] = {
	NUMBER(landlock_abi, ABI_MAX),
	NUMBER(require, REQUIRE_LANDLOCK),
	NUMBER(allow_missing, PART_CGROUP | PART_AUDIT),
	NUMBER(net, NET_LOOPBACK),
	NUMBER(proc, PROC_NONE),
	NUMBER(locked, 1),
	NUMBER(deterministic, ANSWER_YES),
	NUMBER(aslr, ASLR_NO),
	NUMBER(own_clock, 1),
	NUMBER(bind_count, PLAN_BINDS_MAX),
	NUMBER(call_count, PLAN_CALLS_MAX),
};

/* what the stages set; to a tmpfs a size of 0 is no limit */
static const struct {
	const char *name;
	enum limit limit;
	uint64_t min;
	bool may_be_unlimited;
} limits[] = {
	{ "tmp-size", LIMIT_TMP_BYTES, 1, false },
	{ "work-size", LIMIT_WORK_BYTES, 1, false },
	{ "inodes", LIMIT_INODES, 1, false },
	{ "memory", LIMIT_MEMORY_BYTES, 1, false },
	{ "pids", LIMIT_PIDS, 1, false },
	{ "files", LIMIT_FILES, 1, false },
	{ "cpu-time", LIMIT_CPU_MS, 1, true },
	{ "file-size", LIMIT_FILE_BYTES, 0, true },
	{ "file-locks", LIMIT_FILE_LOCKS, 0, false },
};
_Static_assert(COUNT(((const enum limit[]){ WARM_PLAN_LIMITS })) == COUNT(limits),
	       "each limit that is told is checked");

static int refuse_row(const char *what, size_t row, struct err *e)
{
	return err_say(e, EBADMSG, "template: its plan: %s[%zu] cannot be", what, row);
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static int check_calls(const struct warm_plan *w, struct err *e)
{
	for (size_t i = 0; i < w->call_count; i++) {
		if (w->call[i].nr < 0 || w->call[i].nr > CALL_MAX)
			return refuse_row("call.nr", i, e);
		if (w->call[i].arg < -1 || w->call[i].arg >= ARGS_MAX)
			return refuse_row("call.arg", i, e);
	}
	return 0;
}

static int check_binds(const struct warm_plan *w, struct err *e)
{
	uint32_t mapped = 0;

	for (size_t i = 0; i < w->bind_count; i++) {
		const char *name = w->bind[i].name, *dst = w->bind[i].dst;

		if (w->bind[i].writable > 1)
			return refuse_row("bind.writable", i, e);
		mapped += w->bind[i].mapped;
		if (w->bind[i].mapped > 1 || mapped > MOUNT_MAPPED_MAX)
			return refuse_row("bind.mapped", i, e);
		if (!is_text(name, sizeof(w->bind[i].name)) || strchr(name, '/') ||
		    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			return refuse_row("bind.name", i, e);
		if (!is_text(dst, sizeof(w->bind[i].dst)) || !path_is_clean(dst) ||
		    dst[1] == '\0')
			return refuse_row("bind.dst", i, e);
	}
	return 0;
}

int warm_plan_check(const struct warm_plan *w, struct err *e)
{
	if (w->version != WARM_PLAN_VERSION || w->bytes != sizeof(*w))
		return err_say(
			e, EBADMSG,
			"template: its plan is of version %u and %u bytes, and this interpreter's of version %d and %zu: build the root tree and stepjail from the same sources",
			w->version, w->bytes, WARM_PLAN_VERSION, sizeof(*w));
	for (size_t i = 0; i < COUNT(numbers); i++) {
		uint32_t n;

		memcpy(&n, (const char *)w + numbers[i].at, sizeof(n));
		if (n > numbers[i].max)
			return err_say(e, EBADMSG, "template: its plan: %s cannot be %u",
				       numbers[i].name, n);
	}
	for (size_t i = 0; i < COUNT(limits); i++) {
		uint64_t n = w->limit[limits[i].limit];

		if (n == NO_LIMIT ? !limits[i].may_be_unlimited
				  : n < limits[i].min || n > INT64_MAX)
			return err_say(e, EBADMSG, "template: its plan: %s cannot be %jd",
				       limits[i].name, (intmax_t)n);
	}
	if (!is_text(w->hostname, sizeof(w->hostname)))
		return err_say(e, EBADMSG, "template: its plan: hostname has no end");
	if (!is_text(w->chdir, sizeof(w->chdir)) || !path_is_clean(w->chdir))
		return err_say(e, EBADMSG, "template: its plan: chdir is no clean path");

	int r = check_calls(w, e);

	return r < 0 ? r : check_binds(w, e);
}

const struct warm_plan *warm_plan_map(int memory, struct err *e)
{
	struct stat st = { 0 };
	const struct warm_plan *w = MAP_FAILED;

	if (fstat(memory, &st) == 0 && st.st_size == sizeof(*w))
		w = mmap(NULL, sizeof(*w), PROT_READ, MAP_PRIVATE, memory, 0);
	if (w == MAP_FAILED) {
		(void)err_say(
			e, EBADMSG,
			"template: its plan has %jd bytes, and this interpreter's %zu: build the root tree and stepjail from the same sources",
			(intmax_t)st.st_size, sizeof(*w));
		return NULL;
	}
	if (warm_plan_check(w, e) == 0)
		return w;
	(void)munmap((void *)(uintptr_t)w, sizeof(*w));
	return NULL;
}

void warm_plan_read(const struct warm_plan *w, struct plan *p, struct sources *s)
{
	*p = (struct plan){
		.require = w->require,
		.allow_missing = w->allow_missing,
		.net = w->net,
		.proc = w->proc,
		.lock_code = w->locked ? LOCK_YES : LOCK_NO,
		.deterministic = w->deterministic,
		.aslr = w->aslr,
		/* when they start is the interpreter's part, who has it in its
		 * environment */
		.clock_start = w->own_clock ? "" : NULL,
		.hostname = w->hostname,
		.chdir = w->chdir,
		.bind_count = w->bind_count,
		.call_count = w->call_count,
	};
	memcpy(p->limit, w->limit, sizeof(p->limit));
	for (size_t i = 0; i < w->call_count; i++)
		p->call[i] = (struct plan_call){ .nr = w->call[i].nr,
						 .arg = w->call[i].arg,
						 .value = w->call[i].value };
	s->root = (struct source){ .dev = (dev_t)w->root_dev,
				   .ino = (ino_t)w->root_ino,
				   .tree = -1 };
	for (size_t i = 0; i < w->bind_count; i++) {
		const char *name = w->bind[i].name;

		p->bind[i] = (struct plan_bind){ .dst = w->bind[i].dst,
						 .writable = w->bind[i].writable };
		s->bind[i] = (struct source){ .name = *name ? name : NULL,
					      .dev = (dev_t)w->bind[i].dev,
					      .ino = (ino_t)w->bind[i].ino,
					      .tree = -1,
					      .mapped = w->bind[i].mapped };
	}
}
