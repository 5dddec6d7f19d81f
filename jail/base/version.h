/* SPDX-License-Identifier: MIT */
/*
 * version.h - the one place where the version is written
 */
#pragma once

#define STEPJAIL_VERSION "0.1.0"
