/* SPDX-License-Identifier: MIT */
/*
 * session_types.h - a session, and the steps that run in it: see session.h
 */
#ifndef STEPJAIL_JAIL_SERVE_SESSION_SESSION_TYPES_H
#define STEPJAIL_JAIL_SERVE_SESSION_SESSION_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include "init/step_wire.h"
#include "jail/base/event_loop.h"
#include "jail/launch/cgroup/cgroup.h"
#include "jail/serve/refusal.h"
#include "jail/serve/serving.h"
#include "jail/serve/session/states.h"
#include "jail/watch/outcome.h"
#include "jail/watch/proc_usage.h"
#include "jail/watch/tmpfs_usage.h"
#include "jail/watch/violation.h"

#define OUT_TAIL_BYTES 4096
#define STDIN_BYTES_MAX (1u << 20) /* that wait for a step to read them */
#define DIAGNOSTIC_BYTES 200

enum session_phase {
	PHASE_STANDING, /* until the interpreter says that it is there */
	PHASE_OPEN,
	PHASE_CLOSING, /* killed; until the kernel has ended all of it */
};

enum step_kind {
	KIND_RUN,
	KIND_PUT,
	KIND_GET,
	KIND_LIST,
};

extern const uint16_t step_frames[]; /* by kind: the frame that a client asks for it by */

/* what a step has shown so far; zeroed at first */
struct media_seen {
	uint32_t objects;
	uint32_t left_out; /* forms that were too large */
	uint64_t bytes;    /* of all others, as they were announced */
	uint64_t due;      /* of these, that have not come: of the last one */
	uint32_t kinds;    /* of the last object, a bit each */
	uint16_t from;
};

/* and how it goes on to the client */
struct media_flow {
	struct media_seen seen;
	size_t late; /* bytes that were taken since the client did not read any more */
	bool held;   /* the step's channel is not read until it does */
};

/* stdout or stderr of a step */
struct stream {
	struct port port;
	uint64_t bytes;                     /* that were written to it */
	uint64_t sent;                      /* of these, to the client */
	unsigned char tail[OUT_TAIL_BYTES]; /* a ring: the last of those not sent */
};

struct step {
	struct session *session;
	struct step *next;
	enum step_kind kind;
	uint32_t number; /* in the session; that of the state which it may become */
	uint32_t branch; /* its name, also when it is dropped meanwhile */
	uint32_t from;   /* state that was asked for it */
	uint32_t asked;  /* by this number */
	bool waits;      /* its process is made ready, and has no source */
	bool unwanted;   /* it waits, and is to end as soon as it is there */
	int source;      /* of one that waited, -1 */
	struct state
		*state; /* its process; host is 0 until it has said that it is there */
	struct stream out[CAPTURE_STREAMS]; /* GET and LIST: data come by the first */
	struct port in;
	unsigned char *input; /* STDIN that waits, or NULL */
	size_t input_bytes;
	bool input_ends;
	bool have_done, have_result, have_trace, have_exit;
	struct media_flow media;
	struct wire_done done;
	struct step_filed filed;
	enum verdict killed;     /* why a signal was sent, noted before */
	bool interrupted;        /* by SIGINT; SIGKILL when the grace is over */
	unsigned int quarters;   /* of the grace, that have gone by */
	uint64_t quarter_us;     /* its CPU time at the first */
	bool sent_fds;           /* over its channel, for which it was killed */
	bool shot;               /* by SIGKILL; whatever it says now comes too late */
	bool alone;              /* no other step has run beside it */
	bool orphans;            /* or one did, and a process was seen that is nobody's */
	struct proc_usage watch; /* of its process and those below it, if not alone */
	uint32_t threads;        /* that it had left */
	bool have_shares;      /* its state is not kept, and the one before it shares: */
	uint64_t shares;       /* bits of enum spawn_shares */
	struct wire_exit exit; /* its process has ended, if have_exit */
	bool sweeping;         /* it has ended, and what it left is being ended */
	bool swept;            /* that is done */
	int strays;            /* that were killed then, or -errno */
	uint64_t wall_ms, cpu_ms; /* limits, NO_LIMIT for none */
	uint64_t seen_bytes;      /* of a GET or LIST, when its bell rang last */
	uint64_t start_ms;
	uint64_t cpu_before_us; /* of the whole jail */
	uint64_t cpu_early_us;  /* of its process, before the step began */
	uint64_t cpu_used_us;   /* as last looked at */
	struct bell wall, sample;
	struct asking *asking; /* its request waits for memory: session_memory.c */
	struct violations refused;
	struct later end;
};

