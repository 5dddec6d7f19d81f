/* SPDX-License-Identifier: MIT */
/*
 * cgroup_limit.h - a plan's limits, as a leaf's files have them
 */
#pragma once

#include <stdio.h>

#include "jail/plan/plan.h"

#define CGROUP_LIMITS 9
#define CGROUP_TEXT_MAX 512
#define CGROUP_DISK_MAX 128
#define CGROUP_DISKS_MAX 1024

/* what the kernel says that it enforces; empty where it has no such file */
struct cgroup_limits {
	bool known; /* all of it was read, and is as planned */
	char disk[PLAN_IO_MAX][CGROUP_DISK_MAX];   /* planned lines of io.max */
	char text[CGROUP_LIMITS][CGROUP_TEXT_MAX]; /* by the rows of the table */
	char disks[CGROUP_DISKS_MAX];              /* io.max */
};

/**
 * cgroup_limit() - Write all limits of a plan into an empty leaf
 * @leaf:	Directory fd of the leaf
 * @l:		Gets the planned lines of io.max: its devices are looked up here
 *
 * A limit that is the kernel's initial value is not written, so a kernel may lack its
 * file.
 *
 * Return: 0, or -errno
 */
int cgroup_limit(int leaf, const struct plan *p, struct cgroup_limits *l, struct err *e);

/**
 * cgroup_limit_total() - Limit all jails together
 * @base:	Directory fd of the folder that leaves are made in
 *
 * One number holds for all: the first that a run names is written, and a run that names
 * another is refused. So no run loosens what another was promised. A run that names none
 * lives below it as well.
 *
 * Return: 0, -EPROTO (there is another), or -errno
 */
int cgroup_limit_total(int base, const struct plan *p, struct err *e);

/**
 * cgroup_verify() - Read all limits of a leaf back and compare them with the plan
 * @l:		From cgroup_limit(); filled
 *
 * Memory is compared as the kernel keeps it, in whole pages, and CPUs by
 * cpuset.cpus.effective too, which is less than was written where the host gives less.
 *
 * Return: 0, or -errno: a file cannot be read, or says something else
 */
int cgroup_verify(int leaf, const struct plan *p, struct cgroup_limits *l, struct err *e);

/** cgroup_limits_print() - As a JSON object; null where not known */
void cgroup_limits_print(const struct cgroup_limits *l, FILE *out);

/**
 * cgroup_limits_missing() - As JSON strings: the limits of a plan that are not in force
 * @l:		As cgroup_verify() filled it: those that the kernel has no file for; NULL
 *		where there is no leaf: all
 *
 * Return: how many
 */
size_t cgroup_limits_missing(const struct plan *p, const struct cgroup_limits *l,
			     FILE *out);
