/* SPDX-License-Identifier: MIT */
/*
 * denied.c - words for calls that are denied where a wall lacks: see denied.h
 */
#include <string.h>

#include "jail/plan/call.h"
#include "jail/watch/denied.h"

/* whether the row's instructions, as prefix_row() writes them, refuse this call */
static bool refuses(const struct denied_without_row *row, const struct seccomp_data *data)
{
	if (row->nr != data->nr)
		return false;
	for (size_t i = 0; i < COUNT(row->test); i++) {
		const struct prefix_test *t = &row->test[i];
		uint64_t word = data->args[t->arg] >> (t->high ? 32 : 0);

		if ((((uint32_t)word & t->mask) == t->value) == t->differs)
			return false;
	}
	return true;
}

const struct denied_without_row *denied_why(unsigned int lacks,
					    const struct seccomp_data *data)
{
	for (size_t i = 0; data->arch == CALL_NATIVE && i < denied_without_row_count; i++)
		if ((denied_without_rows[i].lack & lacks) &&
		    refuses(&denied_without_rows[i], data))
			return &denied_without_rows[i];
	return NULL;
}

void denied_print(unsigned int lacks, FILE *out)
{
	const char *before = "";

	(void)fputc('[', out);
	for (size_t i = 0; i < denied_without_row_count; i++) {
		/* rows of one call stand together */
		if (!(denied_without_rows[i].lack & lacks) ||
		    strcmp(denied_without_rows[i].syscall, before) == 0)
			continue;
		(void)fprintf(out, "%s\"%s\"", *before ? "," : "",
			      denied_without_rows[i].syscall);
		before = denied_without_rows[i].syscall;
	}
	(void)fputc(']', out);
}
