/* SPDX-License-Identifier: MIT */
/*
 * scene_limit.c - scenes of bombs: how much is a little more than the plan allows
 */
#include "tests/escape/scene.h"

#include <sys/resource.h>

#define MIB (1LL << 20)
#define GOAL_MAX (3LL << 30) /* a bomb is bounded, so that it is one outside, too */

const struct scene scene_nothing = { .set_up = NULL };

static void limits(struct run *r)
{
	const struct limits *l = r->limits;
	long long goal = l->memory + l->memory / 4, children = l->pids - 2;

	if (goal > GOAL_MAX)
		r->missing = "a memory limit that can be reached within bounds (2G)";
	if (children < 1)
		r->missing = "more processes than one (--pids)";
	if (children > 8)
		children = 8;
	run_word(r, "%lld", goal / MIB);
	run_word(r, "%lld", children);
	run_word(r, "%lld", l->file < 0 ? 0 : l->file);
}

static void files(struct run *r)
{
	limits(r);
	r->missing = NULL;
	/* the second word is the number of open files there */
	r->word_count = 1;
	run_word(r, "%lld", r->limits->files + 8);
}

/* memory has three words; files one of them, in the second place */
static void memory_or_files(struct run *r)
{
	if (strcmp(r->probe->name, "fd-bomb") == 0)
		files(r);
	else
		limits(r);
}
const struct scene scene_limits = { .set_up = memory_or_files };

static void pids(struct run *r)
{
	run_word(r, "%lld", r->limits->pids + 2);
}
const struct scene scene_pids = { .set_up = pids };

/* who is left holds the pipe that its program printed to */
static int strays(struct run *r)
{
	return r->held_open;
}
const struct scene scene_strays = { .effect = strays };

static void places(struct run *r)
{
	static const char *const all[] = { "/tmp", "/work", "/dev/shm" };

	for (size_t i = 0; r->inside && i < 3; i++)
		run_word(r, "%s", all[i]);
	if (!r->inside)
		run_word(r, "%s", r->folder);
}

static void inodes(struct run *r)
{
	if (r->limits->inodes > 200000)
		r->missing = "a limit of inodes that can be reached within bounds";
	run_word(r, "%lld", r->limits->inodes + 16);
	places(r);
}
const struct scene scene_inodes = { .set_up = inodes };

static void file_locks(struct run *r)
{
	if (r->limits->file_locks > 4000)
		r->missing = "a limit of file locks that can be reached within bounds";
	run_word(r, "%lld", r->limits->file_locks + 16);
}
const struct scene scene_file_locks = { .set_up = file_locks };

static void room(struct run *r)
{
	const struct limits *l = r->limits;
	long long most = l->tmp > l->work ? l->tmp : l->work;

	if (most > GOAL_MAX)
		r->missing = "sizes of /tmp and /work that can be reached within bounds";
	run_word(r, "%lld", most + 4 * MIB);
	places(r);
}
const struct scene scene_room = { .set_up = room };

static void output_file(struct run *r)
{
	if (r->limits->file < 0 || r->limits->file > GOAL_MAX)
		r->missing = "a --file-size that can be reached within bounds";
	run_word(r, "%lld", r->limits->file);
	r->output = r->fd[0] =
		open(run_path(r, "output"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

static int grown(struct run *r)
{
	struct stat st;

	return fstat(r->fd[0], &st) < 0 || st.st_size > r->limits->file;
}
const struct scene scene_output_file = { .set_up = output_file, .effect = grown };

static void output(struct run *r)
{
	if (r->limits->output < 0 || r->limits->output > GOAL_MAX)
		r->missing = "--capture: this configuration passes all output through";
	run_word(r, "%lld", r->limits->output + MIB);
}

static int printed(struct run *r)
{
	return r->bytes > (uint64_t)r->limits->output + 4096;
}
const struct scene scene_output = { .set_up = output, .effect = printed };

static void core(struct run *r)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) < 0 || limit.rlim_max == 0)
		r->missing = "a hard limit of core dumps above 0 on this host";
}

/* the caller wants core dumps: of what it starts itself */
static void want_core(struct run *r)
{
	struct rlimit limit;

	(void)r;
	(void)getrlimit(RLIMIT_CORE, &limit);
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_CORE, &limit);
}
const struct scene scene_core = { .set_up = core, .child = want_core };

static void locked(struct run *r)
{
	if (r->inside && !r->limits->locked)
		r->missing = "--lock-code: this configuration lets programs start others";
	run_word(r, "%s", run_where(r, PROBE_PATH, r->self));
}
const struct scene scene_locked = { .set_up = locked };

static long count_dentries(void)
{
	char text[128];

	return probe_read("/proc/sys/fs/dentry-state", text, sizeof(text)) > 0
		       ? strtol(text, NULL, 10)
		       : -1;
}

#define DENTRY_BYTES 192

static void dentries(struct run *r)
{
	long long memory = r->limits->memory;

	r->before = r->most = count_dentries();
	if (r->before < 0)
		r->missing = "/proc/sys/fs/dentry-state";
	if (memory > 128 * MIB)
		r->missing =
			"a memory limit of 128M or less, to be reached within bounds";
	run_word(r, "%lld", memory / DENTRY_BYTES * 3 / 2);
}

static void sample_dentries(struct run *r)
{
	long now = count_dentries();

	if (now > r->most)
		r->most = now;
}

static int grew(struct run *r)
{
	return (long long)(r->most - r->before) * DENTRY_BYTES > r->limits->memory;
}
const struct scene scene_dentries = { .set_up = dentries,
				      .sample = sample_dentries,
				      .effect = grew };

static void cpu(struct run *r)
{
	long long limit = r->limits->cpu_ms;

	if (limit < 0 || limit > 5000)
		r->missing = "a --cpu-time of 5s or less, to be reached within bounds";
	run_word(r, "%lld", limit + 2500);
}
const struct scene scene_cpu = { .set_up = cpu };

static void wall(struct run *r)
{
	long long limit = r->limits->wall_ms;

	if (limit < 0 || limit > 5000)
		r->missing = "a --wall-time of 5s or less, to be reached within bounds";
	run_word(r, "%lld", limit + 1500);
}
const struct scene scene_wall = { .set_up = wall };
