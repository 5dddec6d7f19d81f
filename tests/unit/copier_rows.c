/* SPDX-License-Identifier: MIT */
/*
 * copier_rows.c - the copier's allow list, for test_init_filter_rows.c: the watcher's
 * table is in the same file
 */
#define COPIER
#define filter_rows copier_filter_rows
#define filter_row_count copier_filter_row_count
#define filter_name copier_filter_name
#include "jail/watch/syscalls.c"
