/* SPDX-License-Identifier: MIT */
/*
 * log.c - what a jail asked of its proxy, for reports: see log.h
 */
#include <string.h>

#include "jail/base/json.h"
#include "jail/egress/log.h"

const struct egress_words egress_words[EGRESS_ENDS] = {
	[EGRESS_DONE] = { NULL, true },
	[EGRESS_OPEN] = { "its process ended before it did", true },
	[EGRESS_UNASKED] = { "nothing was asked within 10 s", false },
	[EGRESS_INVALID] = { "it is no request that a proxy takes", false },
	[EGRESS_UNLISTED] = { "no --allow-host names it", false },
	[EGRESS_PRIVATE] = { "no address of it is public: --allow-host ADDRESS:PORT allows one",
			     false },
	[EGRESS_NAMELESS] = { "its name cannot be looked up", true },
	[EGRESS_UNREACHED] = { "it cannot be reached", true },
	[EGRESS_OTHER_NAME] = { "a tunnel carries TLS with the name of its host alone",
				true },
	[EGRESS_UNTRUSTED] = { "TLS failed: the answer to the request says why", true },
	[EGRESS_LIMIT] = { "--egress-limit has no bytes left", true },
	[EGRESS_SILENT] = { "it was silent for 60 s, or took more than 10 min", true },
	[EGRESS_CUT] = { "it was broken off", true },
};

void egress_clamp(struct egress_row *row)
{
	row->host[sizeof(row->host) - 1] = '\0';
	if (row->end >= EGRESS_ENDS)
		row->end = EGRESS_OPEN;
}

void egress_print(const char *words, const struct egress_log *log,
		  struct egress_log *seen, FILE *out)
{
	const char *comma = "";
	uint32_t rows = log ? log->rows : 0;

	(void)fprintf(out, "%s%s", words, log ? "{\"hosts\":[" : "null");
	if (!log)
		return;
	for (uint32_t i = 0; i < rows && i < EGRESS_ROWS; i++) {
		struct egress_row row = log->row[i];
		const struct egress_row before =
			seen ? seen->row[i] : (struct egress_row){ 0 };

		egress_clamp(&row);
		if (seen)
			seen->row[i] = row;
		if (memcmp(&row, &before, sizeof(row)) == 0)
			continue;
		(void)fputs(comma, out);
		json_after("{\"host\":", row.host, out);
		(void)fprintf(out,
			      ",\"port\":%u,\"allowed\":%s,\"times\":%u,\"failed\":%u"
			      ",\"sent\":%" PRIu64 ",\"received\":%" PRIu64,
			      row.port, egress_words[row.end].allowed ? "true" : "false",
			      row.times - before.times, row.failed - before.failed,
			      row.sent - before.sent, row.received - before.received);
		json_after(",\"why\":", egress_words[row.end].why, out);
		comma = "},";
	}
	(void)fprintf(out, "%s],\"more\":%u", *comma ? "}" : "",
		      log->more - (seen ? seen->more : 0));
	if (!seen)
		(void)fprintf(out, ",\"whole\":%s", log->whole == 1 ? "true" : "false");
	(void)fprintf(out, ",\"proxy\":{\"landlock_abi\":%u}}", log->landlock_abi);
	if (seen)
		seen->more = log->more;
}

void egress_tell(const struct egress_log *log)
{
	uint32_t rows = log ? log->rows : 0;

	for (uint32_t i = 0; i < rows && i < EGRESS_ROWS; i++) {
		struct egress_row row = log->row[i];

		egress_clamp(&row);

		const char *why = egress_words[row.end].why;

		for (char *at = row.host; *at; at++)
			*at = *at < ' ' || *at > '~' ? '?' : *at;
		if (why)
			(void)fprintf(stderr,
				      "stepjail: egress: %.260s:%u, %u time%s: %s\n",
				      row.host[0] ? row.host : "?", row.port, row.failed,
				      row.failed == 1 ? "" : "s", why);
	}
}
