/* SPDX-License-Identifier: MIT */
/*
 * session.h - a session of `stepjail serve`: steps, states, branches, files
 *
 * Everything that comes out of a jail is hostile, and what stepjail says of it is taken
 * no better: frames and JSON are checked and bounded, streams are clipped, each wait has
 * an end. stepjail keeps a step's limits; a stepjail that does not is ended, and a new
 * one is started. What was lost on the way is told in struct step, truthfully.
 */
#pragma once

#include "agent/base/json.h"
#include "agent/session/jail_opts.h"
#include "agent/session/media.h"
#include "agent/session/serve.h"
#include "agent/session/verdict.h"

#define SESSION_REASON_BYTES 160
#define SESSION_PEEK UINT32_MAX   /* session_peek()'s branch */
#define SESSION_REPL_OUTPUT "16M" /* of each stream of a step, at a prompt */

/* The frames of init/serve_wire.h are this room's business. What others name of them has
 * names here; the numbers are those of the frames. */

enum session_heard {
	SESSION_OUT = WIRE_OUT, /* bytes of stdout, as are those of the next three */
	SESSION_ERR = WIRE_ERR, /* of stderr */
	SESSION_RESULT = WIRE_RESULT, /* of the last expression's value */
	SESSION_TRACE = WIRE_TRACE,   /* of a traceback */
	SESSION_SAID = WIRE_MEDIA,    /* a text of display(), whole */
	SESSION_TYPED = WIRE_STDIN,   /* a line that a person typed for the step */
};

/* of session_get() */
enum session_place {
	SESSION_FILE = WIRE_GET,    /* its bytes */
	SESSION_FOLDER = WIRE_LIST, /* its entries */
};

/* of session_change() */
enum session_change {
	SESSION_ROLLBACK =
		WIRE_ROLLBACK,        /* a branch is at this state again; files stay */
	SESSION_BRANCH = WIRE_BRANCH, /* a new branch, at this state */
	SESSION_DROP = WIRE_DROP,     /* forget a branch; its state is not looked at */
};

struct session_plan {
	const struct jail_options *jail;
	struct jail_binds *binds; /* of these options; puts are not for @stateless */
	const char *output_limit; /* of each stream of a step, that is sent; or NULL */
	uint64_t
		deadline_ms; /* the task's, on units_now_ms()'s clock; UINT64_MAX: none */
	bool stateless;      /* each step in a session of its own */
	bool interactive;    /* SIGINT interrupts the step, and not the agent */
	/* what comes of a step, as it comes: enum session_heard; or NULL */
	void (*heard)(void *arg, uint16_t type, const void *bytes, size_t length);
	void *heard_arg;
	uint64_t most_ms; /* of a step in another session of this command line; or 0 */
	/* the rest is for confined_serve() to fill in */
	const struct broker *broker;
	uint64_t step_ms; /* a step's wall-clock limit */
};

struct step {
	struct verdict_facts facts;
	union {
		struct clip streams[4]; /* in the order of their frames, from WIRE_OUT */
		struct {
			struct clip out, err, result, trace;
		};
	};
	struct media_list *media; /* what it shows: the session's, until its next step */
	uint64_t wall_ms;         /* by the agent's own clock */
	uint64_t cpu_ms;          /* as stepjail tells, like the next two */
	uint64_t memory_peak_bytes;
	uint32_t strays; /* child processes that were ended */
	bool budget;     /* the task's wall budget ended it */
	bool stopped;    /* a signal to the agent did */
	/* DONE, as stepjail tells: the session's, until its next step; NULL: not told */
	const cJSON *done;
};

