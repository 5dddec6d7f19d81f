/* SPDX-License-Identifier: MIT */
/*
 * harness.h - harness.py and tests*.py as strings in this program
 */
#ifndef STEPJAIL_AGENT_HARNESS_H
#define STEPJAIL_AGENT_HARNESS_H

/** harness_source - The whole of agent/harness.py, a NUL behind it */
extern const char harness_source[];

/** harness_tests - agent/tests.py and tests_run.py in one, a NUL behind them */
extern const char harness_tests[];

#endif
