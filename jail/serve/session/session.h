/* SPDX-License-Identifier: MIT */
/*
 * session.h - a jail whose states are processes, and the steps that run in it
 *
 * What its files share. See init/step_wire.h for the inside, init/serve_wire.h for
 * clients.
 *
 *	session_types.h    the structs
 *	session_life.c     a jail is asked for, opens, tells of ends, ends
 *	session_ask.c      a step, or a file operation, is asked of a state
 *	session_step.c     what a step says, up to its last packet
 *	session_io.c       pipes of steps and of the first interpreter
 *	session_media.c    what a step shows beside its output
 *	session_done.c     what became of a step: verdict, new state, answer
 *	session_limit.c    clocks, CPU time, memory; how a step is interrupted and killed
 *	session_memory.c   is there memory for one more process?
 *	session_sweep.c    which processes there are, and which of them may stay
 *	session_park.c     a state that waits does nothing else
 *	session_shared.c   what a state shares with the steps that came from it
 *	session_notify.c   violations and signals: whose, and whether they may go on
 *	session_say.c      answers in JSON
 *	session_spawn.c    what is asked of the spawner
 */
#pragma once

#include "init/io.h"
#include "init/media.h"
#include "init/serve_wire.h"
#include "jail/serve/session/session_types.h"
#include "jail/serve/wire/spawn.h"

/* session_life.c */

/**
 * session_open() - Start a jail with an interpreter in it
 * @once:	Copied, and its source taken
 *
 * Return: 0, or -errno: there is no such session then. What else goes wrong is told later
 */
int session_open(struct serve *serve, uint32_t number, struct once *once, struct err *e);

/** session_find() - The session of this number, or NULL */
struct session *session_find(struct serve *serve, uint32_t number);

/**
 * session_opened() - Its walls are read back, and its interpreter starts
 * @fds:	By enum spawn_fd, -1 for those that did not come. Those that are taken are
 *		set to -1
 */
void session_opened(struct session *s, const struct spawn_answer *a, int *fds);

/** session_ended() - All of its processes are gone; @e: NULL, or what was left behind */
void session_ended(struct session *s, const struct err *e);

/** session_each() - All that there are */
void session_each(struct serve *s, void (*act)(struct session *session));

