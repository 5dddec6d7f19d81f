/* SPDX-License-Identifier: MIT */
/*
 * plan.c - the plan of a run: see plan.h
 */
#include <stdlib.h>
#include <string.h>

#include "jail/base/path.h"
#include "jail/plan/plan.h"

/* The environment is these rows and those of --env; no variable of the caller is passed
 * on. */
static const char *const default_env[] = {
	"PATH=/bin:/usr/bin",
	"HOME=/work",
	"LANG=C.UTF-8",
};

/* The jail makes these places itself: no bind may cover them or lie below them. */
static const char *const reserved[] = { "/proc", "/dev" };

void plan_init(struct plan *p)
{
	*p = (struct plan){
		.rootfs = "core",
		.chdir = "/work",
		.hostname = "stepjail",
	};
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		p->limit[i] = NO_LIMIT;
	for (size_t i = 0; i < COUNT(default_env); i++)
		p->env[p->env_count++] = default_env[i];
}

static int check_destination(const char *dst, struct err *e)
{
	if (!path_is_clean(dst))
		return err_say(
			e, EINVAL,
			"destination '%s' must be an absolute path without '.', '..' or '//'",
			dst);
	if (dst[1] == '\0')
		return err_say(e, EINVAL,
			       "'/' is the root tree itself: use --rootfs DIR");
	for (size_t i = 0; i < COUNT(reserved); i++)
		if (path_is_below(dst, reserved[i]))
			return err_say(
				e, EINVAL,
				"%s belongs to the jail: choose a destination outside of it",
				reserved[i]);
	return 0;
}

int plan_add_bind(struct plan *p, const char *spec, bool writable, struct err *e)
{
	/* the last colon: a host path may hold one, a destination need not */
	const char *colon = strrchr(spec, ':');

	if (!colon || colon == spec || colon[1] == '\0')
		return err_say(
			e, EINVAL,
			"'%s' has no place in the jail: write SRC:DST, as in %s:/work/%s",
			spec, spec, basename(spec));

	int r = check_destination(colon + 1, e);
	size_t i = 0;

	if (r < 0)
		return r;
	while (i < p->bind_count && strcmp(p->bind[i].dst, colon + 1) != 0)
		i++;
	if (i == PLAN_BINDS_MAX)
		return err_say(e, E2BIG, "more than %d binds", PLAN_BINDS_MAX);

	char *src = strndup(spec, (size_t)(colon - spec));

	if (!src)
		return err_set(e, ENOMEM, "'%s'", spec);
	if (i < p->bind_count)
		free((char *)(uintptr_t)p->bind[i].src);
	p->bind[i] = (struct plan_bind){ src, colon + 1, writable };
	p->bind_count += i == p->bind_count;
	return 0;
}

int plan_add_env(struct plan *p, const char *spec, struct err *e)
{
	size_t key = strcspn(spec, "=");

	if (key == 0 || spec[key] != '=')
		return err_say(e, EINVAL, "'%s' has no value: write KEY=VALUE", spec);
	for (size_t i = 0; i < p->env_count; i++) {
		if (strncmp(p->env[i], spec, key + 1) != 0)
			continue;
		p->env[i] = spec;
		return 0;
	}
	if (p->env_count == PLAN_ENV_MAX)
		return err_say(e, E2BIG, "more than %d variables", PLAN_ENV_MAX);
	p->env[p->env_count++] = spec;
	return 0;
}

int plan_complete(struct plan *p, struct err *e)
{
	uint64_t wall = p->limit[LIMIT_WALL_MS], cpu = p->limit[LIMIT_CPU_MS];
	uint64_t cpus = p->limit[LIMIT_CPUS_MILLI];

	/* Python of the tree core is static and maps no code after its start. Python of
	 * the tree data loads shared objects, and a template loads all of them. Programs
	 * of other trees may map code at any time. */
	if (p->lock_code == LOCK_AUTO)
		p->lock_code = strcmp(p->rootfs, "core") == 0   ? LOCK_YES
			       : strcmp(p->rootfs, "data") == 0 ? LOCK_WARM
								: LOCK_NO;
	if (!path_is_clean(p->chdir))
		return err_say(
			e, EINVAL,
			"--chdir: '%s' must be an absolute path without '.', '..' or '//'",
			p->chdir);
	/* a CPU limit that the wall limit always precedes is a mistake */
	if (wall != NO_LIMIT && cpu != NO_LIMIT && cpus != NO_LIMIT &&
	    cpu / cpus > wall / 1000 + 1)
		return err_say(
			e, EINVAL,
			"--cpu-time cannot be reached within --wall-time at this number of --cpus: lower it, or raise one of them");

	if (p->net == NET_ENTERED && p->host_count)
		return err_say(
			e, EINVAL,
			"--net: not with --allow-host, whose jail has its proxy as the only way out");
	for (size_t i = 0; p->out && i < p->bind_count; i++)
		if (path_is_below("/work/out", p->bind[i].dst) ||
		    path_is_below(p->bind[i].dst, "/work/out"))
			return err_say(
				e, EINVAL,
				"--out: --bind to %.200s would be in place of what is copied from /work/out",
				p->bind[i].dst);

	int r = plan_complete_deterministic(p, e);

	if (r == 0)
		r = plan_complete_egress(p, e);
	return r < 0 ? r : plan_check_calls(p, e);
}
