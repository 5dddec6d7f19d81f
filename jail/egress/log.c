/* SPDX-License-Identifier: MIT */
/*
 * log.c - words for what a jail asked of its proxy: see log.h
 */
#include <ctype.h>
#include <string.h>

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
	row->to.literal = false; /* a bool that others wrote need not be one */
	row->to.host[sizeof(row->to.host) - 1] = '\0';
	for (char *at = row->to.host; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr("-_.:*", *at))
			*at = '?';
	if (row->end >= EGRESS_ENDS)
		row->end = EGRESS_OPEN;
}