struct session {
	const struct session_plan *plan;
	struct serve serve;
	uint32_t id; /* the last session's; a new one has a new one */
	bool open;
	uint32_t branch;  /* that steps run on */
	uint32_t state;   /* where it stands, as far as was told */
	uint64_t cpu_ms;  /* the next steps' processor time, 0 for stepjail's own limit */
	bool cpu_of_task; /* @cpu_ms is what is left of the task's own */
	uint32_t aside;   /* session_aside()'s own session while it waits, else 0 */
	uint32_t asides;  /* how many there were: their ids count down from the highest */
	unsigned int jails; /* how many have been asked for */
	/* why the last request was refused, or the last session lost; printable */
	char reason[SESSION_REASON_BYTES];
	cJSON *wall;             /* what the host says of a guest, or NULL */
	cJSON *json;             /* of the last frame, where it has some */
	cJSON *opened;           /* of the last OPENED: ids, posture, digests; or NULL */
	struct media_list media; /* of the last step, like the next */
	cJSON *done;
};

/* of a folder: its name is the jail's own, any bytes but NUL and slash */
struct session_entry {
	char kind; /* as ls(1) has it: '-' a file, 'd' a folder, 'l' a link */
	uint64_t size_bytes;
	uint64_t changed_s; /* since 1970 */
	const char *name;   /* points into the listing */
};

/* a frame of this session, or of that of session_aside() */
struct session_frame {
	bool aside;
	uint16_t type; /* WIRE_OUT to _DONE, WIRE_OPENED to _CLOSED */
	uint32_t branch;
	const char *bytes; /* behind struct serve_at; valid until the next frame */
	size_t length;
	const cJSON *json; /* what they say, likewise; NULL where they are no JSON */
};

/**
 * session_open() - Start stepjail and, unless stateless, the first session
 * @s:		Overwritten; large, keep it off the stack
 * @plan:	Stays valid as long as the session
 *
 * Return: 0, -EINTR (a signal came), or -errno with stepjail's own words in @e
 */
int session_open(struct session *s, const struct session_plan *plan, struct stop *stop,
		 struct err *e);

/** session_renew() - End the session where there is one, and begin a new one, in a new
 * stepjail where there is none; 0, or as session_open() */
int session_renew(struct session *s, struct err *e);

/**
 * session_step() - Run one step to its end, whatever end that is
 * @code:	At most EXTRACT_CODE_MAX bytes of UTF-8
 * @step:	Overwritten; large
 *
 * Afterwards the session is ready for the next step, a new one where it had to be, unless
 * @step->budget is set. What is in @step holds after a failure, too: the step had begun.
 *
 * Return: 0, -EINTR (a signal came), or -errno where no new one could be started
 */
int session_step(struct session *s, const char *code, size_t length, struct step *step,
		 struct err *e);

/**
 * session_peek() - Run code in a fork of the session that is thrown away
 *
 * All is as it was afterwards, but that a state's number is used up: files that the code
 * wrote, and a session that was lost with it, which @step tells and which is a new one.
 *
 * Return: as session_step(), or -EPERM (refused)
 */
int session_peek(struct session *s, const char *code, size_t length, struct step *step,
		 struct err *e);

/**
 * session_change() - Ask for something to be done with branches and states
 *
 * Which branch steps run on, and where it stands, is the caller's to change: @s->branch
 * and @s->state.
 *
 * Return: 0, -EPERM (refused, with stepjail's words; nothing was changed), -ENOTCONN (the
 * session is gone), -ETIMEDOUT, -EINTR
 */
int session_change(struct session *s, enum session_change change, uint32_t branch,
		   uint32_t state, struct err *e);

/** session_status() - What stepjail knows of the session, valid until the next frame;
 * NULL with @e, as session_change() */
const cJSON *session_status(struct session *s, struct err *e);

/** session_kill() - Kill the step that runs, if one does; its end is not waited for */
void session_kill(struct session *s);

/**
 * session_put() - Write a file's bytes, from its beginning, to a file below the jail's
 * /work
 * @path:	Relative to /work
 *
 * Return: as session_change(), or -errno of pread(2): nothing was written then
 */
int session_put(struct session *s, int fd, const char *path, struct err *e);

