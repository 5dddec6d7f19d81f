/* SPDX-License-Identifier: MIT */
/*
 * harness.h - harness.py as a string in this program
 */
#ifndef STEPJAIL_AGENT_HARNESS_H
#define STEPJAIL_AGENT_HARNESS_H

/** harness_source - The whole of agent/harness.py, a NUL behind it */
extern const char harness_source[];

#endif
