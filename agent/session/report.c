/* SPDX-License-Identifier: MIT */
/*
 * report.c - stepjail's report: see report.h
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "agent/base/json.h"
#include "agent/session/report.h"

/* an exit code or a signal; null where there was none */
static int small_number(const cJSON *item, int otherwise)
{
	if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 255)
		return otherwise;
	return (int)item->valuedouble;
}

/* the name of a system call, or nothing: it goes into words for the model */
static void take_syscall(const cJSON *violation, struct verdict_facts *facts)
{
	const cJSON *name =
		cJSON_IsObject(violation) ? json_get(violation, "syscall") : violation;

	facts->syscall[0] = '\0';
	if (!cJSON_IsString(name))
		return;

	size_t length = strlen(name->valuestring);

	if (length < sizeof(facts->syscall) &&
	    strspn(name->valuestring, "abcdefghijklmnopqrstuvwxyz0123456789_") == length)
		memcpy(facts->syscall, name->valuestring, length + 1);
}

bool report_take(const cJSON *root, struct verdict_facts *facts)
{
	const cJSON *verdict = json_get(root, "verdict");

	if (!cJSON_IsString(verdict) ||
	    !verdict_find(verdict->valuestring, &facts->verdict))
		return false;
	facts->code = small_number(json_get(root, "exit_code"), 0);
	facts->signal = small_number(json_get(root, "signal"), 0);
	take_syscall(json_get(root, "violation"), facts);
	return true;
}

bool report_read(const char *json, size_t length, struct verdict_facts *facts)
{
	cJSON *root = json_parse(json, length);
	bool known = report_take(root, facts);

	cJSON_Delete(root);
	return known;
}
