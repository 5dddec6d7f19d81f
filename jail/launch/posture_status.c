/* SPDX-License-Identifier: MIT */
/*
 * posture_status.c - what /proc/PID/status tells of the waiting program, or of a process
 * of stepjail's own that gave up its rights: see posture.h, proc(5)
 */
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <linux/seccomp.h>

#include "init/init.h"
#include "jail/launch/posture.h"

#define VALUE_MAX 128

enum planned { CAPS, BOUNDING, ONE, MODE, FILTERS, UIDS, GIDS, GROUPS, PIDS };

static const struct {
	const char *key;  /* in /proc/PID/status */
	const char *name; /* in the report */
	const char *own;  /* there, of a process of stepjail's; NULL: it is not told */
	enum planned planned;
} rows[] = {
	{ "CapInh:", "cap_inheritable", "cap_inheritable", CAPS },
	{ "CapPrm:", "cap_permitted", "cap_permitted", CAPS },
	{ "CapEff:", "cap_effective", "cap_effective", CAPS },
	{ "CapBnd:", "cap_bounding", "cap_bounding", BOUNDING },
	{ "CapAmb:", "cap_ambient", "cap_ambient", CAPS },
	{ "NoNewPrivs:", "no_new_privs", "no_new_privs", ONE },
	{ "Seccomp:", "seccomp_mode", "seccomp_mode", MODE },
	{ "Seccomp_filters:", "seccomp_filters", "seccomp_filters", FILTERS },
	{ "Uid:", "host_uids", "uids", UIDS },
	{ "Gid:", "host_gids", "gids", GIDS },
	{ "Groups:", "host_groups", "groups", GROUPS },
	{ "NSpid:", "pid", NULL, PIDS },
	{ "NSsid:", "session", NULL, PIDS },
};

unsigned long posture_own_filters(void)
{
	return prctl(PR_GET_SECCOMP) != 0 ? procfs_status(getpid(), "Seccomp_filters:")
					  : 0;
}

/* Return: whether there is one value that the kernel must tell, and that is @text */
static bool print_planned(const struct status_plan *p, enum planned what, char *text)
{
	unsigned int id = what == UIDS ? p->uid : p->gid;

	switch (what) {
	case CAPS:
		(void)snprintf(text, VALUE_MAX, "%016" PRIx64, p->caps);
		return true;
	case BOUNDING:
		/* an ordinary user's process keeps it, and no_new_privs makes it idle */
		(void)snprintf(text, VALUE_MAX, "%016x", 0);
		return p->pid != 0;
	case ONE:
		(void)snprintf(text, VALUE_MAX, "1");
		return true;
	case MODE:
		(void)snprintf(text, VALUE_MAX, "%d",
			       p->filters ? SECCOMP_MODE_FILTER : 0);
		return true;
	case FILTERS:
		(void)snprintf(text, VALUE_MAX, "%lu", p->filters);
		return true;
	case UIDS:
	case GIDS:
		(void)snprintf(text, VALUE_MAX, "%u %u %u %u", id, id, id, id);
		return true;
	case PIDS: /* in the launcher's PID namespace and the jail's */
		(void)snprintf(text, VALUE_MAX, "%d %d", p->pid, INIT_PROGRAM_PID);
		return true;
	default: /* an ordinary user's groups cannot be given up */
		text[0] = '\0';
		return p->own;
	}
}

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

int posture_compare(const char *text, const struct status_plan *p, FILE *out,
		    struct err *e)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		const char *name = p->pid ? rows[i].name : rows[i].own;
		const char *at = procfs_find(text, rows[i].key);
		char value[VALUE_MAX], planned[VALUE_MAX];

		if (!name)
			continue;
		if (!at)
			return err_say(e, EPERM, "posture: the kernel does not tell %s",
				       rows[i].key);
		procfs_words(at, value, VALUE_MAX);
		if (rows[i].planned == PIDS && p->warm)
			cut_template(value);
		if (print_planned(p, rows[i].planned, planned) &&
		    strcmp(value, planned) != 0)
			return posture_refuse(name, value, planned, e);
		(void)fprintf(out, "%s\"%s\"", i ? "," : "{", name);
		json_after(":", value, out);
	}
	return 0;
}

int posture_status(const struct look *l, struct err *e)
{
	const struct ids *ids = &l->jail->ids;
	/* a template keeps the capabilities that its clones need, and has no filter */
	bool template = l->jail->plan->template;
	struct status_plan p = {
		.uid = ids_program(ids),
		.gid = ids_program_group(ids),
		.own = ids->own,
		.filters = posture_own_filters() + !template,
		.pid = l->ready->program,
		.warm = l->jail->warm,
		.caps = template ? CAPS_TEMPLATE_MASK : 0,
	};

	int r = posture_compare(l->text, &p, l->out, e);

	(void)fputc('}', l->out);
	return r;
}
