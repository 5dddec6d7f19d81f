/* SPDX-License-Identifier: MIT */
/*
 * config.h - defaults of the user's for options: variables such as STEPJAIL_ROOTFS, and a
 * file with a line for each option, as stepjail-policy(5) has it
 */
#pragma once

#include <stdbool.h>

#include "agent/base/text.h"

#define CONFIG_LINES_MAX 512
#define CONFIG_BYTES_MAX ((size_t)64 << 10)

/* stays valid until the process ends */
struct config {
	bool taken;       /* it was read: that is done once */
	char *path;       /* of the file; or NULL */
	struct text file; /* what @lines point into */
	struct config_line {
		const char *name, *value; /* of an option; the value is "" for none */
		const char *variable;     /* NAME=VALUE; NULL: it is a line of the file */
		size_t number;            /* of that line */
	} lines[CONFIG_LINES_MAX];
	size_t count; /* variables come first, for they win over the file */
};

/**
 * config_read() - Read both; what an option is called is not looked at
 * @asked:	The file; "none" for no file; NULL: $STEPJAIL_CONFIG, or the usual one, which
 *		need not be there
 * @c:		Zeroed before the first call; others do nothing
 *
 * A file that others than the user and root could have written is refused.
 *
 * Return: 0, or -errno with a line that names the file
 */
int config_read(const char *asked, struct config *c, struct err *e);

/** config_within() - Put before an error where the line is from; returns -errno */
int config_within(const struct config *c, const struct config_line *line, struct err *e);
