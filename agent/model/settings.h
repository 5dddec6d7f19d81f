/* SPDX-License-Identifier: MIT */
/*
 * settings.h - more members of each request, which the user sets: temperature, effort
 */
#pragma once

#include "agent/base/json.h"
#include "agent/cli/options.h"

/**
 * settings_make() - Read a list of "KEY=JSON"
 * @into:	Gets an object for the caller to free; NULL where @items has none
 *
 * Return: 0, or -EINVAL with a line that names the item: it is no JSON, or the agent's
 */
int settings_make(const struct opt_list *items, cJSON **into, struct err *e);

/** settings_add() - Add them to a request, which has none of them: see reserved[] */
void settings_add(cJSON *request, const cJSON *settings);
