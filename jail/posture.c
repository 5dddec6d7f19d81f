/* SPDX-License-Identifier: MIT */
/*
 * posture.c - the walls around the waiting program, as the kernel tells them: see
 * posture.h
 *
 * What is read is the program's own process, after its last stage and before its exec, so
 * it is what the program will start with. Intentions are not consulted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jail/json.h"
#include "jail/posture.h"
#include "jail/proc.h"

static const struct {
	const char *key;    /* in /proc/PID/status */
	const char *name;   /* in the report */
	const char *demand; /* what it must read, NULL for anything */
} rows[POSTURE_ROWS] = {
	{ "CapInh", "cap_inheritable", "0000000000000000" },
	{ "CapPrm", "cap_permitted", "0000000000000000" },
	{ "CapEff", "cap_effective", "0000000000000000" },
	{ "CapBnd", "cap_bounding", "0000000000000000" },
	{ "CapAmb", "cap_ambient", "0000000000000000" },
	{ "NoNewPrivs", "no_new_privs", "1" },
	{ "Seccomp", "seccomp_mode", "2" },
	{ "Uid", "host_uids", NULL },
	{ "Gid", "host_gids", NULL },
};

/* "Key:\tvalue\n": copy the value; tabs become blanks */
static bool take(const char *status, const char *key, char *text)
{
	size_t n = strlen(key);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, n) != 0 || line[n] != ':')
			continue;
		line += n + 1 + strspn(line + n + 1, " \t");
		n = strcspn(line, "\n");
		(void)snprintf(text, POSTURE_TEXT_MAX, "%.*s", (int)n, line);
		for (char *at = text; (at = strchr(at, '\t'));)
			*at = ' ';
		return true;
	}
	return false;
}

int posture_read(pid_t program, struct posture *p, struct err *e)
{
	char status[8192];
	ssize_t n = proc_read(program, "status", status, sizeof(status));

	p->known = false;
	if (n < 0)
		return err_set(e, (int)-n, "posture: read /proc/%d/status of the host",
			       program);
	for (size_t i = 0; i < POSTURE_ROWS; i++) {
		if (!take(status, rows[i].key, p->text[i]))
			return err_say(e, EPERM, "posture: the kernel does not tell %s",
				       rows[i].key);
		if (rows[i].demand && strcmp(p->text[i], rows[i].demand) != 0)
			return err_say(e, EPERM,
				       "posture: %s reads %s where %s was planned: the "
				       "program was not started",
				       rows[i].name, p->text[i], rows[i].demand);
	}
	p->known = true;
	return 0;
}

void posture_print(const struct posture *p, FILE *out)
{
	if (!p->known) {
		(void)fputs("null", out);
		return;
	}
	for (size_t i = 0; i < POSTURE_ROWS; i++) {
		(void)fprintf(out, "%s\"%s\":", i ? "," : "{", rows[i].name);
		json_string(out, p->text[i]);
	}
	(void)fputc('}', out);
}
