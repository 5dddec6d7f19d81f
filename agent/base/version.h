/* SPDX-License-Identifier: MIT */
/*
 * version.h - stepjail-agent's version; a stepjail of another one is not spoken with
 */
#ifndef STEPJAIL_AGENT_VERSION_H
#define STEPJAIL_AGENT_VERSION_H

#define AGENT_VERSION "0.1.0"

#endif
