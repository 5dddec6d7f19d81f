/* SPDX-License-Identifier: MIT */
/*
 * machine.h - what the machine has left, and what a tree of processes has used
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/** machine_available_bytes() - MemAvailable of /proc/meminfo; see proc(5) */
uint64_t machine_available_bytes(void);

/** machine_descendant_ticks() - CPU time of a process and all below it, in clock ticks */
uint64_t machine_descendant_ticks(pid_t root);
