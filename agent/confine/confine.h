/* SPDX-License-Identifier: MIT */
/*
 * confine.h - the walls that the agent's processes put around themselves, each before the
 * first hostile byte
 *
 * Two processes parse what is hostile, and each has what the other lacks:
 *
 *	main process	parses what models say and jails print. It holds no key, and has
 *			no socket but those to the broker, to its jails and to the client
 *	model client	holds the key and the network (agent/key/client.h). It parses TLS
 *			and HTTP, sees no jail, and makes and signals no process
 *
 * Whoever takes one of them over can execute nothing, make no process, trace nobody, and
 * open no file but those of its policy:
 *
 *	no_new_privs	no program gives it more than it has
 *	capabilities	none, as root too
 *	not dumpable	no core, and no other process of the user reads its memory
 *	Landlock	the files of the policy, the ports of the policy, where the kernel
 *			has it (confine_files.c)
 *	seccomp		a table of calls (confine_calls.c)
 *
 * Both policies are made of needs: a need is some rows of that table, and a policy names
 * its needs. Jails are started by a process that stays outside, knows no key and can do
 * nothing else (broker.h).
 *
 * What the kernel lacks is told in the facts, and is an error where it is required. All
 * of it is read back from the kernel, or tried, and what reads back otherwise is an
 * error.
 */
#pragma once

#include "agent/base/json.h"

#define CONFINE_PATHS_MAX 24
#define CONFINE_PORTS_MAX 8

/* what a process needs after it is confined */
enum confine_need {
	CONFINE_CONNECT = 1, /* TCP, to the ports of the policy: the client alone */
	CONFINE_NAMES = 2,   /* names become addresses: UDP, netlink, threads; likewise */
	CONFINE_READ = 4,    /* open files of the policy for reading */
	CONFINE_CREATE = 8,  /* make new files where the policy says */
	CONFINE_EDIT = 16,   /* set the terminal, and stop with it (Ctrl-Z) */
	CONFINE_KEEP = 32,   /* give new files their name, or take them back */
	CONFINE_COLLECT = 64,  /* make new files and folders where the policy says */
	CONFINE_CHILDREN = 128 /* have the broker start stepjails, wait, end them */
};

struct confine_path {
	const char *path;
	unsigned int makes; /* what may be done below it beside reading: new files, and
			       folders (CONFINE_COLLECT), files renamed and removed
			       (CONFINE_KEEP); 0 for nothing */
};

struct confine_policy {
	const char *who; /* in messages; NULL: the agent */
	unsigned int needs;
	uint16_t ports[CONFINE_PORTS_MAX];
	size_t port_count;
	struct confine_path
		paths[CONFINE_PATHS_MAX]; /* what does not exist is left out */
	size_t path_count;
	bool read_host;     /* all files but those below /proc, /sys and /dev, too */
	const void *secret; /* from secret_new(), or NULL; only looked at */
	size_t secret_bytes;
	bool required; /* to be confined in part is a failure */
};

/* what the kernel says, afterwards; of what is not here it says what was asked of it, or
 * there are no facts */
struct confine_facts {
	int landlock_abi; /* 0: none */
	bool files;       /* none but the policy's can be opened */
	bool ports;       /* none but the policy's can be reached: ABI 4, Linux 6.7 */
	bool counted;     /* the one filter; not by kernels before 5.9 */
	bool has_secret;
	bool locked; /* the secret's memory, which no dump has and no child */
};

/**
 * confine_add_path() - 0, or -E2BIG; the path is not copied
 * @makes:	CONFINE_CREATE, CONFINE_COLLECT, CONFINE_KEEP, or 0 to read alone. What is
 *		done there is a need of the policy, too, which is the caller's to add
 */
int confine_add_path(struct confine_policy *p, const char *path, unsigned int makes,
		     struct err *e);

/** confine_add_port() - 0, or -E2BIG */
int confine_add_port(struct confine_policy *p, uint16_t port, struct err *e);

/**
 * confine_self() - Confine this process, for good
 * @facts:	Overwritten
 *
 * Should be called when all that is not in the policy has been opened, the broker and the
 * model client run, and no thread has been started. Variables that may hold a key are
 * forgotten (secret.h).
 *
 * Return: 0, or -errno: a wall could not be put up or does not read back, or is missing
 * and required. The process may be confined in part then, and should end.
 */
int confine_self(const struct confine_policy *p, struct confine_facts *facts,
		 struct err *e);

/** confine_early() - For the beginning of main(): nobody looks into this process */
int confine_early(struct err *e);

/** confine_json() - The policy and the facts, for a report */
cJSON *confine_json(const struct confine_policy *p, const struct confine_facts *facts);

/** confine_missing() - One line on what is not confined, or nothing */
void confine_missing(const struct confine_policy *p, const struct confine_facts *facts,
		     struct text *line);

/* ---- the two files that put up a wall each (confine.c and tests only) */

/** confine_landlock_abi() - What the kernel offers; 0 for none, or -errno */
int confine_landlock_abi(struct err *e);

/**
 * confine_files() - Landlock, by the rights that an ABI knows, and try whether it holds
 * @abi:	1 or more; fewer than the kernel has is what an older one would do
 *
 * Return: 0, or -errno
 */
int confine_files(const struct confine_policy *p, int abi, struct err *e);

/** confine_calls() - The seccomp filter of these needs; 0, or -errno: -EINVAL where a row
 * names no system call of any architecture */
int confine_calls(unsigned int needs, struct err *e);
