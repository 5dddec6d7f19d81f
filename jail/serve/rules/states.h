/* SPDX-License-Identifier: MIT */
/*
 * states.h - which states a session has, and which of them its branches are at
 *
 * A table and its rules alone: nothing here knows of processes. A state is a snapshot
 * when no branch is at it.
 */
#pragma once

#include <stdbool.h>

#include "jail/base/event_loop.h"

#define STATES_MAX 512 /* those that are ending are still among them */
#define BRANCHES_MAX 64

struct step;

/* one process; a running step has one, too, which is not yet in the table */
struct state {
	uint32_t number;
	uint32_t parent; /* the state that it was made from, or the nearest one left */
	bool ending;     /* it is being killed, and init has not told of its end yet */
	uint64_t bytes;  /* of memory that is its own, at the most */
	struct session *session;
	struct step *step; /* that it runs, NULL for a state that waits */
	pid_t pid, host;   /* in the jail's PID namespace and in ours; 0: not known yet */
	pid_t told;  /* if it ended before it was looked at: the pid that it said; or 0 */
	int pidfd;   /* of the same, -1 */
	bool scored; /* the kernel takes it first when memory runs out */
	bool counted; /* its bytes are exact, as of the last count: session_done.c */
	unsigned int
		strays; /* that its steps left: until its process ends, they may count */
	uint64_t waited_us;          /* CPU time of children that its steps waited for */
	struct port channel;         /* stepjail's end */
	bool parked;                 /* it is at rest, see session_park.c: */
	bool stops;                  /* by SIGSTOP, or the kernel holds its call: */
	uint64_t park_id;            /* id of the notification */
	bool stopped;                /* init has told so, and not that it goes on */
	bool continued;              /* it was sent SIGCONT, which init will tell */
	unsigned int owed;           /* requests that it must still be let go for */
	struct bell late;            /* until it rests */
	uint64_t woken_ms, woken_us; /* when that began, its CPU time then */
	struct later end;
};

/* what comes in pieces, until it is whole */
struct pieces {
	int fd; /* memfd, -1 for none */
	uint64_t bytes;
	struct err error; /* why it is refused, which is told when it is to be used */
};

struct branch {
	uint32_t name;
	uint32_t head;        /* the state that it is at */
	bool lost;            /* that state ended by itself */
	struct pieces source; /* of the next step */
	struct step *step;    /* that runs on it, or NULL */
};

struct states {
	struct state *state[STATES_MAX]; /* by age */
	unsigned int count;
	struct branch branch[BRANCHES_MAX];
	unsigned int branches;
};

/** states_find() - The state of this number that has not been told to end, or NULL */
struct state *states_find(const struct states *t, uint32_t number);

/** states_branch() - The branch of this name, or NULL */
struct branch *states_branch(struct states *t, uint32_t name);

/** states_add() - Take a state into the table; -E2BIG when it is full */
int states_add(struct states *t, struct state *s);

/** states_fork() - A new branch at a state; -E2BIG when there is no room */
int states_fork(struct states *t, uint32_t name, uint32_t head);

/** states_drop() - Forget a branch; its source is the caller's to close */
void states_drop(struct states *t, struct branch *b);

/**
 * states_end() - Note that a state was told to end
 *
 * What was made from it counts as made from its own parent, so that a branch can still go
 * back further.
 */
void states_end(struct states *t, struct state *s);

/** states_lose() - The same for one that ended by itself: branches at it are lost */
void states_lose(struct states *t, struct state *s);

/** states_remove() - Take a state that is gone out of the table; it is the caller's */
void states_remove(struct states *t, const struct state *s);

/**
 * states_unreachable() - A state that no branch can come back to, or NULL
 *
 * One that is neither a branch's own nor one of those it was made from. State 0 never is.
 */
struct state *states_unreachable(const struct states *t);

/**
 * states_beyond() - The oldest snapshot, where there are more than @keep, or NULL
 *
 * State 0 is not counted.
 */
struct state *states_beyond(const struct states *t, uint64_t keep);

/** states_bytes() - Memory of all snapshots but state 0 */
uint64_t states_bytes(const struct states *t);

/** states_is_snapshot() - Is no branch at it, and is it neither state 0 nor ending? */
bool states_is_snapshot(const struct states *t, const struct state *s);
