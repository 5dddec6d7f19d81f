/* SPDX-License-Identifier: MIT */
/*
 * serve_wire.h - between a client and `stepjail serve`: many sessions over one stream
 *
 * The client's end of fd 0 carries frames both ways (init/wire.h). The header's step
 * field is the session, a number that the client chooses in OPEN or ONCE, not 0. The
 * payload of every frame of a session begins with struct serve_at: which branch of it.
 * A branch is a name for a state, and a session begins with branch 0 at state 0. States
 * are numbered as they are made: the n-th step of a session makes state n if it is alive
 * at its end. A RUN that is REFUSED is no step, unless the answer has its number. JSON is
 * one object, UTF-8, without a newline; see stepjail(1).
 *
 * to stepjail
 *	OPEN		begin a session; until it is OPENED, it takes nothing but CLOSE
 *	ONCE		struct serve_limits, source: begin a session, run that as its only
 *			step, end it. OPENED, output, DONE and CLOSED follow. Of a source
 *			that is too long for a frame, the rest follows by CODE at once
 *	CODE		a piece of the next step's source on this branch. It has no
 *			answer: what is wrong with it is in the answer to RUN. More than
 *			ONCE has said will follow ends the session
 *	RUN		struct serve_limits: the source is whole, run it on this branch.
 *			It is used up then, also where RUN is refused
 *	STDIN		bytes for the running step's stdin; none at all: its end of file
 *	INTERRUPT	SIGINT to the running step, another at half the grace of --grace
 *			if it sleeps on, and SIGKILL when it is still there at its end.
 *			struct serve_step: only if it is this one; struct serve_at
 *			alone: whichever it is
 *	KILL		SIGKILL to it, likewise
 *	ROLLBACK	struct serve_state: this branch is at that state again; states
 *			that no branch can come back to are ended, but for state 0
 *	BRANCH		struct serve_state: a new branch, named by serve_at, at that state
 *	DROP		forget this branch; not the last one
 *	PUT		struct serve_file, path: write a file below /work; DATA follow,
 *			then END, which has the one answer to all of it. One at a time
 *			in a session. Nothing is written before END has come; END as
 *			struct serve_end may drop it, and then nothing is at all
 *	GET, LIST	struct serve_file, path: read a file; list a folder
 *	DATA, END	of a PUT
 *	STATUS		of the session; session 0: of all
 *	CLOSE		end the session
 * to the client
 *	WALL		JSON: of --wall vm alone, where it is the first frame of all, of
 *			session 0: what the host says of the guest that all other frames
 *			come from, in "vm". A later WALL is not the host's
 *	OPENED		JSON: the session is open; stepjail's version, its ids, posture
 *			and digests, what this host lacks, and what the kernel tells of
 *			the supervisor that reads what it says
 *	OUT, ERR	bytes that the step wrote, in order within each: the first
 *			--output-limit of each. Of what comes then, DONE has the number
 *			and the last 4 KiB
 *	RESULT, TRACE	texts, as in init/step_wire.h
 *	MEDIA, PIECE	what the step shows, as in init/media.h, while it runs: tables,
 *			pictures. An item whose PIECEs have not all come when DONE does is
 *			incomplete, and DONE's "media" counts no more than came. Between
 *			them other frames may come, also OUT and ERR of the same step
 *	DONE		JSON: how the step ended: verdict, state, usage, and what was cut.
 *			If it was rolled back, "not_rolled_back" lists what the state
 *			has that a fork shares, and that is therefore as the step left
 *			it: "shared-memory", "file-offsets". Else it is null. Files
 *			never go back
 *	STATE		JSON: the answer to ROLLBACK, BRANCH, DROP and STATUS: branches
 *			and states of the session. To ROLLBACK and BRANCH also
 *			"not_rolled_back", as in DONE. To PUT: {"bytes": N}; to one that
 *			was dropped, {"bytes": 0, "dropped": true}
 *	DATA, END	of a GET or LIST; END is JSON. LIST's data are entries: a letter
 *			for the kind as in ls(1), size, mtime in seconds, name, with one
 *			space between and a NUL at the end; in the order of their names'
 *			bytes
 *	REFUSED		JSON, in place of the answer; nothing was changed. To OPEN and
 *			ONCE: there is no such session. "kind" is one of the words
 *			below, "limit" which one it was, "frame" the name of the frame
 *			that this answers, "step" the one that is in the way, or that
 *			was not begun; each of these three may be null. "error" is a
 *			line for people
 *	CLOSED		JSON: {"reason": "..."}: the session is gone; its last frame. Steps
 *			that ran have had their DONE
 *
 * kinds of REFUSED
 *	bad-frame	a payload of another size, or not the client's to send; a number,
 *			a path or a mode that is none
 *	out-of-turn	DATA or END without PUT, STDIN after its end, DROP of the last
 *			branch, RUN in a session of ONCE
 *	no-session	OPEN it
 *	not-open	it is not open yet: wait for OPENED
 *	ending		it is ending: wait for CLOSED
 *	closed		to OPEN and ONCE: it was closed before it was open
 *	stopped		the same: serve ends
 *	exists		a session, or a branch, of this number is there already
 *	no-branch	of this name
 *	no-state	of this number; or that of the branch is lost: ROLLBACK
 *	no-step		none runs on this branch, or not the one that was named: to STDIN,
 *			INTERRUPT and KILL. If one did, its DONE was sent before this
 *	busy		a step runs on this branch, or a PUT is under way: wait, or end it
 *	limit		"limit" says which: an option's name (sessions, wall-time, cpu-time,
 *			pids, memory, work-size), or what has a fixed one: source, stdin,
 *			branches;
 *			of PUT, GET and LIST, wall-time: it took longer; of a GET or LIST,
 *			that long without a byte, while its client reads
 *	file		PUT, GET or LIST of this path failed
 *	failed		of the host's: memory, fds, processes; or a jail's set-up
 *
 * A client that closes its end, or the half of it that it writes to, ends all of its
 * sessions. A client that does not read is waited for: the output of its steps waits in
 * their pipes, and that of other sessions on the same stream with it, and no more of its
 * frames are taken. Bytes that are no frame end stepjail, with a line on its stderr.
 */
