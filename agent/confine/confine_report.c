/* SPDX-License-Identifier: MIT */
/*
 * confine_report.c - what confines the agent, as JSON and in words: see confine.h
 */
#include <inttypes.h>
#include <stdio.h>

#include "agent/confine/confine.h"

static const struct {
	unsigned int need;
	const char *name;
} needs[] = {
	{ CONFINE_CONNECT, "connect" }, { CONFINE_NAMES, "names" },
	{ CONFINE_READ, "read" },       { CONFINE_CREATE, "create" },
	{ CONFINE_EDIT, "edit" },       { CONFINE_KEEP, "keep" },
	{ CONFINE_COLLECT, "collect" }, { CONFINE_CHILDREN, "children" },
};

static void add(cJSON *list, const char *word)
{
	(void)cJSON_AddItemToArray(list, cJSON_CreateString(word));
}

static void add_policy(cJSON *o, const struct confine_policy *p)
{
	cJSON *list = cJSON_AddArrayToObject(o, "needs");
	cJSON *ports = cJSON_AddArrayToObject(o, "ports");
	cJSON *read = cJSON_AddArrayToObject(o, "read");
	cJSON *create = cJSON_AddArrayToObject(o, "create");

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (p->needs & needs[i].need)
			add(list, needs[i].name);
	if (p->read_host)
		add(read, "/ without /proc, /sys and /dev");
	for (size_t i = 0; i < p->port_count; i++)
		(void)cJSON_AddItemToArray(ports, cJSON_CreateNumber(p->ports[i]));
	for (size_t i = 0; i < p->path_count; i++)
		add(p->paths[i].makes ? create : read, p->paths[i].path);
}

cJSON *confine_json(const struct confine_policy *p, const struct confine_facts *f)
{
	cJSON *o = cJSON_CreateObject();
	cJSON *lacking = cJSON_AddArrayToObject(o, "not_enforced");
	char caps[20];

	(void)snprintf(caps, sizeof(caps), "%016" PRIx64, f->caps);
	if (!f->files)
		add(lacking, "files");
	if (!f->ports)
		add(lacking, "ports");
	(void)cJSON_AddNumberToObject(o, "landlock_abi", f->landlock_abi);
	(void)cJSON_AddBoolToObject(o, "no_new_privs", f->no_new_privs);
	(void)cJSON_AddNumberToObject(o, "seccomp", f->seccomp);
	if (f->filters < 0)
		(void)cJSON_AddNullToObject(o, "filters");
	else
		(void)cJSON_AddNumberToObject(o, "filters", f->filters);
	(void)cJSON_AddStringToObject(o, "capabilities", caps);
	(void)cJSON_AddBoolToObject(o, "dumpable", f->dumpable);
	if (f->has_secret) {
		cJSON *key = cJSON_AddObjectToObject(o, "key");

		(void)cJSON_AddBoolToObject(key, "dumped", f->secret.dumped);
		(void)cJSON_AddBoolToObject(key, "forked", f->secret.forked);
		(void)cJSON_AddBoolToObject(key, "locked", f->secret.locked);
	} else {
		(void)cJSON_AddNullToObject(o, "key");
	}
	add_policy(o, p);
	return o;
}

void confine_missing(const struct confine_policy *p, const struct confine_facts *f,
		     struct text *line)
{
	const char *who = p->who ? p->who : "the agent";

	if (!f->files)
		text_printf(
			line,
			"this kernel has no Landlock: nothing keeps %s from other files and ports",
			who);
	else if (!f->ports)
		text_printf(
			line,
			"this kernel's Landlock cannot confine ports (Linux 6.7 can): %s may connect to any port",
			who);
}
