/* SPDX-License-Identifier: MIT */
/*
 * harness.h - judges in a jail, in Python, as strings in this program
 */
#pragma once

/** harness_trial - agent/judge/judge.py, agent/skills/list.py and trial.py in one, a NUL
 * behind them */
extern const char harness_trial[];

/** harness_tests - agent/judge/tests.py and cases.py in one, a NUL behind them */
extern const char harness_tests[];
