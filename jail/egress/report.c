/* SPDX-License-Identifier: MIT */
/*
 * report.c - what a jail asked of its proxy, and what it tried without: see report.h
 */
#include <stdlib.h>
#include <string.h>

#include "init/io.h"
#include "jail/base/json.h"
#include "jail/egress/report.h"

/* the number behind the last of a key, and behind so many others */
static uint64_t number(const char *text, const char *key, int behind)
{
	const char *at = NULL;

	while ((text = strstr(text, key)))
		at = text += strlen(key);
	for (; at && behind > 0; behind--)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* of /proc/PID/net/snmp, where a line of names is before each of numbers of the
 * same key, and of snmp6 */
static uint64_t count_bypass(const struct egress *g)
{
	static char text[2][32768];

	for (int i = 0; i < 2; i++) {
		ssize_t n = pread(g->fd[EGRESS_SNMP + i], text[i], sizeof(*text) - 1, 0);

		text[i][n < 0 ? 0 : n] = '\0';
	}
	/* no route; no port */
	return number(text[0], "Ip:", 11) + number(text[0], "Udp:", 1) +
	       number(text[1], "Ip6OutNoRoutes", 0) + number(text[1], "Udp6NoPorts", 0);
}

/* What is in the log now, with nothing in it that cannot be; NULL: there is none */
static struct egress_log *look(const struct egress *g)
{
	static struct egress_log now;

	if (!g || !g->map)
		return NULL;
	now = *g->map;
	now.bypass = count_bypass(g);
	if (now.rows > EGRESS_ROWS)
		now.rows = EGRESS_ROWS;
	for (uint32_t i = 0; i < now.rows; i++)
		egress_clamp(&now.row[i]);
	return &now;
}

void egress_print(const struct egress *g, struct egress_log *seen, FILE *out)
{
	static const struct egress_log nothing;
	const struct egress_log *log = look(g), *before = seen ? seen : &nothing;
	const char *comma = "";

	(void)fprintf(out, ",\"egress\":%s", log ? "{\"hosts\":[" : "null");
	if (!log)
		return;
	for (uint32_t i = 0; i < log->rows; i++) {
		const struct egress_row *row = &log->row[i], *was = &before->row[i];
		uint32_t failed = row->failed - was->failed;

		if (row->times == was->times && !failed && row->sent == was->sent &&
		    row->received == was->received)
			continue;
		(void)fputs(comma, out);
		json_after("{\"host\":", row->to.host, out);
		(void)fprintf(out,
			      ",\"port\":%u,\"allowed\":%s,\"times\":%u,\"failed\":%u"
			      ",\"sent\":%" PRIu64 ",\"received\":%" PRIu64,
			      row->to.port,
			      egress_words[row->end].allowed ? "true" : "false",
			      row->times - was->times, failed, row->sent - was->sent,
			      row->received - was->received);
		json_after(",\"why\":", failed ? egress_words[row->end].why : NULL, out);
		comma = "},";
	}
	(void)fprintf(out, "%s],\"more\":%u,\"bypass\":%" PRIu64, *comma ? "}" : "",
		      log->more - before->more, log->bypass - before->bypass);
	if (!seen)
		(void)fprintf(out, ",\"whole\":%s", log->whole == 1 ? "true" : "false");
	(void)fprintf(out, ",\"proxy\":{\"landlock_abi\":%u}}", log->landlock_abi);
	if (seen)
		*seen = *log;
}

void egress_tell(const struct egress *g)
{
	const struct egress_log *log = look(g);

	for (uint32_t i = 0; log && i < log->rows; i++) {
		const struct egress_row *row = &log->row[i];
		const char *why = egress_words[row->end].why;

		if (why)
			(void)fprintf(stderr,
				      "stepjail: egress: %.260s:%u, %u time%s: %s\n",
				      row->to.host[0] ? row->to.host : "?", row->to.port,
				      row->failed, row->failed == 1 ? "" : "s", why);
	}
	if (log && log->bypass)
		(void)fprintf(
			stderr,
			"stepjail: egress: past the proxy, refused: %" PRIu64
			" (UDP, DNS, connections): it is the one way out, and looks names up\n",
			log->bypass);
}
