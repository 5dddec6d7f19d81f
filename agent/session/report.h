/* SPDX-License-Identifier: MIT */
/*
 * report.h - the report of `stepjail run`, as far as the agent reads it
 */
#ifndef STEPJAIL_AGENT_REPORT_H
#define STEPJAIL_AGENT_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "agent/session/verdict.h"

#define REPORT_MAX_BYTES ((size_t)256 << 10)

/**
 * report_read() - Take verdict, exit code, signal and violation from a report's JSON
 * @facts:	Changed only where the report is one
 *
 * The report comes from stepjail and not from the jail, but what it quotes may have been
 * chosen there: names are checked before they are passed on.
 *
 * Return: true for a JSON object with a verdict that there is
 */
bool report_read(const char *json, size_t length, struct verdict_facts *facts);

/** report_take() - The same from what is parsed already */
bool report_take(const cJSON *root, struct verdict_facts *facts);

#endif
