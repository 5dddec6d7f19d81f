/* SPDX-License-Identifier: MIT */
/*
 * confine_report.c - what confines the agent, as JSON and in words: see confine.h
 */
#include "agent/confine/confine.h"

/* of enum confine_need, from the lowest bit on */
static const char *const needs[] = { "connect", "names", "read",    "create",
				     "edit",    "keep",  "collect", "children" };

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

	for (size_t i = 0; i < COUNT(needs); i++)
		if (p->needs & 1U << i)
			add(list, needs[i]);
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
	cJSON *key = f->has_secret ? cJSON_CreateObject() : cJSON_CreateNull();

	if (!f->files)
		add(lacking, "files");
	if (!f->ports)
		add(lacking, "ports");
	json_add(o, "landlock_abi", f->landlock_abi);
	/* confine_self() has read that back, or there are no facts */
	(void)cJSON_AddTrueToObject(o, "no_new_privs");
	json_add(o, "seccomp", 2);
	json_add(o, "filters", f->counted ? cJSON_CreateNumber(1) : cJSON_CreateNull());
	json_add(o, "capabilities", "0000000000000000");
	(void)cJSON_AddFalseToObject(o, "dumpable");
	json_add(o, "key", key);
	if (f->has_secret) {
		(void)cJSON_AddFalseToObject(key, "dumped");
		(void)cJSON_AddFalseToObject(key, "forked");
		json_add(key, "locked", f->locked);
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
