/* SPDX-License-Identifier: MIT */
/*
 * confine_look.c - what the kernel says of a confined process: see confine.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jail/base/json.h"
#include "jail/base/procfs.h"
#include "jail/watch/confine.h"

#define NO_CAPABILITY "0000000000000000"

enum planned { TEXT, IDS, NO_GROUPS, MODE, FILTERS, ANY };

static const struct {
	const char *key;  /* in /proc/PID/status */
	const char *name; /* in the report */
	enum planned planned;
	const char *text;
} rows[] = {
	{ "Uid:", "uids", IDS, "" },
	{ "Gid:", "gids", IDS, "" },
	{ "Groups:", "groups", NO_GROUPS, "" },
	{ "CapInh:", "cap_inheritable", TEXT, NO_CAPABILITY },
	{ "CapPrm:", "cap_permitted", TEXT, NO_CAPABILITY },
	{ "CapEff:", "cap_effective", TEXT, NO_CAPABILITY },
	/* an ordinary user cannot empty it, and no_new_privs makes it idle */
	{ "CapBnd:", "cap_bounding", ANY, "" },
	{ "CapAmb:", "cap_ambient", TEXT, NO_CAPABILITY },
	{ "NoNewPrivs:", "no_new_privs", TEXT, "1" },
	{ "Seccomp:", "seccomp_mode", MODE, "2" },
	/* Linux 5.9 */
	{ "Seccomp_filters:", "seccomp_filters", FILTERS, "" },
};
_Static_assert(COUNT(rows) == CONFINE_ROWS, "a value for each row");

/* false: it may read anything */
static bool plan(size_t row, const struct confine *c, long filters, char *text)
{
	(void)snprintf(text, CONFINE_VALUE_MAX, "%s", rows[row].text);
	switch (rows[row].planned) {
	case TEXT:
		return true;
	case IDS:
		(void)snprintf(text, CONFINE_VALUE_MAX, "%u %u %u %u", c->id, c->id,
			       c->id, c->id);
		return c->id != 0;
	case NO_GROUPS:
		return c->id != 0;
	case MODE:
		return c->filter != NULL;
	case FILTERS:
		(void)snprintf(text, CONFINE_VALUE_MAX, "%ld",
			       filters + (c->filter != NULL));
		return filters >= 0;
	case ANY:
		break;
	}
	return false;
}

int confine_compare(const struct confine *c, const char *text, long filters,
		    struct confinement *told, struct err *e)
{
	for (size_t i = 0; i < CONFINE_ROWS; i++) {
		const char *at = procfs_find(text, rows[i].key);
		char planned[CONFINE_VALUE_MAX];

		if (!at && rows[i].planned != FILTERS)
			return err_say(e, EPERM, "confine: the kernel does not tell %s",
				       rows[i].key);
		procfs_words(at ? at : "", told->value[i], CONFINE_VALUE_MAX);
		if (plan(i, c, filters, planned) && strcmp(told->value[i], planned) != 0)
			return err_say(
				e, EPERM,
				"confine: %s reads '%s' where '%s' was planned: nothing was started",
				rows[i].name, told->value[i], planned);
	}
	return 0;
}

long confine_filters(const char *text)
{
	const char *at = procfs_find(text, "Seccomp_filters:");

	return at ? strtol(at, NULL, 10) : -1;
}

void confine_print(const struct confinement *told, FILE *out)
{
	if (!told->known) {
		(void)fputs("null", out);
		return;
	}
	for (size_t i = 0; i < CONFINE_ROWS; i++) {
		(void)fprintf(out, "%s\"%s\":", i ? "," : "{", rows[i].name);
		json_after("", told->value[i], out);
	}
	if (told->landlock_abi)
		(void)fprintf(out, ",\"landlock\":{\"abi\":%d,\"tried\":\"EACCES\"}}",
			      told->landlock_abi);
	else
		(void)fputs(",\"landlock\":null}", out);
}
