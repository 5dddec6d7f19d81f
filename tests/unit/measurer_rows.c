/* SPDX-License-Identifier: MIT */
/*
 * measurer_rows.c - a measurer's allow list, for test_init_filter_rows.c: the
 * supervisor's table is in the same file
 */
#define MEASURER
#define filter_rows measurer_filter_rows
#define filter_row_count measurer_filter_row_count
#define filter_name measurer_filter_name
#include "jail/serve/syscalls.c"