/* ONCE: one step, then the end */
struct once {
	bool is;
	int source;      /* until it is run, and sealed when it is whole; or -1 */
	uint32_t bytes;  /* that it has */
	uint32_t awaits; /* that are yet to come, by CODE */
	uint64_t wall_ms, cpu_ms;
};

#define SWEEP_COUNTED 1024 /* strays that are known again while they die */

/* processes that are being ended, a few a turn: see session_sweep.c */
struct sweep {
	bool under_way;
	bool all; /* also what running steps have left, for a state rests again */
	struct step *step; /* whose strays they are; NULL: those of states that wait */
	struct bell look;
	struct walk walk;
	unsigned int rounds, left; /* walks, and who was alive in this one */
	unsigned int counted;      /* strays; those are the last of them: */
	pid_t stray[SWEEP_COUNTED];
	uint64_t start_ms;
};

struct session {
	struct serve *serve;
	struct session *next; /* in its bucket */
	uint32_t number;
	enum session_phase phase;
	bool waits;  /* nobody has asked for it yet: it has no number */
	bool opened; /* the client was told so */
	struct once once;
	/* its jail, as the spawner handed it over; each fd -1 where there is none */
	uint32_t jail;       /* the spawner's number for it */
	uint32_t template;   /* that it is a clone of, or 0 */
	pid_t init, program; /* host pids; 0 until it has opened */
	bool limited;        /* by a cgroup, of which it has the leaf alone */
	struct cgroup cgroup;
	bool listened; /* violations are heard of */
	int facts;
	struct tmpfs_usage tmpfs;
	struct port control, listener, diagnostics;
	struct wire_reader reader; /* of control */
	struct violations
		refused;   /* by the listener; for its budget, not for what it keeps */
	uint64_t start_ms; /* when it opened */
	struct proc_usage usage; /* where no cgroup counts: as last looked at */
	struct bell stand, flood, exits, measure_again;
	bool counting;               /* what snapshots have: session_done.c */
	struct waiting *waiting;     /* answers: session_shared.c */
	struct measuring *measuring; /* what the spawner was asked, and what comes next */
	uint32_t measure_tag;        /* of the last request */
	bool memory_asked;           /* the exact count is under way, since then: */
	uint64_t memory_asked_ms;
	struct states states;
	struct step *steps;    /* that run */
	struct step *ahead;    /* that wait for a source */
	uint64_t memory_bytes; /* of all processes, as last looked at */
	struct state *first;   /* state 0, until it is in the table */
	struct notify_policy policy;
	pid_t caller; /* thread that the policy decides on */
	struct sweep sweep;
	bool silent;                  /* one that was asked for did not come in time */
	unsigned int restless;        /* processes that ran when they were to wait */
	struct violations elsewhere;  /* those that belong to no step */
	struct cgroup_usage counted;  /* of the leaf, at the last end that was judged */
	uint32_t next_step, file_ops; /* the last of these was begun */
	struct put {
		bool under_way;
		int data;         /* memfd, or -1 */
		struct err error; /* what is wrong with it; answered at its END */
		struct refusal why;
		uint64_t bytes;
		uint32_t branch, mode;
		size_t path_bytes;
		char path[STEP_PATH_MAX];
	} put;
	/* the last line that the interpreter wrote, behind ": ", for the end of a message */
	char diagnostic[2 + DIAGNOSTIC_BYTES];
	size_t diagnostic_used;
	char reason[ERR_TEXT_MAX]; /* of its end */
	enum refusal_kind ended;   /* the same for REFUSED, if it never stood */
	struct later end;
};

#endif