#pragma once

#include <stdint.h>

/* the beginning of every payload of a session's frame */
struct serve_at {
	uint32_t branch;
};

/* RUN and ONCE: 0 takes the policy's own; more than the policy's is refused */
struct serve_limits {
	uint32_t branch;
	uint32_t awaits; /* ONCE: bytes of its source that follow by CODE; RUN: 0 */
	uint64_t wall_ms;
	uint64_t cpu_ms;
};

/* INTERRUPT and KILL, which take struct serve_at alone as well */
struct serve_step {
	uint32_t branch;
	uint32_t step; /* 0: whichever runs */
};

/* ROLLBACK and BRANCH */
struct serve_state {
	uint32_t branch;
	uint32_t state;
};

/* PUT, GET, LIST; the path follows, relative to /work, without a NUL */
struct serve_file {
	uint32_t branch;
	uint32_t mode; /* PUT: permission bits, 0 for 0644; GET and LIST: of more bytes
			  than these it is REFUSED, 0 for --work-size */
};

/* END of a PUT, which takes struct serve_at alone as well */
struct serve_end {
	uint32_t branch;
	uint32_t drop; /* not 0: forget the PUT */
};

_Static_assert(sizeof(struct serve_at) == 4, "no padding on the wire");
_Static_assert(sizeof(struct serve_limits) == 24, "no padding on the wire");
_Static_assert(sizeof(struct serve_step) == 8, "no padding on the wire");
_Static_assert(sizeof(struct serve_state) == 8, "no padding on the wire");
_Static_assert(sizeof(struct serve_end) == 8, "no padding on the wire");
_Static_assert(sizeof(struct serve_file) == 8, "no padding on the wire");
