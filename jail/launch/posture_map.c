/* SPDX-License-Identifier: MIT */
/*
 * posture_map.c - id maps, resource limits and cgroup of the waiting program, as the
 * kernel tells them: see posture.h, user_namespaces(7), getrlimit(2), cgroups(7)
 */
#include <inttypes.h>
#include <string.h>

#include "jail/base/json.h"
#include "jail/launch/posture.h"
#include "jail/base/procfs.h"
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
		struct rlimit_row row;
		int r = rlimit_plan(i, j->plan, j->limited, !j->ids.own, &row);

		if (r < 0)
			return err_set(e, -r, "posture: limit %zu", i);
		if (r == 0)
			continue;

		/* the soft limit, the hard one, and of most limits their unit */
		const char *line = procfs_find(l->text, row.line);
		size_t n = (size_t)snprintf(planned, sizeof(planned),
					    "%" PRIu64 " %" PRIu64, row.value, row.value);

		if (line)
			procfs_words(line, told, sizeof(told));
		if (strncmp(told, planned, n) != 0 || (told[n] && told[n] != ' '))
			return posture_refuse(row.name, told, planned, e);
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