/** session_end() - Kill it; CLOSED follows when it is gone. Words are the reason */
void session_end(struct session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* session_ask.c */

/** step_run() - Run a source; a sealed memfd, which is taken whatever this returns */
int step_run(struct session *s, struct branch *b, int source,
	     const struct step_limits *limits, struct err *e);

/** step_once() - Run ONCE's source, if this session has one and it is whole */
void step_once(struct session *s);

/**
 * step_file() - Begin a file operation
 * @mode:	As in struct serve_file
 * @data:	What PUT writes, taken whatever this returns; -1 of GET and LIST
 */
int step_file(struct session *s, uint32_t branch, enum step_kind kind, uint32_t mode,
	      const char *path, size_t path_bytes, int data, struct err *e);

/** step_ask() - Ask a state, or NULL, for its process; fds that it takes become -1 */
int step_ask(struct step *step, struct state *of, const struct wire_header *h,
	     const void *payload, int *fds, size_t count, struct err *e);

/* session_step.c */

/** step_receive() - Take packets of a state's channel, a few in one go */
void step_receive(struct port *channel);

/** step_hear_births() - Who was asked for, and has not been heard yet, may be there */
void step_hear_births(struct session *s);

/** step_drain() - All that its process has said before it ended */
void step_drain(struct state *state);

/** step_refuse() - It never began, or is a file's and failed: tell why, and forget it */
void step_refuse(struct step *step, struct refusal why, int errnum, const char *text);

/** step_forget() - Free it, at the end of the turn; its state is the caller's */
void step_forget(struct step *step);

/** step_discard() - The same, and its state, if it has any */
void step_discard(struct step *step);

/** state_new() - Return: NULL without memory */
struct state *state_new(struct session *s, uint32_t number, int channel);

/** state_hang_up() - Close its channel; as often as one likes */
void state_hang_up(struct state *state);

/** state_free() - Close its fds, and free it at the end of the turn */
void state_free(struct state *state);

/* session_io.c */

/** step_prepare_io() - A new step: its pipes are not there yet */
void step_prepare_io(struct step *step);

/**
 * step_pipes() - Make those that its kind has
 * @fds:	Gets the step's ends, in their places of enum step_fd
 *
 * Return: 0, or -errno
 */
int step_pipes(struct step *step, int *fds);

/** step_input() - Bytes for a running step's stdin, none for its end */
int step_input(struct step *step, const void *bytes, size_t length, struct err *e);

/**
 * step_empty() - Send what its pipes hold now, and no more
 *
 * It was written before what its process says next, which comes by another way.
 */
void step_empty(struct step *step);

/**
 * step_first() - State 0, by the channel of its interpreter, and what that writes; both
 * taken
 */
int step_first(struct session *s, int channel, int diagnostics, struct err *e);

/**
 * step_listen() - Wait for the output of a step, or not, while the client reads nothing
 *
 * Return: 0, or -ENOMEM
 */
int step_listen(struct step *step, bool listen);

/* session_done.c */

/** done_step() - It has said DONE, or its process is gone: judge, answer, forget */
void done_step(struct step *step);

/**
 * done_process() - Init says that a process has ended: a step's, a state's, or another
 */
void done_process(struct session *s, pid_t pid, const struct wire_exit *exit);

/**
 * done_drop() - End the oldest snapshot, for want of room; the next DONE says which
 *
 * Return: false where there is none
 */
bool done_drop(struct session *s);

/** done_pause() - A jail may make this happen without end: hear init again in a moment */
void done_pause(struct session *s);

/**
 * done_lost() - A state that waited has ended by itself; the first one ends its session
 */
void done_lost(struct state *state, const char *how);

/**
 * done_prune() - End states that no branch can come back to, and those beyond the limit
 */
void done_prune(struct session *s);

/* session_limit.c */

/** limit_prepare() - Set up the bells of a new step */
void limit_prepare(struct step *step);
/** limit_begin() - The step's process is there: its clocks run from now on */
void limit_begin(struct step *step);
/** limit_end() - Stop its clocks */
void limit_end(struct step *step);
/** limit_interrupt() - SIGINT, and SIGKILL after the grace; the cause is noted first */
void limit_interrupt(struct step *step, enum verdict cause);
/** limit_kill() - SIGKILL, the cause noted first */
void limit_kill(struct step *step, enum verdict cause);
/** limit_cpu_us() - CPU time that a step has used, as far as it is known */
uint64_t limit_cpu_us(const struct step *step);
/** limit_waited_us() - That of children that it waited for, by its own word */
uint64_t limit_waited_us(const struct step *step);
/** limit_process_cpu_us() - CPU time of a process, its children aside; 0 if not known */
uint64_t limit_process_cpu_us(pid_t pid);
/** limit_signal() - To a state's process, by pidfd */
void limit_signal(const struct state *state, int signal);

/* session_media.c */

/**
 * media_is_right() - May a step send this frame now?
 * @seen:	Counts it, if so
 * @limit_bytes:	That a step may show; 0: nothing at all
 *
 * Return: false when it is none, or not the next one; @seen is as it was
 */
bool media_is_right(struct media_seen *seen, const struct wire_header *h,
		    const void *payload, uint64_t limit_bytes);

/** media_take() - A MEDIA or PIECE of a running step: to the client, or dropped */
void media_take(struct step *step, const struct wire_header *h,
		const unsigned char *payload);

/** media_resume() - The client reads again */
void media_resume(struct step *step);

/* session_memory.c */

/** memory_allows() - May this state fork, or could a state be killed for that? */
bool memory_allows(const struct session *s, const struct state *of);

/**
 * memory_wait() - Are memory or processes short, and more to come? step_ask() is called
 * again
 * @fds:	Taken, if it is
 *
 * Return: false: there is nothing to wait for
 */
bool memory_wait(struct step *step, const struct wire_header *h, const void *payload,
		 int *fds, size_t count);

/** memory_forget() - Its request waits no more */
void memory_forget(struct step *step);

/* session_park.c */

/** park_end() - It is not expected to rest any more */
void park_end(struct state *state);
/** park_is_told() - Does serve hear when a process rests? Not without a listener */
bool park_is_told(const struct session *s);
/** park_is_call() - Is it the call by which a process rests? */
bool park_is_call(const struct seccomp_data *call);

/** park_await() - It is awake, and must rest soon */
void park_await(struct state *state);

/** park_told() - Init says that a process has stopped, or goes on */
void park_told(struct session *s, pid_t pid, bool stopped);

/** park_unheard() - A step has said DONE where no listener tells when it rests */
void park_unheard(struct step *step);

/**
 * park_hear() - A process makes that call; it may be the end of a step
 *
 * Return: false: this process need not rest, and its call goes on
 */
bool park_hear(struct session *s, const struct seccomp_notif *n);

/**
 * park_swept() - What a step had left is gone: the step is done, if it is held still
 * @strays:	How many were killed, or -errno where they cannot all be ended
 */
void park_swept(struct step *step, int strays);

/** park_wake() - It was sent a request: let it go, once, now or when it rests */
void park_wake(struct state *state);
/** park_look() - Are those that rest held still? A stop from outside wakes them */
void park_look(struct session *s);

/* session_spawn.c */

/** spawn_open() - Ask for a jail; session_opened() or session_end() follows */
void spawn_open(struct session *s);

/**
 * spawn_signal() - SIGINT or SIGKILL to a process of its jail, by pidfd; -1 for nobody
 */
void spawn_signal(const struct session *s, int pidfd, int signal);

/** spawn_score() - Have the kernel kill a running step first when memory runs out */
void spawn_score(struct state *state, bool running);

/** spawn_end() - Kill its jail; session_ended() follows */
void spawn_end(const struct session *s);

/**
 * measure_ask() - Have a state measured, or the whole jail if it is NULL
 * @came:	Called once, maybe at once: with an errnum where it is not known, as when
 *		the session ends
 *
 * One after the other, in this order.
 */
void measure_ask(struct session *s, enum spawn_measure what, const struct state *state,
		 void (*came)(struct session *s, void *owner,
			      const struct spawn_answer *a),
		 void *owner);

/** measure_came() - The spawner's answer */
void measure_came(struct session *s, const struct spawn_answer *a);

/** measure_end() - The session ends: all who wait get ECANCELED */
void measure_end(struct session *s);

/* session_sweep.c */

/**
 * sweep_adopt() - Is this init's child, with the number that it says? Then hold its pidfd
 *
 * If it has ended already, nobody can tell, but init will tell of its end. Its word is
 * noted then, and believed only when a process ends that is not otherwise known.
 * @told:	Its pid in the jail, as it says
 * @host:	As the kernel says
 */
int sweep_adopt(struct state *state, uint32_t told, pid_t host, struct err *e);

/**
 * sweep_step() - A step has ended: kill every process that is neither init, a state nor a
 * running step's, and then call park_swept()
 *
 * That is at once where there is none. Called again, it looks at all of them once more.
 */
void sweep_step(struct step *step);

/**
 * sweep_states() - The same for processes that waiting states have made: see restless
 * @rests:	One that rests, and has left something; NULL: only while no step runs
 */
void sweep_states(struct session *s, const struct state *rests);

/** sweep_stop() - End the walk; park_swept() is not called */
void sweep_stop(struct session *s);

/** sweep_inside() - A line of /proc/PID/status, as the innermost PID namespace counts; or
 * -1 */
pid_t sweep_inside(const char *text, const char *key);

/** sweep_bytes() - Memory that is a state's own at the most; 0 if unknown */
uint64_t sweep_bytes(const struct state *state);

/** sweep_known() - The state, of a step as well, that this process is, or NULL */
struct state *sweep_known(const struct session *s, pid_t host);

/** sweep_of_pid() - The same by its pid in the jail; a state also while it is ending */
struct state *sweep_of_pid(const struct session *s, pid_t pid);

/** sweep_has_none() - Has this process no child but those that are known? */
bool sweep_has_none(const struct session *s, pid_t host);

/* session_shared.c */

#define SHARED_BYTES 64 /* of not_rolled_back in an answer */

/** shared_ask() - Of the state that a step's branch goes back to; false: there is none */
bool shared_ask(struct step *step);
/** shared_text() - Bits of enum spawn_shares as a JSON list */
const char *shared_text(uint64_t shares);
/**
 * shared_wait() - Answer STATE when it is known what the state shares that a branch is at
 * @json:	An object without its closing brace, of SHARED_BYTES less than a frame's
 */
void shared_wait(struct session *s, uint32_t branch, const char *json);
/** shared_holds() - Where frames of this branch wait for such an answer, or NULL */
struct queue *shared_holds(struct session *s, uint32_t branch);

/* session_notify.c */

/** notify_open() - Listen to the calls that are told of */
void notify_open(struct session *s, int listener);

/* session_say.c */

/** say_opened() - OPENED, with what the spawner has told of the jail */
void say_opened(struct session *s);
/** step_memory() - The peak of a step's process in bytes, 0 where it is not known */
uint64_t step_memory(const struct step *step);
/** say_done() - DONE; @kept: its process is a state now; @reason: or NULL */
void say_done(struct step *step, const struct judgement *j, bool kept,
	      const char *reason);
/**
 * say_status() - STATE: one session, or all where it is NULL
 * @moved:	The branch is at another state now: say what that state shares
 */
void say_status(struct serve *serve, struct session *s, uint32_t branch, bool moved);
/** say_refused() - REFUSED */
void say_refused(struct serve *serve, uint32_t session, uint32_t branch,
		 const struct refusal *why, const char *text);
/** say_closed() - CLOSED, with its reason */
void say_closed(struct session *s);