/** session_put_bytes() - The same with at most half of TEXT_MAX_BYTES; as
 * session_change() */
int session_put_bytes(struct session *s, const struct text *bytes, const char *path,
		      struct err *e);

/**
 * session_get() - Take a file's bytes, or a folder's entries (init/serve_wire.h)
 * @take:	Called for each piece; 0, or -errno with @e filled to hear no more
 *
 * Return: as session_change(), or @take's
 */
int session_get(struct session *s, enum session_place place, const char *path,
		int (*take)(void *arg, const char *bytes, size_t length, struct err *e),
		void *arg, struct err *e);

/** session_get_text() - Add what there is as far as @bytes' bound; as session_get(),
 * -E2BIG where it is more */
int session_get_text(struct session *s, enum session_place place, const char *path,
		     struct text *bytes, struct err *e);

/**
 * session_entry_next() - The next entry of what session_get_text() gave of a folder
 * @at:		Where it begins, 0 for the first; moved behind it
 *
 * Return: 1, 0 behind the last, or -EBADMSG: it is no entry, and @entry is not filled
 */
int session_entry_next(const struct text *list, size_t *at, struct session_entry *entry);

/**
 * session_aside() - Run the agent's own code, not the user's, in a fresh jail
 * @code:	At most STEP_SOURCE_MAX bytes of UTF-8, with a step's time
 * @out:	Gets what it writes to stdout, as far as it fits: bytes of a jail's
 *
 * The session's own branches, states and variables stay as they are. How the code ended
 * is not told: the caller sees in @out whether that is whole.
 *
 * Return: 0, -ECANCELED (interactive: SIGINT came), or as session_change()
 */
int session_aside(struct session *s, const char *code, size_t length, struct text *out,
		  struct err *e);

/** session_close() - End stepjail; safe on a session that was zeroed and never opened */
void session_close(struct session *s);

/**
 * session_next() - The next frame of this session (session only)
 *
 * Frames of earlier sessions are dropped, and refusals of what came too late for its
 * step: every other one answers what was asked. REFUSED and CLOSED leave @s->reason,
 * CLOSED leaves @s->open false.
 *
 * Return: enum serve_event, or -EINTR where a signal came
 */
int session_next(struct session *s, uint64_t deadline_ms, struct session_frame *f);

/** session_fits() - Whether this OPENED is of a stepjail of this version: 0, or -EPROTO
 * (session only) */
int session_fits(const struct session_frame *f, struct err *e);

/** session_send() - Queue a frame whose payload is its branch, and bytes (session
 * only) */
void session_send(struct session *s, uint16_t type, const void *bytes, size_t length);

/** session_interrupted() - Whether session_next() saw Ctrl-C at a prompt, which ends no
 * more than what is waited for; it is forgotten then (session only) */
bool session_interrupted(struct session *s, int event);

/**
 * session_failed() - Write an error about what came in place of an answer (session only)
 * @event:	session_next()'s; @f: its frame, where it is one
 *
 * But for a signal, a refusal and the end of the session, stepjail is ended: a late
 * answer would be taken for that to another question.
 *
 * Return: as session_change()
 */
int session_failed(struct session *s, int event, const struct session_frame *f,
		   struct err *e);

/* bytes of a frame behind its branch (session only) */
#define SESSION_PIECE (WIRE_PAYLOAD_MAX - sizeof(struct serve_at))

/** session_send_pieces() - Queue bytes of any number in frames of this type (session
 * only) */
void session_send_pieces(struct session *s, uint16_t type, uint32_t id, uint32_t branch,
			 const char *bytes, size_t length);

/** session_send_once() - Queue ONCE with this code, as session @id (session only) */
void session_send_once(struct session *s, uint32_t id, const char *code, size_t length);

/** session_late_ms() - When a stepjail that keeps a step's limit must have ended one that
 * begins now (session only) */
uint64_t session_late_ms(const struct session *s);
