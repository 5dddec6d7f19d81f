/* SPDX-License-Identifier: MIT */
/*
 * session.h - one interpreter in one jail, a step at a time
 *
 * Everything that comes out of the jail is hostile: frames are checked and bounded,
 * streams are clipped, each wait has an end. A step that will not end is interrupted at
 * its limit, killed GRACE later, and after another GRACE the whole jail goes and a new
 * one is made. What was lost on the way is told in struct step, truthfully.
 */
#ifndef STEPJAIL_AGENT_SESSION_H
#define STEPJAIL_AGENT_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/clip.h"
#include "agent/launch.h"
#include "agent/options.h"
#include "agent/stop.h"
#include "agent/verdict.h"
#include "init/wire.h"

#define SESSION_GRACE_MS 2000
#define SESSION_TRACE_MAX WIRE_PAYLOAD_MAX

struct session_plan {
	const char *stepjail; /* path */
	const char *rootfs;
	const struct opt_list *pass; /* name, value, name, value: for stepjail */
	const char *const *binds;    /* "FILE:/work/in/NAME" */
	size_t bind_count;
	uint64_t step_ms;     /* a step's wall-clock limit */
	uint64_t deadline_ms; /* the task's, on units_now_ms()'s clock */
};

struct step {
	struct verdict_facts facts;
	struct clip out, err, trace, result;
	uint64_t wall_ms;       /* by the agent's own clock */
	uint64_t cpu_ms;        /* as the jail tells */
	uint64_t max_rss_bytes; /* as the jail tells */
	uint32_t strays;        /* threads and children swept, as the jail tells */
	bool budget;            /* the task's wall budget ended it */
};

struct session {
	const struct session_plan *plan;
	struct stop *stop;
	struct child child;
	int socket;          /* to the interpreter, not blocking */
	int report_fd;       /* stepjail's report */
	int diag_fd;         /* what stepjail, and the interpreter beside steps, say */
	uint32_t step;       /* id of the last step */
	unsigned int jails;  /* how many have been started */
	bool breach;         /* frames made no sense */
	bool fresh;          /* STARTED came, no step has run since */
	struct text to_send; /* frames on their way into the jail */
	size_t sent;
	struct text report;
	struct clip diag;
	struct wire_reader reader;
};

/**
 * session_open() - Start the first jail and wait for its interpreter
 * @s:		Overwritten; large, keep it off the stack
 * @plan:	Stays valid as long as the session
 *
 * Return: 0, -EINTR (a signal came), or -errno with stepjail's own last line in @e
 */
int session_open(struct session *s, const struct session_plan *plan, struct stop *stop,
		 struct err *e);

/**
 * session_step() - Run one step to its end, whatever end that is
 * @code:	At most EXTRACT_CODE_MAX bytes of UTF-8
 * @step:	Overwritten; large
 *
 * Afterwards the session is ready for the next step, in a new jail where it had to be,
 * unless @step->budget is set.
 *
 * Return: 0, -EINTR (a signal came), or -errno where a new jail could not be started
 */
int session_step(struct session *s, const char *code, size_t length, struct step *step,
		 struct err *e);

/** session_close() - End the jail; safe on a session that was never opened but zeroed */
void session_close(struct session *s);

/* what session_pump() saw */
enum session_event {
	SESSION_QUIET, /* nothing that matters, or the deadline passed */
	SESSION_FRAME, /* a whole frame waits: wire_reader_take() */
	SESSION_GONE,  /* the jail has ended, or its frames made no sense */
};

/**
 * session_pump() - Wait for one event; send, and drain reports, on the way (session only)
 *
 * Return: enum session_event, or -EINTR where a signal came
 */
int session_pump(struct session *s, uint64_t deadline_ms);

/** session_start_jail() - A new jail with a waiting interpreter (session only) */
int session_start_jail(struct session *s, struct err *e);

/** session_end_jail() - End the jail, and read off its report why (session only) */
void session_end_jail(struct session *s, uint64_t patience_ms,
		      struct verdict_facts *facts);

/** session_queue() - Put a frame on its way (session only) */
void session_queue(struct session *s, uint16_t type, const void *payload, size_t length);

#endif
