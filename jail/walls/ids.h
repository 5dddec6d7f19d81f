/* SPDX-License-Identifier: MIT */
/*
 * ids.h - which host user and group ids a jail runs under
 *
 * As root, each jail gets two host ids of its own out of a reserved range: one for init,
 * one for the program. No two jails share a kernel uid, so neither signals, nor /proc,
 * nor the kernel's counts of one uid (keys, pipes, epoll) join them. Counts that a user
 * namespace passes on (inotify, queued signals) do: jail/manual.mdoc, WHAT JAILS SHARE.
 * As an ordinary user, the only id there is to map is the user's own. See
 * user_namespaces(7).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "init/err.h"

/* the reserved range: IDS_SLOTS pairs from IDS_BASE; no distribution hands these out */
#define IDS_BASE 1879048192u
#define IDS_SLOTS 65536u
/* of files that are the kernel's while it runs; root's alone */
#define IDS_STATE_DIR "/run/stepjail"

/*
 * A process that is not dumpable has files in /proc that belong to id 0 of the user
 * namespace that its program was executed in. For a clone this is its template's. An
 * ordinary user's template maps that user to 0, so that the user's serve can write the
 * OOM scores of steps.
 */
struct ids {
	bool own;    /* this jail has two host ids that no other has; else the caller's */
	int slot_fd; /* holds the lock on the pair; -1 when not own */
	uid_t host_uid; /* of the jail's init; if own, the program's is one above */
	gid_t host_gid;
	uid_t init_id;    /* init's id inside the jail */
	uid_t program_id; /* the program's id inside the jail; 0 of a user's template */
	bool gives; /* of a template: maps all slots, to map a pair of them to a clone */
};

/**
 * ids_own() - Are jails to have host ids of their own?
 *
 * Return: 1 (the caller is the host's root), 0, or -errno; -EPERM for a part of the
 * host's ids with root among them, where a jail would run under host uid 0
 */
int ids_own(struct err *e);

/**
 * ids_take() - Choose the host ids of a jail, and lock them if they are its own
 * @ids:	Filled; slot_fd belongs to the caller. The lock lasts while any process
 * holds the fd open, so init keeps it too. Root's supplementary groups are given up
 *
 * Return: 0, -EAGAIN (nearly all slots are in use), or -errno
 */
int ids_take(struct ids *ids, struct err *e);

/**
 * ids_lock() - Lock a byte of the file of slots, or unlock it, without waiting
 * @fd:		slot_fd: the lock lasts while any process holds it open
 * @type:	F_WRLCK or F_UNLCK
 *
 * Return: 0, -EAGAIN or -EACCES (another open file has it), or another -errno
 */
int ids_lock(int fd, uint32_t byte, short type);

/**
 * ids_take_other() - Lock one more id, for a process that watches the jail
 * @id:		Gets the host's user and group id; 0 where the jail has no ids of its own
 *
 * The lock lasts as long as that on the jail's own.
 *
 * Return: as ids_take()
 */
int ids_take_other(const struct ids *ids, uid_t *id, struct err *e);

/**
 * ids_map() - Write the maps of a new user namespace, from outside
 * @pid:	Its first process
 *
 * Return: 0, or -errno of the write
 */
int ids_map(const struct ids *ids, pid_t pid, struct err *e);

/** ids_write_maps() - Write such maps, and deny setgroups in it; 0, or -errno */
int ids_write_maps(pid_t pid, const char *uids, const char *gids, bool deny,
		   struct err *e);

#define IDS_MAP_BYTES 192

/**
 * ids_print_map() - What ids_map() writes, a line for each extent, no newline at the end
 * @group:	gid_map, else uid_map
 * @text:	Gets at most IDS_MAP_BYTES
 *
 * A template's map also has each other pair of the range at the number that it has on the
 * host, so that the maps of its clones are the same text, seen from it or from the host.
 */
void ids_print_map(const struct ids *ids, bool group, char *text);

/** ids_program() - The host's uid of the program; its gid is ids_program_group() */
static inline uid_t ids_program(const struct ids *ids)
{
	return ids->host_uid + ids->own;
}

static inline gid_t ids_program_group(const struct ids *ids)
{
	return ids->host_gid + ids->own;
}

/**
 * ids_become() - Take an id inside the jail for good, all three of user and group
 *
 * Keeps the capabilities, whatever the id; caps_drop_all() must follow.
 *
 * Return: 0, or -errno
 */
int ids_become(uid_t id, struct err *e);
