/* SPDX-License-Identifier: MIT */
/*
 * session_types.h - a session, and the steps that run in it: see session.h
 */
#pragma once

#include "init/step_wire.h"
#include "jail/egress/report.h"
#include "jail/serve/wire/refusal.h"
#include "jail/serve/session/serving.h"
#include "jail/serve/rules/states.h"
#include "jail/watch/outcome.h"
#include "jail/serve/session/walk.h"

#define OUT_TAIL_BYTES 4096
#define STDIN_BYTES_MAX (1u << 20) /* that wait for a step to read them */
#define DIAGNOSTIC_BYTES 200

enum session_phase {
	PHASE_STARTING, /* until the interpreter says that it is there */
	PHASE_OPEN,
	PHASE_CLOSING, /* killed; until the kernel has ended all of it */
};

enum step_kind {
	KIND_RUN,
	KIND_PUT,
	KIND_GET,
	KIND_LIST,
};

/* what a step has shown so far; zeroed at first */
struct media_seen {
	uint32_t objects;
	uint32_t left_out; /* forms that were too large */
	uint64_t bytes;    /* of all other forms, as announced */
	uint64_t due;      /* bytes of the last form that are still to come */
	uint32_t kinds;    /* forms of the last object, a bit each */
	uint16_t from;
};

/* how it is passed on to the client */
struct media_flow {
	struct media_seen seen;
	size_t late; /* bytes that were taken while the client did not read */
	bool held;   /* the step's channel is not read until the client reads again */
};

/* stdout or stderr of a step */
struct stream {
	struct port port;
	uint64_t bytes;                     /* that were written to it */
	uint64_t sent;                      /* of these, to the client */
	unsigned char tail[OUT_TAIL_BYTES]; /* a ring: the last of those not sent */
};

/* each NO_LIMIT for none */
struct step_limits {
	uint64_t wall_ms, cpu_ms;
};

struct step {
	struct session *session;
	struct step *next;
	enum step_kind kind;
	uint32_t number; /* in the session; that of the state which it may become */
	uint32_t branch; /* its name, also when it is dropped meanwhile */
	uint32_t from;   /* state that was asked for its process */
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
	unsigned int quarters;   /* of the grace that are over */
	uint64_t quarter_us;     /* its CPU time at the first */
	bool sent_fds;           /* over its channel, for which it was killed */
	bool shot;               /* SIGKILL was sent: what it says is ignored */
	bool alone;              /* no other step has run beside it */
	bool orphans;            /* one did, and a process was seen whose parent ended */
	struct proc_usage watch; /* of its process and those below it, if not alone */
	uint32_t threads;        /* that were left when it ended */
	bool have_shares;        /* it was asked what the state before it shares: */
	uint64_t shares;         /* bits of enum spawn_shares */
	struct wire_exit exit;   /* its process has ended, if have_exit */
	bool sweeping;           /* it has ended, and what it left is being killed */
	bool swept;              /* that is done */
	int strays;              /* that were killed then, or -errno */
	struct step_limits limits;
	uint64_t seen_bytes; /* of GET or LIST: output when its bell rang last */
	uint64_t start_ms;
	uint64_t cpu_before_us; /* of the whole jail */
	uint64_t cpu_used_us;   /* as last looked at */
	uint64_t own_before_us; /* of its process, for earlier steps */
	struct bell wall, sample;
	struct asking *asking; /* its request waits for memory: session_memory.c */
	struct violations refused;
	struct later end;
};

/* ONCE: one step, then the end */
struct once {
	bool is;
	int source;      /* memfd until it is run, sealed when it is whole; or -1 */
	uint32_t bytes;  /* that it has */
	uint32_t awaits; /* that are yet to come, by CODE */
	struct step_limits limits;
};

/* processes that are being ended, a few a turn: see session_sweep.c */
struct sweep {
	bool under_way;
	bool all; /* also while steps run: a state that rests has left something */
	struct step *step; /* that has left them; NULL: states that wait have */
	struct bell look;
	struct walk walk;
	unsigned int rounds, left; /* walks; unknown processes alive in this one */
	unsigned int found;        /* of these, strays */
	unsigned int counted;      /* strays, by the walk that found most */
	uint64_t start_ms;
};

struct session {
	struct serve *serve;
	struct session *next; /* in its bucket */
	uint32_t number;
	enum session_phase phase;
	bool opened; /* the client was told so */
	struct once once;
	/* its jail, as the spawner handed it over; each fd -1 where there is none */
	uint32_t jail;       /* the spawner's number for it */
	pid_t init, program; /* host pids; 0 until it has opened */
	bool limited;        /* by a cgroup, of which it has the leaf alone */
	struct cgroup cgroup;
	bool listened;                 /* violations are heard of */
	int facts, locks;              /* locks: its list of file locks */
	struct egress egress;          /* socket, log and counts of its proxy */
	struct egress_log egress_told; /* of it, to the client */
	struct tmpfs_usage tmpfs;
	struct port control, listener, diagnostics;
	struct wire_reader reader; /* of control */
	struct violations
		refused;   /* for the listener's budget alone: it keeps no violations */
	uint64_t start_ms; /* when it opened */
	struct proc_usage usage; /* where no cgroup counts: as last looked at */
	struct bell startup, flood, exits, measure_again, locked;
	bool counting;               /* memory of snapshots: session_done.c */
	struct waiting *waiting;     /* answers that are not said yet: session_shared.c */
	struct measuring *measuring; /* requests to the spawner: session_spawn.c */
	uint32_t measure_tag;        /* of the last request */
	bool memory_asked;           /* the exact count is under way, since then: */
	uint64_t memory_asked_ms;
	struct states states;
	uint32_t *dropped; /* states that went for want of room since the last DONE */
	size_t dropped_count;
	struct step *steps; /* that run */
	struct notify_policy policy;
	pid_t caller; /* thread that the policy decides on */
	struct sweep sweep;
	unsigned int restless;        /* processes that ran when they were to wait */
	struct violations elsewhere;  /* of processes that belong to no step */
	struct cgroup_usage counted;  /* of the leaf, when a step was last judged */
	uint32_t next_step, file_ops; /* numbers: of the next step, of the last file */
	struct put {
		bool under_way;
		struct pieces file;
		uint32_t branch, mode;
		size_t path_bytes;
		char path[STEP_PATH_MAX];
	} put;
	/* the last line that the interpreter wrote, behind a colon and a space */
	char diagnostic[2 + DIAGNOSTIC_BYTES];
	size_t diagnostic_used;
	char reason[ERR_TEXT_MAX]; /* of its end */
	enum refusal_kind ended;   /* the same for REFUSED, if it never opened */
	struct later end;
};
