/* SPDX-License-Identifier: MIT */
/*
 * option_row.h - a row of the table of options, for the files that walk it
 */
#pragma once

#include "jail/plan/option.h"
#include "jail/plan/value.h"

struct option_row {
	const char *name;
	const char *arg; /* what --help calls the value */
	const char *help;
	/* of a limit: its place in the plan, its unit, its bounds, its default */
	bool is_limit, may_be_unlimited;
	enum limit limit;
	enum value_kind kind;
	uint64_t min, max, initial;
	/* of other options: a text, a choice or a list is at this offset of the plan */
	bool repeatable;
	size_t at;
	int (*check)(const char *value, struct err *e); /* of a text; or NULL */
	/* of a list */
	size_t count_at, stride;
	int (*add)(struct plan *p, const char *value, struct err *e);
	const char *const *choices; /* names by the enum's values, NULL at the end */
	const char *bare; /* the value that the option alone stands for, or NULL */
	int (*set)(const struct option_row *row, struct plan *p, const char *value,
		   struct err *e);
	void (*print)(const struct option_row *row, const struct plan *p, FILE *out);
};

/* rows that --help and the manual show under one title */
struct option_group {
	const char *first; /* name of its first row; it ends where the next begins */
	const char *title;
	bool serve; /* of stepjail serve alone */
};

extern const struct option_row option_rows[];
extern const size_t option_row_count;
extern const struct option_group option_groups[]; /* a NULL name at the end */

/** option_group() - The group of a row of option_rows */
const struct option_group *option_group(const struct option_row *row);
