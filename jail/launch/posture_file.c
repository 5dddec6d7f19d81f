/* SPDX-License-Identifier: MIT */
/*
 * posture_file.c - what single files of /proc/PID tell of the waiting program: id maps,
 * resource limits and cgroup, and what --deterministic, --aslr and --clock-start asked
 * for. See posture.h, user_namespaces(7), getrlimit(2), cgroups(7), proc(5),
 * time_namespaces(7)
 */
#include <stdlib.h>
#include <string.h>

#include "jail/base/clock.h"
#include "jail/launch/posture.h"
#include "jail/walls/deterministic.h"
#include "jail/walls/rlimit.h"

/* take off the kernel's padding, and the last line's end */
static void squeeze(char *text)
{
	char *to = text;

	for (const char *at = text; *at; at++)
		if (*at != ' ' || (to > text && to[-1] != ' ' && to[-1] != '\n'))
			*to++ = *at;
	*to = '\0';
	if (to > text && to[-1] == '\n')
		to[-1] = '\0';
}

int posture_map(const struct look *l, struct err *e)
{
	char planned[IDS_MAP_BYTES] = "deny";

	if (strcmp(l->name, "setgroups") != 0)
		ids_print_map(&l->jail->ids, l->name[0] == 'g', planned);
	squeeze(l->text);
	if (strcmp(l->text, planned) != 0)
		return posture_refuse(l->name, l->text, planned, e);
	json_after("", l->text, l->out);
	return 0;
}

int posture_rlimits(const struct look *l, struct err *e)
{
	const struct jail *j = l->jail;
	const char *separator = "{";

	for (size_t i = 0; i < rlimit_count; i++) {
		char told[80] = "", planned[48];
		uint64_t soft = 0, hard = 0;
		struct rlimit_row row;

		if (!rlimit_plan(i, j->plan, j->limited, !j->ids.own, false, &row))
			continue;

		const char *line = procfs_find(l->text, row.line);
		bool found =
			line && sscanf(line, "%" SCNu64 "%" SCNu64, &soft, &hard) == 2;

		if (found && hard != row.value)
			(void)rlimit_plan(i, j->plan, j->limited, !j->ids.own, true,
					  &row);
		if (!found || soft != row.value || hard != row.value) {
			procfs_words(line ? line : "", told, sizeof(told));
			(void)snprintf(planned, sizeof(planned), "%" PRIu64 " %" PRIu64,
				       row.value, row.value);
			return posture_refuse(row.name, told, planned, e);
		}
		(void)fprintf(l->out, "%s\"%s\":%" PRIu64, separator, row.name,
			      row.value);
		separator = ",";
	}
	(void)fprintf(l->out, "}");
	return 0;
}

/* the path of this run's leaf; without a leaf it is the launcher's own cgroup */
int posture_cgroup(const struct look *l, struct err *e)
{
	const char *at = procfs_find(l->text, "0::");
	char path[4096] = "";

	if (at)
		(void)snprintf(path, sizeof(path), "%.*s", (int)strcspn(at, "\n"), at);
	if (l->jail->limited) {
		const char *leaf = strrchr(path, '/');

		if (!leaf || strcmp(leaf + 1, l->jail->cgroup.name) != 0)
			return posture_refuse(l->name, path, l->jail->cgroup.name, e);
	}
	json_after("", at ? path : NULL, l->out);
	return 0;
}

/* in the text of "status" */
int posture_cpu(const struct look *l, struct err *e)
{
	const char *at = procfs_find(l->text, "Cpus_allowed_list:\t");
	char list[256] = "";

	if (at)
		procfs_words(at, list, sizeof(list));
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
