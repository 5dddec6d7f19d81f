/* SPDX-License-Identifier: MIT */
/*
 * keeper.h - the process that ends jails when the process that watched them is gone
 *
 * A jail's watcher gives up its rights before it hears of the jail. What takes rights at
 * the end, to signal a jail's ids and to remove a cgroup leaf, stays with a keeper: one
 * for each launcher, forked before there is any leaf. The keeper reads no byte that a
 * jail wrote. It takes requests of one fixed size from the launcher; that of `run`, which
 * has one jail, is sealed once it has the jail, and then takes only the three that a
 * watcher needs. At end of file it kills all jails that it knows, removes their leaves
 * and exits, so a launcher that was killed leaves nothing behind.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "init/err.h"

#define KEEPER_NAME_MAX 64

/* what a jail's processes use, where no cgroup counts it */
struct keeper_sample {
	int32_t errnum;            /* why nothing is known, or 0 */
	uint32_t processes, tasks; /* tasks: their threads, each */
	uint64_t memory_bytes, cpu_us;
};

/* runs in the keeper; @init is stepjail-init's pid in the launcher's PID namespace */
typedef void keeper_look(void *owner, pid_t init, struct keeper_sample *s);

struct keeper {
	int socket;        /* -1: there is none */
	pid_t pid;         /* 0: there is none */
	bool one;          /* it has one jail, and ends with it */
	keeper_look *look; /* answers keeper_ask_sample(), or NULL */
	void *owner;       /* handed to look, in the keeper */
	uint32_t last;     /* number of the jail that was added last; 0 is none */
};

/**
 * keeper_start() - Fork the keeper, once
 * @k:		one, look and owner are set, socket is -1; ended by keeper_end()
 *
 * In a process group of its own, with no fd of the caller's but its socket, and with the
 * caller's signal mask, which must block all signals. keeper_add() and keeper_give() wait
 * until it listens.
 *
 * Return: 0, or -errno
 */
int keeper_start(struct keeper *k, struct err *e);

/**
 * keeper_become() - Be the keeper of a launcher that was cloned from this process
 * @socket:	The keeper's end of a SOCK_SEQPACKET pair; the launcher has the other as
 *		its struct keeper's socket, and no pid there
 * @launcher:	Its pidfd
 * @signals:	A signalfd(2): each signal is passed on to the launcher
 *
 * Returns when the launcher has ended, and what it left behind with it.
 *
 * Return: 0, or the errno of the first leaf that could not be removed
 */
int keeper_become(int socket, int launcher, int signals);

/**
 * keeper_add() - Have the keeper remove a cgroup leaf that is about to be made
 * @base:	Directory fd of the folder that the leaf will be in
 * @name:	The leaf's name there
 * @id:		Gets the number of this jail, which keeper_give() also takes
 *
 * The request is on its way before the leaf is there, so that no kill of the caller
 * leaves the leaf behind.
 *
 * Return: 0, or -errno; -EPIPE where the keeper was killed
 */
int keeper_add(struct keeper *k, int base, const char *name, uint32_t *id, struct err *e);

/**
 * keeper_give() - Give the keeper what it needs to kill a jail
 * @id:		From keeper_add(); where that is 0, there is no leaf, and it gets a number
 * @pid, @pidfd:	Of stepjail-init
 * @slot:	fd that holds the lock on the jail's ids, or -1: the keeper holds it, too
 *
 * Return: as keeper_add()
 */
int keeper_give(struct keeper *k, uint32_t *id, pid_t pid, int pidfd, int slot,
		struct err *e);

/** keeper_kill() - SIGKILL to a jail's init; 0, or -errno where the keeper is gone */
int keeper_kill(struct keeper *k, uint32_t id);

/** keeper_drop() - Kill a jail and remove its leaf; not waited for. Likewise. The only
 * one ends with keeper_end() */
int keeper_drop(struct keeper *k, uint32_t id);

/** keeper_ask_sample() - Ask what a jail uses; keeper_take_sample() answers. Likewise */
int keeper_ask_sample(struct keeper *k, uint32_t id);

/**
 * keeper_take_sample() - Take the answer
 * @wait_ms:	How long to wait for it, at most
 *
 * Return: 1, 0 (there is no answer yet), or -errno; -EPIPE where the keeper was killed
 */
int keeper_take_sample(struct keeper *k, int wait_ms, struct keeper_sample *s);

/** keeper_close() - Have all jails ended and their leaves removed, without a wait for
 * that */
void keeper_close(const struct keeper *k);

/**
 * keeper_end() - The same, and wait for it
 *
 * Return: 0, or -errno; -EBUSY for a leaf that is still there, -EOWNERDEAD where the
 * keeper was killed, -ETIMEDOUT where it did not end in time
 */
int keeper_end(struct keeper *k, struct err *e);
