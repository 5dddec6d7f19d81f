/* SPDX-License-Identifier: MIT */
/*
 * posture.h - the walls around the waiting program, as the kernel tells them
 */
#pragma once

#include "jail/base/json.h"
#include "jail/base/procfs.h"
#include "jail/launch/launch.h"

/*
 * What a function of the read-back is given. Each function compares one thing with the
 * plan and writes it as a JSON value. It returns 0; -EPERM, where the thing is not as
 * planned; or another -errno, where the thing cannot be read. Tests hand in texts of
 * their own.
 */
struct look {
	const struct jail *jail;
	/* what the program's process has said, and who it is; NULL until then */
	const struct gate_ready *ready;
	int dir; /* its folder in /proc, as procfs_open() gives it */
	FILE *out;
	const char *name; /* of the thing, in the report and in messages */
	char *text; /* of the file of the function's row in posture.c; "" if it has none;
		       may be cut up */
};

struct posture {
	struct look look;
	struct err failed; /* what posture_early() could not read */
	/* members of an object, each with a comma in front: see report_posture(). After
	 * posture_read(): NULL unless all was read back, and is as planned */
	char *json;
};

/**
 * posture_early() - Read back of the program what no stage after session can change
 * @ready:	As far as it has come; lives as long as @p
 * @p:		Zeroed; what is allocated lives until posture_end()
 *
 * For the time from the first byte of READY to the last, in which the launcher has
 * nothing else to do. What cannot be read is posture_read()'s error.
 *
 * Return: 0, or as posture_read()
 */
int posture_early(const struct jail *jail, const struct gate_ready *ready,
		  struct posture *p, struct err *e);

/**
 * posture_read() - Read back the rest, which holds for the program while it waits at the
 * gate
 * @jail:	What was planned; of a template, the rows that it has
 * @ready:	What its process has said at the gate
 *
 * Return: 0, -EPERM when a wall reads back otherwise than planned, or -errno when it
 * cannot be read: the program must then not run
 */
int posture_read(const struct jail *jail, const struct gate_ready *ready,
		 struct posture *p, struct err *e);

/** posture_end() - Free what was read, where one process makes many */
void posture_end(struct posture *p);

/* The functions of the read-back, by file */
/* posture_status.c: capabilities, no_new_privs, seccomp, ids, the session */
int posture_status(const struct look *l, struct err *e);
/* posture_file.c: "uid_map", "gid_map" or "setgroups"; the limits; the leaf; one CPU in
 * "status"; the execution domain; offsets of clocks */
int posture_map(const struct look *l, struct err *e);
int posture_rlimits(const struct look *l, struct err *e);
int posture_cgroup(const struct look *l, struct err *e);
int posture_cpu(const struct look *l, struct err *e);
int posture_domain(const struct look *l, struct err *e);
int posture_clocks(const struct look *l, struct err *e);
/* posture_network.c */
int posture_network(const struct look *l, struct err *e);
/* posture_mount.c */
int posture_mounts(const struct look *l, struct err *e);

/* what /proc/PID/status must tell of a process behind walls */
struct status_plan {
	unsigned int uid, gid;
	bool own;      /* nobody else's, so that there are no supplementary groups */
	uint64_t caps; /* of all sets but the bounding set */
	unsigned long filters;
	/* of a jail's program, in the caller's PID namespace; 0: the process is one of
	 * stepjail's own */
	pid_t pid;
	bool warm;
};

/**
 * posture_compare() - Compare the text of such a file, and write it as a JSON object,
 * whose end is the caller's to write
 *
 * Return: 0, or -EPERM with the row that reads otherwise
 */
int posture_compare(const char *text, const struct status_plan *p, FILE *out,
		    struct err *e);

/** posture_print_landlock() - Write the ABI in force, and what trying came to, as JSON */
void posture_print_landlock(int abi, FILE *out);

/** posture_own_filters() - How many filters the calling process lives behind */
unsigned long posture_own_filters(void);

/** posture_refuse() - Say that @name reads @told where @planned was planned; -EPERM */
int posture_refuse(const char *name, const char *told, const char *planned,
		   struct err *e);
