/* SPDX-License-Identifier: MIT */
/*
 * version.h - stepjail-agent's version; a stepjail of another one is not spoken with
 */
#pragma once

#define AGENT_VERSION "0.1.0"
