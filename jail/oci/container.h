/* SPDX-License-Identifier: MIT */
/*
 * container.h - a container's folder below --root, and what of it still runs
 *
 *	ROOT/ID/state.json	what create has found and made, replaced as a whole
 *	ROOT/ID/start		FIFO that the container's watcher waits at, see --hold
 *	ROOT/ID/plan		the options of its jail, as `stepjail explain` prints them
 *	ROOT/ID/report.json	the report of its run
 *
 * No process of stepjail-oci outlives its command. What runs is found by pid and start
 * time, so a number that the kernel has given to somebody else is never taken for it.
 */
#pragma once

#include <cjson/cJSON.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "init/err.h"

#define OCI_VERSION "1.0.2"

enum status { STATUS_CREATING, STATUS_CREATED, STATUS_RUNNING, STATUS_STOPPED };

extern const char *const status_names[];

/* a process, for as long as it is that one */
struct process {
	pid_t pid;      /* 0: none is known */
	uint64_t start; /* in clock ticks since the host's boot */
};

struct container {
	const char *id;
	char path[PATH_MAX];
	int folder;             /* holds the lock; -1: none */
	cJSON *json;            /* state.json; NULL: there is none */
	struct process watcher; /* `stepjail run`: the process that engines wait for */
	struct process program; /* the jail's PID 2 */
};

#define CONTAINER_NONE                                                                   \
	(struct container)                                                               \
	{                                                                                \
		.folder = -1                                                             \
	}
#define cleanup_container __attribute__((cleanup(container_close)))

/** container_root() - Where containers are without --root */
const char *container_root(void);

/**
 * container_make() - Make the folder of a new container, and lock it
 *
 * Return: 0, -EEXIST, -EINVAL (no name for a container), or -errno
 */
int container_make(struct container *c, const char *root, const char *id, struct err *e);

/**
 * container_open() - Lock a container's folder, and read its state
 * @change:	Nobody else may look meanwhile
 *
 * Waits for another command of the same container.
 *
 * Return: 0, -ENOENT, or -errno
 */
int container_open(struct container *c, const char *root, const char *id, bool change,
		   struct err *e);

/** container_save() - Write state.json, with the processes; 0, or -errno */
int container_save(struct container *c, struct err *e);

/** container_write() - Write a file as a whole, in place of one that is there */
int container_write(int folder, const char *name, const char *text, struct err *e);

/** container_remove() - Remove the folder; 0, or -errno */
int container_remove(const struct container *c, struct err *e);

/** container_close() - Release the lock; for cleanup_container */
void container_close(struct container *c);

/** container_status() - Where its life is, by what runs */
enum status container_status(const struct container *c);

/** container_start_fd() - Open the writer's end of the FIFO; -ENXIO: nobody waits */
int container_start_fd(const struct container *c);

/** process_find() - Note a process by its pid; start is 0 where it has ended */
struct process process_find(pid_t pid);

/** process_file() - The inode of a file that /proc has for it, such as "exe"; 0 where it
 * cannot be seen */
ino_t process_file(pid_t pid, const char *name);

/**
 * process_hold() - Get a pidfd of this process, and of no other
 *
 * Return: a pidfd, or -ESRCH: it has ended
 */
int process_hold(const struct process *p);

/** process_await() - Wait until it has ended; false: it has not within @ms */
bool process_await(const struct process *p, int ms);
