/* SPDX-License-Identifier: MIT */
/*
 * version.h - the one place where the version is written
 */
#ifndef STEPJAIL_JAIL_BASE_VERSION_H
#define STEPJAIL_JAIL_BASE_VERSION_H

#define STEPJAIL_VERSION "0.1.0"

#endif
