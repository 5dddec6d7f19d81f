/* SPDX-License-Identifier: MIT */
/*
 * posture_deterministic.c - what --deterministic, --aslr and --clock-start asked for, as
 * the kernel tells it of the waiting program: see posture.h, proc(5), time_namespaces(7)
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jail/walls/deterministic.h"
#include "jail/base/json.h"
#include "jail/launch/posture.h"
#include "jail/base/procfs.h"
#include "jail/base/clock.h"

/* in the text of "status" */
int posture_cpu(const struct look *l, struct err *e)
{
	const char *at = procfs_find(l->text, "Cpus_allowed_list:\t");
	char list[256] = "";

	if (at)
		(void)snprintf(list, sizeof(list), "%.*s", (int)strcspn(at, "\n"), at);
	if (!*list || list[strspn(list, "0123456789")])
		return posture_refuse(l->name, list, "one CPU", e);
	json_after("", list, l->out);
	return 0;
}

int posture_domain(const struct look *l, struct err *e)
{
	char planned[16];

	(void)snprintf(planned, sizeof(planned), "%08lx",
		       deterministic_domain(l->jail->plan));
	l->text[strcspn(l->text, "\n")] = '\0';
	if (strcmp(l->text, planned) != 0)
		return posture_refuse(l->name, l->text, planned, e);
	json_after("", l->text, l->out);
	return 0;
}

/* The jail's clock was at zero between the launch and now, if the launcher's own has no
 * offset of its own: in milliseconds, a second of which is rounded either way. */
static bool starts_at_launch(const struct look *l, clockid_t clock, int64_t offset_ms)
{
	struct timespec now = { 0 };
	int64_t age_ms = (int64_t)(clock_now_ms() - l->jail->start_ms);

	if (clock_gettime(clock, &now) < 0)
		return false;

	int64_t reads_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + offset_ms;

	return reads_ms >= -1 && reads_ms <= age_ms + 1;
}

int posture_clocks(const struct look *l, struct err *e)
{
	static const struct {
		const char *name;
		clockid_t clock;
	} clocks[] = { { "monotonic", CLOCK_MONOTONIC }, { "boottime", CLOCK_BOOTTIME } };

	for (size_t i = 0; i < COUNT(clocks); i++) {
		const char *at = procfs_find(l->text, clocks[i].name);
		char *end = NULL;
		int64_t seconds = at ? strtoll(at, &end, 10) : 0;
		int64_t ns = at ? strtoll(end, NULL, 10) : 0;

		if (!at ||
		    !starts_at_launch(l, clocks[i].clock, seconds * 1000 + ns / 1000000))
			return err_say(
				e, EPERM,
				"posture: %s has the offset '%.*s', and would not start at zero: if stepjail itself is in a time namespace, start it outside: the program was not started",
				clocks[i].name, at ? (int)strcspn(at, "\n") : 0,
				at ? at : "");
		(void)fprintf(l->out, "%s\"%s\":[%" PRId64 ",%" PRId64 "]", i ? "," : "{",
			      clocks[i].name, seconds, ns);
	}
	(void)fprintf(l->out, "}");
	return 0;
}
