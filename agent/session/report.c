/* SPDX-License-Identifier: MIT */
/*
 * report.c - stepjail's report: see report.h
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "agent/base/json.h"
#include "agent/session/report.h"

/* an exit code or a signal; 0 where there was none */
static int small_number(const cJSON *root, const char *name)
{
	uint32_t n;

	return json_u32(root, name, &n) && n <= 255 ? (int)n : 0;
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
	if (!verdict_find(json_text(root, "verdict"), &facts->verdict))
		return false;
	facts->code = small_number(root, "exit_code");
	facts->signal = small_number(root, "signal");
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
