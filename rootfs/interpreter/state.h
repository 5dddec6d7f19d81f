/* SPDX-License-Identifier: MIT */
/*
 * state.h - the states of a session: interpreters that wait, see init/step_wire.h
 *
 * startup.c starts Python; state.c waits, and forks what is to stay as it is; run.c runs
 * a step, with source.c and runner.py; files.c reads and writes files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "init/err.h"
#include "init/step_wire.h"
#include "rootfs/interpreter/python.h"

/**
 * interpreter_main() - The first interpreter of a jail; its channel is fd 0
 *
 * --preload a,b,c names modules to import first, --media-limit how many bytes a step may
 * show (0 without it). Return: exit status, on failure only
 */
int interpreter_main(int argc, char **argv);

/**
 * ready_python() - Start Python, load the runner, import what is to be there already
 * @preload:	Names of modules with commas between them, or NULL
 * @template:	Map the code of the tree's modules, too: see runner.py, map_code()
 * @media_bytes:	See media_prepare()
 *
 * Everything that exists by then is out of the cyclic collector's sight: see
 * python_start(). Ends the process, with a line or a traceback on stderr, when Python
 * does not start or a module is not there. Nothing of it asks for a channel: it is the
 * part of a start that a template does once.
 */
void ready_python(const char *preload, bool template, uint64_t media_bytes);

/**
 * state_serve() - Be state 0 of a session, after ready_python(); never returns
 * @channel:	SOCK_SEQPACKET to stepjail; any fd. It is moved, and 0 becomes /dev/null.
 *		Other fds than 0, 1, 2 are left open: they are the caller's to close
 *
 * For a process with one thread, which holds the GIL: the one that called ready_python(),
 * or a clone of it after PyOS_AfterFork_Child() in which the C library's thread id is
 * right (fork.h). Signals' dispositions and mask are set here, whatever they were.
 */
_Noreturn void state_serve(int channel);

/**
 * template_begin() - Before ready_python(): go on in a child, whose id no clone has
 *
 * The process itself waits for that child, and ends as it does.
 *
 * Return: in the child, 0; or -errno
 */
int template_begin(void);

/**
 * template_wait() - After ready_python(): be what warm jails are cloned from
 * @channel:	To the launcher, see jail/walls/warm.h
 *
 * Ends the process when the channel is at its end, or when it is of no use: the launcher
 * was told why.
 *
 * Return: in each clone, behind all walls of a jail of its own: the channel of state 0
 */
int template_wait(int channel);

/* what a request came with */
struct state_mail {
	uint16_t type;
	uint32_t step;
	size_t length; /* of the payload */
	unsigned char payload[sizeof(struct step_file) + STEP_PATH_MAX];
	int fds[STEP_FDS];
};

/**
 * run_prepare() - Once, before there are clones: handlers of signals, and how to run
 * @runner:	The module
 *
 * Return: 0, or -1 with an exception set
 */
int run_prepare(PyObject *runner);

/** run_begin() - Once, in state 0: those handlers, which a clone of a template has
 * lost */
void run_begin(void);

/**
 * run_fork() - Fork a sibling that is as this process is, but for its threads
 *
 * Return: 0 in the sibling, more than 0 in the caller, or -errno
 */
pid_t run_fork(void);

/** run_wake() - In such a sibling, before its first step */
void run_wake(void);

/**
 * run_step() - Run the step in this process, and tell how it went, up to DONE
 * @channel:	The process's own
 * @source:	The sealed memfd; closed
 * @step:	Its number
 *
 * Called with all signals blocked, and returns so. A process that must not become a state
 * does not return.
 *
 * Return: has it more threads now?
 */
bool run_step(int channel, int source, uint32_t step);

/** state_quiet() - For run_step(): 0, 1 and 2 are /dev/null again; a process that cannot
 * be asked for another step says so, and ends */
void state_quiet(void);

/**
 * files_serve() - Do one FILE, answer with DONE, end the process
 * @channel:	The process's own
 * @mail:	Checked to have a struct step_file, a path and two fds
 */
_Noreturn void files_serve(int channel, const struct state_mail *mail);
