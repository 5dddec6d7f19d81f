/* SPDX-License-Identifier: MIT */
/*
 * log.h - what a jail asked of its proxy, in memory that both sides map
 *
 * The proxy's main process alone writes it, and the watcher reads it whenever it reports.
 * It is sealed to its size. A proxy that somebody has taken over can write anything here:
 * so every number is clamped, and every text is taken for any bytes.
 */
#pragma once

#include <stdio.h>

#include "jail/egress/place/place.h"

#define EGRESS_RULES 64
#define EGRESS_NAMES 16 /* rows of refused places; and of names below wildcards */
#define EGRESS_ROWS (EGRESS_RULES + 2 * EGRESS_NAMES)
#define EGRESS_AT_ONCE 32 /* connections */
#define EGRESS_HEAD_MS 10000
#define EGRESS_IDLE_MS 60000
#define EGRESS_TOTAL_MS 600000

enum egress_end {
	EGRESS_DONE,    /* nothing went wrong */
	EGRESS_OPEN,    /* it has not ended, or its process did not say */
	EGRESS_UNASKED, /* nothing was asked */
	EGRESS_INVALID, /* not a request that a proxy takes */
	EGRESS_UNLISTED,
	EGRESS_PRIVATE, /* the name's addresses are none of the internet's */
	EGRESS_NAMELESS,
	EGRESS_UNREACHED,
	EGRESS_OTHER_NAME, /* of TLS, in a tunnel */
	EGRESS_UNTRUSTED,  /* certificate, or TLS as such */
	EGRESS_LIMIT,
	EGRESS_SILENT,
	EGRESS_CUT, /* one side, or the run's end, broke it off */
	EGRESS_ENDS,
};

/* of one host and port, as far as it was allowed, or refused */
struct egress_row {
	/* its host is empty where none could be read; or a rule's wildcard, for names
	 * that had no row any more */
	struct place to;
	uint32_t end;    /* enum egress_end: why the last one failed; EGRESS_DONE */
	uint32_t times;  /* counted before anything is sent */
	uint32_t failed; /* of them */
	uint64_t sent, received; /* bytes, from the jail and to it, of those that ended */
};

/* what the launcher, then the watcher or a session has of its proxy */
enum egress_fd {
	EGRESS_SOCKET, /* to it */
	EGRESS_LOG,    /* sealed memfd */
	EGRESS_SNMP,   /* /proc/PID/net/snmp, and snmp6, of the jail: see report.h */
	EGRESS_FDS = EGRESS_SNMP + 2,
};

struct egress_log {
	uint32_t landlock_abi; /* of the proxy's own walls */
	uint32_t whole;        /* 1: the proxy ended in order, and all is here */
	uint32_t rows;
	uint32_t more;   /* refused connections for which there was no row */
	uint64_t bypass; /* not the proxy's: see report.h */
	struct egress_row row[EGRESS_ROWS];
};

/* words of a report for enum egress_end, and whether the rules let it through */
extern const struct egress_words {
	const char *why; /* NULL: nothing is to be said */
	bool allowed;
} egress_words[EGRESS_ENDS];

/** egress_clamp() - A row that anything may have been written into, made one */
void egress_clamp(struct egress_row *row);
