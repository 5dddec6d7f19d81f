/* SPDX-License-Identifier: MIT */
/*
 * timestamp.h - read a time that a user wrote
 */
#pragma once

#include "init/err.h"

/**
 * timestamp_parse() - Read a time in UTC
 * @text:	2024-02-29T12:00:00Z, 2024-02-29 for its midnight, or seconds since 1970
 * @seconds:	Since 1970
 *
 * Return: 0, -EINVAL (not of these forms, or no day of the calendar), or -ERANGE (before
 * 1970 or after 2199)
 */
int timestamp_parse(const char *text, uint64_t *seconds, struct err *e);
