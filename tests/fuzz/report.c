/* SPDX-License-Identifier: MIT */
/*
 * report.c - any bytes as stepjail's report, in the agent
 */
#include "agent/base/json.h"
#include "agent/session/report.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct step step;
	struct verdict_facts facts, before;
	struct text words = { 0 };
	cJSON *root = json_parse((const char *)bytes, size);
	bool told;

	(void)memset(&step, 0, sizeof(step));
	step.facts.verdict = VERDICT_PIDS;
	step.facts.code = 77;
	before = step.facts;
	if (cJSON_IsObject(root) && !json_get(root, "state"))
		(void)cJSON_AddStringToObject(root, "state", "kept");
	told = report_step(root, &step);
	facts = step.facts;
	cJSON_Delete(root);
	if (!told) {
		HOLDS(memcmp(&facts, &before, sizeof(facts)) == 0);
		return 0;
	}
	HOLDS((int)facts.verdict >= 0 && facts.verdict < VERDICT_COUNT);
	HOLDS(facts.code >= -1 && facts.code <= 255); /* -1: none */
	HOLDS(facts.signal >= 0 && facts.signal <= 255);
	HOLDS(memchr(facts.syscall, '\0', sizeof(facts.syscall)));
	/* it goes into words for a model: one line of ASCII */
	verdict_words(&facts, &words);
	for (size_t i = 0; i < words.length; i++)
		HOLDS(words.bytes[i] >= ' ' && words.bytes[i] < 0x7f);
	text_free(&words);
	return 0;
}
