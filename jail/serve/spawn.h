/* SPDX-License-Identifier: MIT */
/*
 * spawn.h - what the supervisor of sessions asks of the spawner, and what it is told
 *
 * The spawner is privileged: it launches jails by a plan that was fixed at its start, and
 * ends them. The supervisor has no rights, and reads everything that a jail or the client
 * says. Between them is one SOCK_SEQPACKET socket, and every packet has one of the two
 * sizes below. The spawner waits for nobody: what takes time is told when it is there.
 *
 * requests
 *	OPEN	launch a jail; its number is the supervisor's choice. OPENED or FAILED
 *		follows
 *	SIGNAL	SIGINT or SIGKILL, the value, to a process of this jail, whose pidfd comes
 *		beside the packet. UNSENT follows where that cannot be sent
 *	SCORE	let the kernel take this process first when memory runs out, or as late as
 *		`serve` itself: the value is 1 or 0; a pidfd as with SIGNAL
 *	MEASURE	what takes rights to see of a process of this jail, whose pidfd comes
 *		beside the packet: enum spawn_measure, the value. MEASURED follows with
 *		the same tag: when a process that reads it has ended, or at once with
 *		EBUSY where one does so for this jail already, or too many do. Who asks
 *		for a second before the answer may miss one of them
 *	PREPARE	have a template start, if the one that there is is too old, or there is
 *		none. STOCK follows in any case
 *	END	kill every process of this jail, also where it has not opened or has
 *		failed. ENDED follows when they are gone, and the number is free again
 * Anything else is the end of the spawner, and of all jails.
 *
 * answers: see struct spawn_answer. STOCK and STOP belong to no jail.
 */
#ifndef STEPJAIL_JAIL_SERVE_SPAWN_H
#define STEPJAIL_JAIL_SERVE_SPAWN_H

#include <stdint.h>

#include "init/err.h"
#include "jail/launch/cgroup/cgroup.h"

enum spawn_request_kind {
	SPAWN_OPEN = 1,
	SPAWN_SIGNAL,
	SPAWN_SCORE,
	SPAWN_END,
	SPAWN_PREPARE,
	SPAWN_MEASURE,
};

struct spawn_request {
	uint32_t kind, number, value;
	uint32_t tag; /* MEASURE: comes back with its answer */
};

enum spawn_measure {
	SPAWN_MEMORY, /* of it and all below it, each page once: proc_usage_exact() */
	SPAWN_OWN,    /* memory that no other process has */
	SPAWN_SHARED, /* what it shares with its ancestors: bits of spawn_shares */
	SPAWN_MEASURES,
};

enum spawn_shares {
	SPAWN_SHARES_MEMORY = 1,  /* writable mappings */
	SPAWN_SHARES_OFFSETS = 2, /* open files whose position is not 0 */
};

enum spawn_answer_kind {
	SPAWN_OPENED = 1, /* its walls are read back, and its program runs */
	SPAWN_FAILED,     /* errnum and text; END is still to be asked for */
	SPAWN_ENDED,      /* errnum and text where something of it was left behind */
	SPAWN_UNSENT,     /* errnum: why a signal could not be sent */
	SPAWN_STOCK,      /* what there is of templates has changed */
	SPAWN_MEASURED,   /* errnum, or bytes and cost_us; tag */
	SPAWN_STOP,       /* `serve` was sent the signal value: end all sessions */
};

/* what comes beside OPENED; a bit each in fds, in this order */
enum spawn_fd {
	SPAWN_CONTROL,     /* of init; it does not block */
	SPAWN_CHANNEL,     /* of the first interpreter, see channel.h */
	SPAWN_DIAGNOSTICS, /* what that writes to its stdout and stderr */
	SPAWN_FACTS,       /* sealed memfd: members of the JSON object of OPENED */
	SPAWN_LISTENER,    /* of violations; not where a surrounding one hears them */
	SPAWN_WORK,        /* O_PATH of its tmpfs; not where it cannot be opened */
	SPAWN_TMP,
	SPAWN_HELD, /* files of its cgroup leaf, as cgroup_hold() opens them, but not the
		     * first, which kills; not where no cgroup limits the jail */
	SPAWN_FDS = SPAWN_HELD + CGROUP_HELD - 1,
};

enum spawn_stock {
	SPAWN_STOCK_NONE, /* the next template must start before a clone of it is made */
	SPAWN_STOCK_OLD,  /* there is none that is not too old, nor is one awaited */
	SPAWN_STOCK_FRESH,
};

struct spawn_answer {
	uint32_t kind, number;
	uint32_t value;        /* OPENED: the template's number, 0 for none. STOCK: enum
			 * spawn_stock; number: this template, and all before it, are of
			 * no use any more */
	uint32_t fds;          /* OPENED: which fds came */
	uint32_t errnum;       /* FAILED, ENDED, UNSENT, MEASURED */
	int32_t init, program; /* OPENED: pids */
	uint32_t tag;
	uint64_t bytes, cost_us; /* MEASURED: the value; CPU time that it took */
	char text[ERR_TEXT_MAX];
};

_Static_assert(sizeof(struct spawn_request) == 16, "no padding");
_Static_assert(sizeof(struct spawn_answer) == 48 + ERR_TEXT_MAX, "no padding");

#endif
