/* SPDX-License-Identifier: MIT */
/*
 * test_agent_loops.h - a loop without a model or a jail, for the tests of what it sends
 */
#pragma once

#include "agent/loop/loop.h"

/**
 * loop_of() - A loop and its task: 10 steps of 60 s, 10 min
 * @jail:	Of the task's plan; stays valid, as @model does
 *
 * Return: to be freed, its task first
 */
struct loop *loop_of(const struct jail_options *jail, const struct model_plan *model);
