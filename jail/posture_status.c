/* SPDX-License-Identifier: MIT */
/*
 * posture_status.c - what /proc/PID/status tells of the waiting program: see posture_look.h
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "init/init.h"
#include "jail/json.h"
#include "jail/posture_look.h"
#include "jail/proc.h"

#define VALUE_MAX 128
#define NO_CAPABILITY "0000000000000000"

static void four(char *planned, unsigned int id)
{
	(void)snprintf(planned, VALUE_MAX, "%u %u %u %u", id, id, id, id);
}

static bool plan_uids(const struct look *l, char *planned)
{
	four(planned, ids_program(&l->jail->ids));
	return true;
}

static bool plan_gids(const struct look *l, char *planned)
{
	four(planned, ids_program_group(&l->jail->ids));
	return true;
}

/* an ordinary user's groups cannot be given up */
static bool plan_groups(const struct look *l, char *planned)
{
	planned[0] = '\0';
	return l->jail->ids.own;
}

/* one more than the launcher itself lives behind */
static bool plan_filters(const struct look *l, char *planned)
{
	char text[8192];
	const char *own = NULL;

	(void)l;
	if (prctl(PR_GET_SECCOMP) != 0 &&
	    proc_read(getpid(), "status", text, sizeof(text)) > 0)
		own = posture_find(text, "Seccomp_filters:");
	(void)snprintf(planned, VALUE_MAX, "%lu", (own ? strtoul(own, NULL, 10) : 0) + 1);
	return true;
}

/* its number in the launcher's PID namespace and in the jail's: there is none between, and
 * where it is a session's, the program leads that session */
static bool plan_pid(const struct look *l, char *planned)
{
	(void)snprintf(planned, VALUE_MAX, "%d %d", l->program, INIT_PROGRAM_PID);
	return true;
}

static const struct {
	const char *key;     /* in /proc/PID/status */
	const char *name;    /* in the report */
	const char *planned; /* what it must read, NULL where plan() says it */
	bool (*plan)(const struct look *l,
		     char *planned); /* false: it may read anything */
} rows[] = {
	{ "CapInh:", "cap_inheritable", NO_CAPABILITY, NULL },
	{ "CapPrm:", "cap_permitted", NO_CAPABILITY, NULL },
	{ "CapEff:", "cap_effective", NO_CAPABILITY, NULL },
	{ "CapBnd:", "cap_bounding", NO_CAPABILITY, NULL },
	{ "CapAmb:", "cap_ambient", NO_CAPABILITY, NULL },
	{ "NoNewPrivs:", "no_new_privs", "1", NULL },
	{ "Seccomp:", "seccomp_mode", "2", NULL },
	{ "Seccomp_filters:", "seccomp_filters", NULL, plan_filters },
	{ "Uid:", "host_uids", NULL, plan_uids },
	{ "Gid:", "host_gids", NULL, plan_gids },
	{ "Groups:", "host_groups", NULL, plan_groups },
	{ "NSpid:", "pid", NULL, plan_pid },
	{ "NSsid:", "session", NULL, plan_pid },
};

/* the words of a line, one blank between them */
static void take(const char *at, char *value)
{
	size_t n = 0;

	for (; *at && *at != '\n' && n < VALUE_MAX - 1; at++)
		if (*at != ' ' && *at != '\t')
			value[n++] = *at;
		else if (n && value[n - 1] != ' ')
			value[n++] = ' ';
	value[n - (n && value[n - 1] == ' ')] = '\0';
}

int posture_status(const struct look *l, char *text, struct err *e)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *at = posture_find(text, rows[i].key);
		char value[VALUE_MAX], computed[VALUE_MAX];
		const char *planned = rows[i].planned;

		if (!at)
			return err_say(e, EPERM, "posture: the kernel does not tell %s",
				       rows[i].key);
		take(at, value);
		if (!planned && rows[i].plan(l, computed))
			planned = computed;
		if (planned && strcmp(value, planned) != 0)
			return posture_refuse(rows[i].name, value, planned, e);
		(void)fputs(i ? "," : "", l->out);
		json_string(l->out, rows[i].name);
		(void)fputc(':', l->out);
		json_string(l->out, value);
	}
	return 0;
}
