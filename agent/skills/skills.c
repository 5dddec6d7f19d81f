/* SPDX-License-Identifier: MIT */
/*
 * skills.c - a folder of functions, offered to a model: see skills.h
 */

#include "agent/base/source.h"
#include "agent/record/inputs.h"
#include "agent/skills/skills.h"
#include "init/io.h"

#define LISTING_MAX ((size_t)4096)

SOURCE(list_source, SOURCE_FILE("agent/skills/list.py"));

static const char how_to_import[] =
	"\nFunctions of earlier work can be imported, each from a module of its own name, as in: from skills.NAME import NAME. They are, the last changed one last:\n";

int skills_bind(const char *dir, struct jail_binds *b, struct stop *stop,
		char hex[DIGEST_HEX], struct err *e)
{
	cleanup_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(e, errno, "--skills: %s: it cannot be opened", dir);
	if (inputs_modules(fd, stop, hex, e) < 0 ||
	    jail_binds_more(b, dir, "/work", "skills", e) < 0)
		return err_within(e, "--skills: %s: ", dir);
	return 0;
}

int skills_list(const char *dir, struct session *s, struct show *show,
		struct text *preface, struct err *e)
{
	cleanup_text struct text said = { .max = LISTING_MAX };
	cleanup_text struct text lines = { 0 };
	struct err why;
	int r = session_aside(s, list_source, strlen(list_source), &said, &why);
	/* list.py ends with a NUL: all of it came */
	bool whole = r == 0 && said.length && !said.bytes[said.length - 1];

	if (r == -EINTR) {
		*e = why;
		return r;
	}
	if (!whole)
		show_note(show, "skills: the modules in %s cannot be listed: %s", dir,
			  r < 0 ? why.text : "the jail's Python failed");
	if (!whole || said.length == 1)
		return 0;
	/* what a jail says of the modules is hostile */
	escape_lines(&lines, ESCAPE_MARK, said.bytes, said.length - 1);
	text_puts(preface, how_to_import);
	escape_turns(preface, &lines);
	return text_check(preface, "the saved functions", e);
}
