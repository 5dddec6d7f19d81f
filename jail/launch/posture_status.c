/* SPDX-License-Identifier: MIT */
/*
 * posture_status.c - what /proc/PID/status tells of the waiting program: see posture.h
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/init.h"
#include "jail/walls/caps.h"
#include "jail/base/json.h"
#include "jail/launch/posture.h"
#include "jail/base/procfs.h"

#define VALUE_MAX 128
#define NO_CAPABILITY "0000000000000000"

static const cap_value_t template_caps[] = CAPS_TEMPLATE;

enum computed { NOTHING, CAPS, MODE, UIDS, GIDS, GROUPS, FILTERS, PIDS };

/* how many filters the launcher itself lives behind */
static unsigned long own_filters(void)
{
	return prctl(PR_GET_SECCOMP) != 0 ? procfs_status(getpid(), "Seccomp_filters:")
					  : 0;
}

/* Return: whether there is one value that the kernel must tell, and that is @planned */
static bool compute(const struct look *l, enum computed what, char *planned)
{
	const struct ids *ids = &l->jail->ids;
	unsigned int id = what == UIDS ? ids_program(ids) : ids_program_group(ids);
	/* a template keeps the capabilities that its clones need, and has no filter */
	bool template = l->jail->plan->template;
	uint64_t caps = 0;

	for (size_t i = 0; i < COUNT(template_caps); i++)
		caps |= UINT64_C(1) << template_caps[i];
	switch (what) {
	case CAPS:
		(void)snprintf(planned, VALUE_MAX, "%016" PRIx64, template ? caps : 0);
		return true;
	case MODE:
		(void)snprintf(planned, VALUE_MAX, "%d",
			       template && !own_filters() ? 0 : SECCOMP_MODE_FILTER);
		return true;
	case UIDS:
	case GIDS:
		(void)snprintf(planned, VALUE_MAX, "%u %u %u %u", id, id, id, id);
		return true;
	case FILTERS:
		(void)snprintf(planned, VALUE_MAX, "%lu", own_filters() + !template);
		return true;
	case PIDS: /* in the launcher's PID namespace and the jail's */
		(void)snprintf(planned, VALUE_MAX, "%d %d", l->ready->program,
			       INIT_PROGRAM_PID);
		return true;
	default: /* an ordinary user's groups cannot be given up */
		planned[0] = '\0';
		return ids->own;
	}
}

static const struct {
	const char *key;     /* in /proc/PID/status */
	const char *name;    /* in the report */
	const char *planned; /* what it must read */
	enum computed what;  /* where that depends on the jail */
} rows[] = {
	{ "CapInh:", "cap_inheritable", NULL, CAPS },
	{ "CapPrm:", "cap_permitted", NULL, CAPS },
	{ "CapEff:", "cap_effective", NULL, CAPS },
	{ "CapBnd:", "cap_bounding", NO_CAPABILITY, NOTHING },
	{ "CapAmb:", "cap_ambient", NULL, CAPS },
	{ "NoNewPrivs:", "no_new_privs", "1", NOTHING },
	{ "Seccomp:", "seccomp_mode", NULL, MODE },
	{ "Seccomp_filters:", "seccomp_filters", NULL, FILTERS },
	{ "Uid:", "host_uids", NULL, UIDS },
	{ "Gid:", "host_gids", NULL, GIDS },
	{ "Groups:", "host_groups", NULL, GROUPS },
	{ "NSpid:", "pid", NULL, PIDS },
	{ "NSsid:", "session", NULL, PIDS },
};

/* a warm jail's line has three numbers: in the launcher's PID namespace, the template's
 * and the jail's. The second, which may be any, is taken out */
static void cut_template(char *value)
{
	char *second = strchr(value, ' ');
	char *third = second ? strchr(second + 1, ' ') : NULL;

	if (third && !strchr(third + 1, ' '))
		memmove(second, third, strlen(third) + 1);
	else if (second)
		*second = '\0'; /* not three numbers: no plan has what is left */
}

int posture_status(const struct look *l, struct err *e)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *at = procfs_find(l->text, rows[i].key);
		char value[VALUE_MAX], computed[VALUE_MAX];
		const char *planned = rows[i].planned;

		if (!at)
			return err_say(e, EPERM, "posture: the kernel does not tell %s",
				       rows[i].key);
		procfs_words(at, value, VALUE_MAX);
		if (rows[i].what == PIDS && l->jail->warm)
			cut_template(value);
		if (!planned && compute(l, rows[i].what, computed))
			planned = computed;
		if (planned && strcmp(value, planned) != 0)
			return posture_refuse(rows[i].name, value, planned, e);
		(void)fprintf(l->out, "%s\"%s\"", i ? "," : "{", rows[i].name);
		json_after(":", value, l->out);
	}
	(void)fprintf(l->out, "}");
	return 0;
}
