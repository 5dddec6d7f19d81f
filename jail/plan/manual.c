/* SPDX-License-Identifier: MIT */
/*
 * manual.c - the manual page: see manual.h
 *
 * The assembler reads manual.mdoc, by its path from the top of the tree: no generated
 * source, and the page stays a file that mandoc(1) can read. make knows of it as a
 * prerequisite.
 */
#include <string.h>

#include "jail/plan/manual.h"
#include "jail/plan/option.h"
#include "jail/watch/outcome.h"

__asm__(".pushsection .rodata\n"
	"manual_page:\n"
	".incbin \"jail/plan/manual.mdoc\"\n"
	".byte 0\n"
	".popsection\n");
extern const char manual_page[] __attribute__((visibility("hidden")));

static void print_verdicts(FILE *out)
{
	for (size_t i = 0; i < VERDICT_COUNT; i++)
		(void)fprintf(out, "%s%s\n", verdict_names[i],
			      i + 1 < VERDICT_COUNT ? "," : ".");
}

/* lines of the page that stand for what a table has, in their order */
static const struct {
	const char *line;
	void (*print)(FILE *out);
} tables[] = {
	{ "\n@options\n", option_print_man },
	{ "\n@verdicts\n", print_verdicts },
};

void manual_print(FILE *out)
{
	const char *at = manual_page;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		const char *line = strstr(at, tables[i].line);

		(void)fprintf(out, "%.*s\n", (int)(line - at), at);
		tables[i].print(out);
		at = line + strlen(tables[i].line);
	}
	(void)fputs(at, out);
}
