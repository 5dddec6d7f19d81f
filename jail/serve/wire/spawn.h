/* SPDX-License-Identifier: MIT */
/*
 * spawn.h - what the supervisor of sessions asks of the spawner, and what it is told
 *
 * The spawner is privileged: it launches jails by a plan that was fixed at its start, and
 * ends them. The supervisor has no rights, and reads everything that a jail or the client
 * says. Between them is one SOCK_SEQPACKET socket, and every packet has one of the two
 * sizes below. The spawner waits for nobody: what takes time is told later.
 *
 * requests
 *	OPEN	Launch a jail; the supervisor chooses its number. OPENED or FAILED
 *		follows.
 *	SIGNAL	Send SIGINT, SIGKILL or SIGCONT, the value, to a process of this jail;
 *		its pidfd comes beside the packet. UNSENT follows if that fails.
 *	SCORE	Value 1: the kernel kills this process first when memory runs out;
 *		0: as late as `serve` itself. A pidfd as with SIGNAL.
 *	MEASURE	Read what takes rights to see of a process of this jail: the value is
 *		an enum spawn_measure. A pidfd as with SIGNAL. MEASURED follows with
 *		the same tag, when the process that reads it has ended; or at once,
 *		with EBUSY, if this jail is being measured already, or too many are.
 *		Who asks again before the answer may miss one of the two.
 *	END	Kill every process of this jail, even if it has not opened, or has
 *		failed. ENDED follows when they are gone; the number is free then.
 * Any other packet ends the spawner, and all jails with it.
 *
 * answers: see struct spawn_answer. TEMPLATE and STOP belong to no jail.
 */
#pragma once

#include "jail/egress/log.h"
#include "jail/launch/cgroup/cgroup.h"

enum spawn_request_kind {
	SPAWN_OPEN = 1,
	SPAWN_SIGNAL,
	SPAWN_SCORE,
	SPAWN_END,
	SPAWN_MEASURE,
};

struct spawn_request {
	uint32_t kind, number, value;
	uint32_t tag; /* MEASURE: comes back with its answer */
};

enum spawn_measure {
	SPAWN_MEMORY, /* of it and all below it, each page once: proc_usage_exact() */
	SPAWN_OWN,    /* its share: of a page that N processes have, one Nth */
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
	SPAWN_TEMPLATE,   /* once: no template must be awaited before OPEN */
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
	SPAWN_LOCKS, /* its PID namespace's list of file locks; not with 0 of them */
	SPAWN_WORK,  /* O_PATH of its tmpfs; not where it cannot be opened */
	SPAWN_TMP,
	SPAWN_PROXY, /* enum egress_fd of --allow-host; not where no host is allowed */
	/* files of its cgroup leaf, as cgroup_hold() opens them, but not the first, which
	 * kills; not where no cgroup limits the jail */
	SPAWN_HELD = SPAWN_PROXY + EGRESS_FDS,
	SPAWN_FDS = SPAWN_HELD + CGROUP_HELD - 1,
};

struct spawn_answer {
	uint32_t kind, number;
	uint32_t value;        /* STOP: the signal */
	uint32_t fds;          /* OPENED: which fds came */
	uint32_t errnum;       /* FAILED, ENDED, UNSENT, MEASURED */
	int32_t init, program; /* OPENED: pids */
	uint32_t tag;
	uint64_t bytes,
		cost_us; /* MEASURED: the value; of MEMORY, CPU time that it took */
	char text[ERR_TEXT_MAX];
};

_Static_assert(sizeof(struct spawn_request) == 16, "no padding");
_Static_assert(sizeof(struct spawn_answer) == 48 + ERR_TEXT_MAX, "no padding");
